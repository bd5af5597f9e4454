//! A plain JSON-RPC request over the shared link of its server.
//!
//! All clients share the link. Requests that would change it for others, or refer to ids that the
//! link does not use, are handled here. `initialize` is answered with the data that the server sent
//! when the link was opened. A client cancels a request by closing its connection, not by a
//! notification.

use std::borrow::Cow;
use std::pin::pin;

use narrows_shape::Mask;
use narrows_wire::{Kind, Raw};
use tokio::time::timeout;

use super::{ForwardError, ForwardedReply, PlainCall, Reply};
use crate::builtin;
use crate::call::{Params, RoutedRequest};
use crate::error::Error;
use crate::subscribers::Subscribers;
use narrows_upstream::Error as UpstreamError;
use narrows_upstream::{Link, Upstream};

/// Responses up to this many bytes are masked on the async threads.
const QUICK: usize = 256 * 1024;

/// The same limit as for MCP messages.
const MAX_METHOD: usize = 1024;

pub(super) async fn carry(
    call: &PlainCall<'_>,
    subscribers: &Subscribers,
) -> Result<ForwardedReply, ForwardError> {
    call.check()?;
    let (mask, limit) = (call.route.mask, call.route.timeout);
    let mut performed = pin!(call.perform(subscribers));
    let outcome = match timeout(limit, performed.as_mut()).await {
        Ok(outcome) => outcome,
        Err(_) => {
            // The call is dropped after this, and the cancellation at its server includes this
            // reason.
            call.context.cancel.give_reason("timeout");
            Err(UpstreamError::Timeout {
                server: call.route.upstream.settings.id.clone(),
                after: limit,
            }
            .into())
        }
    };
    match outcome {
        Ok(Some(result)) => {
            mask_offloaded(result, move |result| masked_result(result, &mask)).await
        }
        Ok(None) => Ok(ForwardedReply {
            reply: Reply::Accepted,
            bytes: 0,
            cut_strings: 0,
        }),
        Err(Error::Upstream(UpstreamError::Answered(error))) => {
            mask_offloaded(error, move |error| masked_error(error, &mask)).await
        }
        Err(error) => Err(error.into()),
    }
}

impl PlainCall<'_> {
    /// Checks the requirements of a link: a method, and params and an id of valid types.
    fn check(&self) -> Result<(), ForwardError> {
        let request = self.request;
        if request.method().and_then(Raw::as_text).is_none() || self.method.len() > MAX_METHOD {
            return Err(ForwardError::NoRequest(
                "this server needs a method that is a short string",
            ));
        }
        let params = request.params();
        if params.is_some_and(|params| !matches!(params.kind(), Kind::Object | Kind::Array)) {
            let message = "params are neither an object nor an array";
            return Err(ForwardError::NoRequest(message));
        }
        if !request.is_notification() && request.id().is_none() {
            let message = "the id is neither a short string nor a number";
            return Err(ForwardError::NoRequest(message));
        }
        Ok(())
    }

    /// Returns the result, or `None` for a notification.
    async fn perform(&self, subscribers: &Subscribers) -> Result<Option<Raw>, Error> {
        let upstream = &self.route.upstream;
        if self.request.is_notification() {
            let upstream = upstream.acquire().await?;
            self.notify(&*upstream.shared_link()?);
            return Ok(None);
        }
        if self.may_be_local() {
            let upstream = upstream.acquire().await?;
            upstream.shared_link()?;
            if let Some(result) = self.answer_without_server(&upstream, subscribers)? {
                return Ok(Some(result));
            }
        }
        let routed = RoutedRequest {
            upstream: upstream.clone(),
            rename: None,
            is_repeatable: false,
            timeout: Some(self.route.timeout),
        };
        let params = Params::new(self.params());
        let delivered = self.context.deliver(self.method, &params, routed);
        Box::pin(delivered).await.map(Some)
    }

    fn params(&self) -> Option<Raw> {
        let params = self.request.params();
        match builtin::wants_principal(&self.route.upstream.settings.kind) {
            true => builtin::with_principal(params, &self.context.caller.principal),
            false => params.cloned(),
        }
    }

    fn notify(&self, link: &Link) {
        match self.method {
            // The link sends these itself. It does not use the client's ids, tokens and roots.
            "notifications/initialized"
            | "notifications/cancelled"
            | "notifications/progress"
            | "notifications/roots/list_changed" => {}
            method if method.starts_with("notifications/") => {
                link.notify(method, self.request.params().cloned());
            }
            method => tracing::debug!(method, "ignoring an unknown notification"),
        }
    }

    fn may_be_local(&self) -> bool {
        matches!(
            self.method,
            "initialize" | "shutdown" | "logging/setLevel" | "resources/unsubscribe"
        )
    }

    /// Returns the result for a request that must not reach the server, because other clients share
    /// the link.
    fn answer_without_server(
        &self,
        upstream: &Upstream,
        subscribers: &Subscribers,
    ) -> Result<Option<Raw>, Error> {
        Ok(match self.method {
            "initialize" => Some(hello(upstream)?),
            "shutdown" => Some(Raw::empty_object()),
            // Log messages never reach this client, at any level.
            "logging/setLevel" if upstream.offer().has("logging") => Some(Raw::empty_object()),
            "resources/unsubscribe" if self.others_subscribed(subscribers) => {
                Some(Raw::empty_object())
            }
            _ => None,
        })
    }

    fn others_subscribed(&self, subscribers: &Subscribers) -> bool {
        let params = self.request.params();
        let uri = params.and_then(|params| params.member("uri"));
        let uri = uri.as_ref().and_then(Raw::as_text);
        uri.is_some_and(|uri| subscribers.has(self.route.upstream.index, &uri))
    }
}

