//! A link to a server of MCP 2026-07-28, which has no handshake and no session.
//!
//! [`Modern`] translates between the gateway's inner form, which is that of the legacy era, and the
//! requests that such a server understands. Every request carries the client's description
//! ([`ModernParts`]) and, over HTTP, headers that repeat parts of it ([`headers`]). A result that
//! requires input becomes server requests to the client ([`inputs`]). Subscriptions and changes of
//! lists arrive on a stream of their own ([`listen`]). Start reading at [`Modern::request`].

mod headers;
mod inputs;
mod listen;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::HeaderMap;
use narrows_wire::modern::{
    HEADER_MISMATCH, LOG_LEVEL, ResultFields, UNSUPPORTED_VERSION, may_require_input,
};
use narrows_wire::{ClientHello, Kind, Raw};

pub(crate) use self::headers::ParamHeaders;
pub(crate) use self::listen::StreamHandler;
use self::listen::Subscriptions;
use crate::carrier::Carrier;
use crate::failure::LinkError;
use crate::handshake::ServerHello;
use crate::request::{ModernParts, Outgoing};

/// The maximum number of times that a call is repeated with input that the server requires.
const MAX_ROUNDS: usize = 10;

/// The maximum number of pages of a list that is read to find the headers of a tool.
const MAX_PAGES: usize = 100;

/// The state of a link to a server of the modern era.
pub(crate) struct Modern {
    server: Arc<str>,
    /// The serial number of the link.
    serial: u64,
    /// The members of `_meta` that every request has, without the log level.
    base: Raw,
    /// The same with the log level that was last set.
    meta: Arc<ArcSwap<Raw>>,
    is_http: bool,
    has_logging: bool,
    /// The arguments that headers repeat, by tool.
    param_headers: Arc<ParamHeaders>,
    subscriptions: Subscriptions,
    /// The number of the next server request.
    next_ask: AtomicU64,
}

impl Modern {
    /// Creates the state of a link, and starts its stream of notifications. `handler` is the one
    /// that the carrier delivers to.
    pub(crate) fn new(
        carrier: &Carrier,
        server: Arc<str>,
        serial: u64,
        client: &ClientHello,
        hello: &ServerHello,
        param_headers: Arc<ParamHeaders>,
        handler: Arc<StreamHandler>,
    ) -> Modern {
        let base = ServerHello::request_meta(client);
        let meta = Arc::new(ArcSwap::from_pointee(base.clone()));
        let is_http = matches!(carrier, Carrier::Http(_));
        let subscriptions = Subscriptions::start(carrier.clone(), meta.clone(), hello, handler);
        Modern {
            server,
            serial,
            base,
            meta,
            is_http,
            has_logging: hello.capabilities.member("logging").is_some(),
            param_headers,
            subscriptions,
            next_ask: AtomicU64::new(1),
        }
    }

    /// Sends a request of the inner form. Requests that this era lacks are answered here.
    pub(crate) async fn request(
        &self,
        carrier: &Carrier,
        call: Outgoing<'_>,
    ) -> Result<Raw, LinkError> {
        match call.method {
            "ping" => {
                let probe = Outgoing::own("server/discover", None, call.timeout);
                self.send(carrier, probe, &[]).await?;
                Ok(Raw::empty_object())
            }
            "logging/setLevel" => {
                let params = call.params.as_ref();
                if let Some(level) = params.and_then(|params| params.member("level")) {
                    self.set_level(&level);
                }
                Ok(Raw::empty_object())
            }
            "resources/subscribe" => {
                self.subscriptions
                    .add(own_uri(&call).as_deref(), call.timeout)
                    .await
            }
            "resources/unsubscribe" => {
                self.subscriptions.remove(own_uri(&call).as_deref());
                Ok(Raw::empty_object())
            }
            _ => self.call(carrier, call).await,
        }
    }

    /// Returns false, after a warning, if the tool must not be listed. Otherwise records the
    /// headers that its calls need.
    pub(crate) fn accepts_tool(&self, tool: &Raw) -> bool {
        // Other transports have no headers.
        !self.is_http || self.param_headers.record(&self.server, tool)
    }

