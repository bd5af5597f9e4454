//! Plain JSON-RPC under rules. With a preset, only requests that presets can describe are allowed:
//!
//! - Named items are checked.
//! - Lists are answered from the gateway's data, without hidden items.
//! - `initialize`, `ping` and similar requests are allowed if anything of the server is.
//! - All other methods are refused.
//!
//! The tool lists in a server's own entry apply only to tools, so they do not restrict other
//! methods.

use narrows_policy::permission::Rules;
use narrows_wire::{ItemKind, Kind, Raw};

use super::{ForwardedReply, PlainRequest, PlainRoute, Reply};
use crate::catalogue::{Entry, Listing};
use crate::error::Error;
use crate::permit;
use narrows_upstream::chain::via;
use narrows_upstream::{Item, ListKind};

/// A server with the rules that restrict it.
pub(super) struct RestrictedRoute<'a> {
    pub(super) route: &'a PlainRoute,
    pub(super) rules: Rules<'a>,
}

impl RestrictedRoute<'_> {
    /// Returns the response to the request, or `None` if the request may be forwarded to its
    /// server.
    pub(super) async fn answer_restricted(
        &self,
        request: &PlainRequest,
    ) -> Result<Option<ForwardedReply>, Error> {
        let method = request.method().and_then(Raw::as_text).unwrap_or_default();
        if self.rules.preset.is_none() && !matches!(&*method, "tools/list" | "tools/call") {
            return Ok(None);
        }
        match &*method {
            "initialize" | "notifications/initialized" | "ping" | "logging/setLevel" => {
                self.permit(ItemKind::Server, &self.route.upstream.id)?;
                Ok(None)
            }
            method => match ListKind::of_method(method) {
                Some(kind) if self.route.is_supervised => self.list(kind, request).await.map(Some),
                _ => self.named(method, request).map(|()| None),
            },
        }
    }

    async fn list(&self, kind: ListKind, request: &PlainRequest) -> Result<ForwardedReply, Error> {
        // The start of a server has its own time limit.
        let upstream = self.route.upstream.acquire().await?;
        upstream.shared_link()?;
        let offer = upstream.offer();
        let shown = offer
            .list(kind)
            .iter()
            .filter(|item| permit::listed(self.rules, kind.item(), &upstream, item).is_none());
        let listing = Listing::render(kind.member(), shown.map(as_listed));
        let params = request.params();
        let params = params.filter(|params| params.kind() == Kind::Object);
        let result = listing.page(params)?;
        Ok(ForwardedReply {
            bytes: result.len(),
            reply: match request.is_notification() {
                true => Reply::Accepted,
                false => Reply::Result(result),
            },
            cut_strings: 0,
        })
    }

    fn named(&self, method: &str, request: &PlainRequest) -> Result<(), Error> {
        let Some((kind, name)) = request.subject()? else {
            return permit::method(self.rules.preset, method);
        };
        let Some(name) = name.as_text() else {
            return Err(Error::BadParams(format!("{method} does not name a {kind}")));
        };
        self.permit(kind, &name)
    }

    fn permit(&self, kind: ItemKind, name: &str) -> Result<(), Error> {
        let upstream = &self.route.upstream;
        let (server, offer) = (permit::server_name(upstream), upstream.offer());
        match permit::named(self.rules, kind, server, &offer, name) {
            None => Ok(()),
            Some(denial) => Err(permit::not_allowed(kind, name, &denial)),
        }
    }
}

/// Returns an item as listed by its server, with its gateway marks.
fn as_listed(item: &Item) -> Entry {
    let raw = match &item.via {
        Some(via) => via::with(&item.raw, via),
        None => item.raw.clone(),
    };
    raw.into()
}