/// Returns the server's `initialize` result.
fn hello(upstream: &Upstream) -> Result<Raw, Error> {
    let offer = upstream.offer();
    let said = offer.hello.as_ref().ok_or_else(|| upstream.down())?;
    let hello = Raw::empty_object()
        .with_member("protocolVersion", &Raw::string(said.revision.as_str()))
        .with_member("capabilities", &said.capabilities)
        .with_member("serverInfo", &said.server_info);
    Ok(match &said.instructions {
        Some(instructions) => hello.with_member("instructions", &Raw::string(instructions)),
        None => hello,
    })
}

/// Masks long values on a blocking thread.
async fn mask_offloaded(
    raw: Raw,
    masked: impl FnOnce(Raw) -> ForwardedReply + Send + 'static,
) -> Result<ForwardedReply, ForwardError> {
    if raw.len() <= QUICK {
        return Ok(masked(raw));
    }
    let work = tokio::task::spawn_blocking(move || masked(raw));
    let failed = Error::Internal("The response could not be masked");
    work.await.map_err(|_| failed.into())
}

fn masked_result(result: Raw, mask: &Mask) -> ForwardedReply {
    let bytes = result.len();
    let (result, cut_strings) = masked(result, mask);
    ForwardedReply {
        reply: Reply::Result(result),
        bytes,
        cut_strings,
    }
}

/// Masks the `data` of an error.
fn masked_error(error: Raw, mask: &Mask) -> ForwardedReply {
    let bytes = error.len();
    let mut cut_strings = 0;
    let mut edit = error.edit();
    // Masks every `data` member, because some readers use the last of several.
    for (_, place) in error.members().filter(|(name, _)| name == "data") {
        let (data, cut) = masked(place.clone(), mask);
        if cut > 0 {
            cut_strings += cut;
            edit = edit.replace(&place, data);
        }
    }
    ForwardedReply {
        reply: Reply::Error(edit.finish()),
        bytes,
        cut_strings,
    }
}

/// Returns the masked value and the number of its strings that were cut. Values from a link are
/// valid JSON; an invalid one would be returned unchanged.
fn masked(raw: Raw, mask: &Mask) -> (Raw, usize) {
    let cut = match narrows_shape::mask(raw.as_bytes(), mask) {
        Ok(masked) => match masked.text {
            Cow::Owned(text) => Raw::parse(text.into())
                .ok()
                .map(|new| (new, masked.cut_strings)),
            Cow::Borrowed(_) => None,
        },
        Err(_) => None,
    };
    cut.unwrap_or((raw, 0))
}