    /// Makes a call, and repeats it as long as the server requires input.
    ///
    /// Each round has the whole time limit, because a result that requires input shows progress.
    async fn call(&self, carrier: &Carrier, call: Outgoing<'_>) -> Result<Raw, LinkError> {
        let mut resumed = Vec::new();
        let mut corrected = false;
        for _ in 0..=MAX_ROUNDS {
            let result = match self.send(carrier, call.clone(), &resumed).await {
                Err(LinkError::Answered(error))
                    if !corrected && self.may_correct(&call, &error) =>
                {
                    corrected = true;
                    self.reread_headers(carrier, call.timeout).await;
                    self.send(carrier, call.clone(), &resumed).await?
                }
                Err(LinkError::Answered(error)) if code(&error) == Some(UNSUPPORTED_VERSION) => {
                    // The server has been replaced by one of other revisions, so a new link must
                    // detect its era.
                    let failure = LinkError::Answered(error.clone()).into_failure(call.method);
                    carrier.give_up(failure);
                    return Err(LinkError::Answered(error));
                }
                result => result?,
            };
            let kind = result.member("resultType");
            match kind.as_ref().and_then(Raw::as_text).as_deref() {
                None | Some("complete") => return Ok(inner_form(&call, &result)),
                Some("input_required") if may_require_input(call.method) => {
                    resumed = self.gather(&call, &result).await?;
                }
                Some("input_required") => {
                    let detail = format!("it requires input for {}", call.method);
                    return Err(LinkError::Invalid(detail));
                }
                // A result of an extension that the client declares.
                Some(_) => return Ok(result),
            }
        }
        Err(LinkError::Invalid(format!(
            "it still requires input after {MAX_ROUNDS} rounds"
        )))
    }

    async fn send(
        &self,
        carrier: &Carrier,
        call: Outgoing<'_>,
        resumed: &[(&'static str, Raw)],
    ) -> Result<Raw, LinkError> {
        let headers = self.is_http.then(|| self.headers(&call));
        let meta = self.meta.load_full();
        let parts = ModernParts {
            meta: &meta,
            resumed,
            headers: headers.as_ref(),
        };
        carrier.request(call, &parts).await
    }

    fn headers(&self, call: &Outgoing<'_>) -> HeaderMap {
        headers::of(call, &self.param_headers)
    }

    /// Returns true if the server says that the headers of a call do not match its params. The
    /// tool's definition may have changed.
    fn may_correct(&self, call: &Outgoing<'_>, error: &Raw) -> bool {
        self.is_http && call.method == "tools/call" && code(error) == Some(HEADER_MISMATCH)
    }

    /// Reads the definitions of the tools again, for their headers.
    async fn reread_headers(&self, carrier: &Carrier, timeout: Duration) {
        let mut params = None;
        for _ in 0..MAX_PAGES {
            let page = Outgoing::own("tools/list", params.take(), timeout);
            let Ok(page) = self.send(carrier, page, &[]).await else {
                return;
            };
            let tools = page.member("tools");
            for tool in tools.iter().flat_map(Raw::elements) {
                self.param_headers.record(&self.server, &tool);
            }
            let next = page.member("nextCursor");
            let Some(next) = next.filter(|next| next.kind() == Kind::String) else {
                return;
            };
            params = Some(Raw::empty_object().with_member("cursor", &next));
        }
    }

    /// Sets the log level of all further requests.
    pub(crate) fn set_level(&self, level: &Raw) {
        if self.has_logging && level.kind() == Kind::String {
            let meta = self.base.with_member(LOG_LEVEL, level);
            self.meta.store(Arc::new(meta));
        }
    }
}

fn code(error: &Raw) -> Option<i64> {
    error.member("code").and_then(|code| code.as_i64())
}

/// Returns the result without the members that only the modern era has.
fn inner_form(call: &Outgoing<'_>, result: &Raw) -> Raw {
    let rest = ResultFields::remove_from(result);
    let origin = call.origin.as_ref();
    match origin.and_then(|origin| origin.memory.as_ref()) {
        // The copy needs a charge of its own.
        Some(memory) if rest.len() != result.len() => memory.responses.hold_raw(rest),
        _ => rest,
    }
}

/// Returns the server's own URI in the params of a request.
fn own_uri(call: &Outgoing<'_>) -> Option<String> {
    let own = call.rename.as_ref().map(|(_, own)| own.clone());
    let uri = own.or_else(|| call.params.as_ref()?.member("uri"));
    uri?.as_text().map(|text| text.into_owned())
}
