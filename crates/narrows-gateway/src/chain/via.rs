//! The gateways that a list item, a request or a notification has passed.
//!
//! Gateways that use each other would list the same tool again and again, each
//! time under a longer name, and would pass unrouted messages round without
//! end. So what a gateway passes on to another gateway carries the marks of
//! the gateways behind it in `_meta`, as a BGP route carries its path. A
//! gateway that finds its own mark there goes no further. Clients that are no
//! gateways never get these marks.

use std::sync::Arc;

use narrows_wire::{Kind, Raw};

use super::DEEPEST;
use crate::error::Error;
use crate::exchange::{ClientHello, Notice};

/// The member of `_meta` with the marks, separated by commas.
const VIA: &str = "narrows/via";

/// The end of the names that gateways give themselves as clients.
pub(crate) const THROUGH_PROXY: &str = "-through-proxy";

/// Returns the marks in the `_meta` of an item or of params.
pub(crate) fn of(holder: &Raw) -> Option<Arc<str>> {
    let via = holder.member("_meta")?.member(VIA)?;
    via.as_text().map(|via| Arc::from(&*via))
}

/// Returns true if something with these marks must not be passed on: it has
/// been here, or has passed too many gateways.
pub(crate) fn leads_back(via: &str, mark: &str) -> bool {
    let marks = || via.split(',').map(str::trim);
    marks().any(|item| item == mark) || marks().nth(DEEPEST - 1).is_some()
}

/// Returns the number of gateways that something has passed.
pub(crate) fn hops(via: Option<&str>) -> usize {
    via.map_or(0, |via| via.split(',').count())
}

/// Returns `holder` with these marks in its `_meta`.
pub(crate) fn with(holder: &Raw, via: &str) -> Raw {
    let meta = holder.member("_meta");
    let meta = meta.filter(|meta| meta.kind() == Kind::Object);
    let meta = meta.unwrap_or_else(Raw::empty_object);
    holder.with_member("_meta", &meta.with_member(VIA, &Raw::string(via)))
}

/// Returns `holder` without marks.
pub(crate) fn without(holder: &Raw) -> Raw {
    match holder.member("_meta") {
        Some(meta) => {
            let meta = meta.without_member(VIA);
            match meta.members().next() {
                Some(_) => holder.with_member("_meta", &meta),
                None => holder.without_member("_meta"),
            }
        }
        None => holder.clone(),
    }
}

/// Returns the marks followed by another one.
pub(crate) fn extended(via: Option<&str>, mark: &str) -> String {
    match via.filter(|via| !via.is_empty()) {
        Some(via) => format!("{via},{mark}"),
        None => mark.to_owned(),
    }
}

/// A client that is a gateway itself.
pub(crate) struct GatewayClient {
    /// The mark of this gateway.
    mark: Arc<str>,
    /// The marks of the gateways that opened sessions for this one.
    via: Option<Arc<str>>,
}

impl GatewayClient {
    /// Recognises a gateway by its name as a client.
    pub(crate) fn of(client: &ClientHello, mark: &str) -> Option<GatewayClient> {
        let name = client.client_info.member("name")?;
        name.as_text()
            .filter(|name| name.ends_with(THROUGH_PROXY))?;
        let via = client.client_info.member(VIA);
        let via = via.as_ref().and_then(Raw::as_text);
        Some(GatewayClient {
            mark: mark.into(),
            via: via.map(|via| Arc::from(&*via)),
        })
    }

    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    /// Returns true if its session was opened, in the end, for a session of
    /// this gateway.
    pub(crate) fn has_come_round(&self) -> bool {
        let via = self.via.as_ref();
        via.is_some_and(|via| leads_back(via, &self.mark))
    }

    /// Returns a client info with the marks up to this gateway.
    pub(crate) fn mark_info(&self, client_info: &Raw) -> Raw {
        let via = extended(self.via.as_deref(), &self.mark);
        client_info.with_member(VIA, &Raw::string(&via))
    }

    /// Returns the params to pass on.
    pub(crate) fn mark_params(&self, params: Option<Raw>) -> Result<Option<Raw>, Error> {
        let params = params.unwrap_or_else(Raw::empty_object);
        if params.kind() != Kind::Object {
            return Err(Error::BadParams("params must be an object".into()));
        }
        let via = of(&params);
        if via.as_ref().is_some_and(|via| leads_back(via, &self.mark)) {
            return Err(Error::OwnServer);
        }
        Ok(Some(with(&params, &extended(via.as_deref(), &self.mark))))
    }

    /// Returns a notification to pass on to the client. Those that belong to a
    /// request cannot go round.
    pub(crate) fn mark_notice(&self, notice: Notice) -> Notice {
        if &*notice.method == "notifications/progress" {
            return notice;
        }
        let params = notice.params.unwrap_or_else(Raw::empty_object);
        let via = extended(of(&params).as_deref(), &self.mark);
        Notice {
            params: Some(with(&params, &via)),
            ..notice
        }
    }
}

/// Returns true if a notification of a server has been here before.
pub(crate) fn has_notice_come_round(notice: &Notice, mark: &str) -> bool {
    let via = notice.params.as_ref().and_then(of);
    via.is_some_and(|via| leads_back(&via, mark))
}

#[cfg(test)]
mod tests;
