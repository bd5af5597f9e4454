//! The observer of requests: records the events of a request in the log, the metrics and the event
//! bus.
//!
//! A [`RequestObserver`] belongs to a session or to the plain JSON-RPC route. It creates a
//! [`CallObserver`] for every request, which creates an [`UpstreamCall`] for every call to a
//! server. Each is finished with an outcome. If one is dropped before that, the client has
//! cancelled the request.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use narrows_policy::Principal;
use narrows_wire::Raw;

use crate::error::Error;
use crate::event_bus::{CallError, CallRecord, EventBus, GatewayEvent, MethodName};
use crate::events::{self, EventValue, RequestTag};
use crate::meter::{EntrypointMeter, Meter, Method, PLAIN, RequestEnd};
use narrows_results::shaping::{Shaped, Source};
use narrows_upstream::{Error as UpstreamError, Fault, Redacted, Upstream, UpstreamObserver};

/// The maximum length of a recorded name in characters. Names may have any length.
const NAME_KEPT: usize = 200;

/// Observes the requests of one session, or those of plain JSON-RPC.
pub(crate) struct RequestObserver {
    meter: Arc<Meter>,
    event_bus: Arc<EventBus>,
    entrypoint: Arc<EntrypointMeter>,
    /// The number of the session. 0 for plain JSON-RPC, because no session has this number.
    session: u64,
    /// The number of requests so far.
    requests: AtomicU64,
    endpoint: Arc<str>,
    client: Option<Arc<str>>,
}

/// Observes one request from its arrival to its outcome.
pub(crate) struct CallObserver<'a> {
    requests: &'a RequestObserver,
    client: Option<Arc<str>>,
    method: &'a str,
    known: Method,
    began: Instant,
    bytes_in: usize,
    /// Set when the request is accepted. Events of other requests are not logged.
    tag: OnceLock<RequestTag>,
    server: OnceLock<Arc<str>>,
    upstream: OnceLock<Arc<Upstream>>,
    name: OnceLock<Box<str>>,
    upstream_nanos: AtomicU64,
    /// True if a server may have received the request.
    sent: AtomicBool,
    /// The error behind a result that reports one.
    failure: OnceLock<RequestEnd>,
    is_finished: bool,
}

/// Observes one call to a server.
pub(crate) struct UpstreamCall<'a> {
    call: &'a CallObserver<'a>,
    observer: &'a dyn UpstreamObserver,
    began: Instant,
    sent: Option<SentCall>,
    is_finished: bool,
}

/// A call that was sent, with the data for its events.
struct SentCall {
    began: Instant,
    server: Arc<str>,
    /// The server's own name for the called item.
    own_name: Option<Raw>,
}

/// The outcome of a request of plain JSON-RPC.
pub(crate) struct PlainOutcome {
    pub(crate) ended: RequestEnd,
    /// The sizes of the reply, or the error.
    pub(crate) reply: Result<ReplySizes, String>,
}

/// The sizes of a masked reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplySizes {
    /// The number of bytes from the server.
    pub(crate) bytes: usize,
    /// The number of bytes for the client.
    pub(crate) bytes_sent: usize,
    pub(crate) cut_strings: usize,
}

impl RequestObserver {
    /// Creates the observer of a new session.
    pub(crate) fn open(
        meter: &Arc<Meter>,
        event_bus: &Arc<EventBus>,
        session: u64,
        endpoint: Arc<str>,
        principal: &Principal,
    ) -> RequestObserver {
        let observer = RequestObserver {
            entrypoint: meter.entrypoint(&endpoint),
            meter: meter.clone(),
            event_bus: event_bus.clone(),
            session,
            requests: AtomicU64::new(0),
            endpoint,
            client: client_of(principal),
        };
        observer.entrypoint.session_opened();
        observer.event_bus.emit(|| GatewayEvent::SessionOpened {
            session,
            endpoint: observer.endpoint.clone(),
            client: observer.client.clone(),
        });
        observer
    }

    /// Creates the observer of plain JSON-RPC.
    pub(crate) fn plain(meter: &Arc<Meter>, event_bus: &Arc<EventBus>) -> RequestObserver {
        let endpoint: Arc<str> = PLAIN.into();
        RequestObserver {
            entrypoint: meter.entrypoint(&endpoint),
            meter: meter.clone(),
            event_bus: event_bus.clone(),
            session: 0,
            requests: AtomicU64::new(0),
            endpoint,
            client: None,
        }
    }

    /// Records the end of the session. Must be called only once.
    pub(crate) fn close(&self) {
        self.entrypoint.session_closed();
        let session = self.session;
        self.event_bus
            .emit(|| GatewayEvent::SessionClosed { session });
    }

    pub(crate) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// Returns the number of requests accepted so far.
    pub(crate) fn count(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(crate) fn begin<'a>(&'a self, method: &'a str, bytes_in: usize) -> CallObserver<'a> {
        self.meter.call_began();
        CallObserver {
            requests: self,
            client: self.client.clone(),
            method,
            known: Method::of(method),
            began: Instant::now(),
            bytes_in,
            tag: OnceLock::new(),
            server: OnceLock::new(),
            upstream: OnceLock::new(),
            name: OnceLock::new(),
            upstream_nanos: AtomicU64::new(0),
            sent: AtomicBool::new(false),
            failure: OnceLock::new(),
            is_finished: false,
        }
    }

    /// Begins a request outside sessions, with its client.
    pub(crate) fn begin_for<'a>(
        &'a self,
        principal: &Principal,
        method: &'a str,
        bytes_in: usize,
    ) -> CallObserver<'a> {
        let mut call = self.begin(method, bytes_in);
        call.client = client_of(principal);
        call
    }
}

impl<'a> CallObserver<'a> {
    /// Assigns a number to an accepted request. From here on its events are logged.
    pub(crate) fn accept(&self) -> u64 {
        let number = self.requests.requests.fetch_add(1, Ordering::Relaxed);
        let session = self.requests.session;
        let tag = match self.known {
            Method::Ping => RequestTag::unlogged(session, number),
            _ => RequestTag::of(session, number),
        };
        let _ = self.tag.set(tag);
        number
    }

    /// Logs the arrival of a request at an endpoint.
    pub(crate) fn received(&self, endpoint: &Arc<str>, params: Option<&Raw>) {
        self.step("llm_to_facade.request", || {
            vec![
                ("endpoint", EventValue::from(endpoint)),
                ("method", events::cut(self.method)),
                ("params", params.map_or(EventValue::Null, events::shown)),
            ]
        });
    }

    /// Records the requested item. Only the first name counts.
    pub(crate) fn named(&self, name: &Raw) {
        self.name.get_or_init(|| {
            let text = name.as_text().unwrap_or_default();
            cut(&text).into()
        });
    }

    /// Records the server that caused a request to fail before it was called.
    pub(crate) fn blame(&self, server: &str) {
        self.server.get_or_init(|| server.into());
    }

    /// Begins a call to a server.
    pub(crate) fn call_upstream<'b>(&'b self, upstream: &'b Arc<Upstream>) -> UpstreamCall<'b>
    where
        'a: 'b,
    {
        self.upstream.get_or_init(|| upstream.clone());
        self.call_server(&upstream.id, upstream.observer())
    }

    fn call_server<'b>(
        &'b self,
        server: &Arc<str>,
        observer: &'b dyn UpstreamObserver,
    ) -> UpstreamCall<'b>
    where
        'a: 'b,
    {
        self.server.get_or_init(|| server.clone());
        UpstreamCall {
            call: self,
            observer,
            began: Instant::now(),
            sent: None,
            is_finished: false,
        }
    }

    /// Records whether a server may have received the request.
    pub(crate) fn set_sent(&self, sent: bool) {
        self.sent.store(sent, Ordering::Relaxed);
    }

    /// Returns true if a server may have received the request.
    pub(crate) fn was_sent(&self) -> bool {
        self.sent.load(Ordering::Relaxed)
    }

    /// Counts the request as failed although its client gets a result, because the result reports
    /// this error.
    pub(crate) fn failed_in_result(&self, error: &Error) {
        let _ = self.failure.set(error.into());
    }

    /// Logs that a result was invalid and has been repaired.
    pub(crate) fn repaired(&self, server: &str, name: &Raw) {
        self.log_failure("facade_to_llm.decode_failed", || {
            vec![
                ("server", events::cut(server)),
                ("name", events::shown(name)),
            ]
        });
    }

    /// Logs the steps that brought a result within its budget.
    pub(crate) fn shaped(&self, source: Source<'_>, shaped: &Shaped, bytes: usize) {
        let about = || {
            vec![
                ("server", Raw::string(source.server)),
                ("tool", Raw::string(source.tool)),
            ]
        };
        match shaped {
            Shaped::Unchanged => {}
            Shaped::Shortened(report) => self.step("facade_to_llm.shaped", || {
                let mut members = about();
                members.extend([
                    ("chars", Raw::from_serialize(&report.chars)),
                    ("tokens", Raw::from_serialize(&report.tokens)),
                    ("stages", Raw::from_serialize(&report.stages())),
                    ("receipts", Raw::from_serialize(&report.receipts())),
                ]);
                members
            }),
            Shaped::Failed(why) => self.log_failure("facade_to_llm.shape_failed", || {
                let mut members = about();
                members.extend([
                    ("reason", Raw::string(why.code())),
                    ("bytes", Raw::number(bytes as u64)),
                ]);
                members
            }),
        }
    }

    /// Records the outcome of a request at an endpoint.
    pub(crate) fn finish(mut self, outcome: &Result<Raw, Error>) {
        if let Err(error) = outcome
            && let Some(server) = error.server()
        {
            self.blame(server);
        }
        match outcome {
            Ok(result) => self.step("facade_to_llm.response", || {
                let mut members = self.about();
                members.push(("bytes", result.len().into()));
                members
            }),
            // The client has cancelled the request and expects no response.
            Err(Error::Cancelled) => {}
            Err(error) => {
                self.denied(error);
                self.log_failure("facade_to_llm.error", || {
                    let mut members = self.about();
                    members.extend(describe(self.upstream.get().map(|own| &**own), error));
                    members
                });
            }
        }
        self.count(outcome.into());
    }

    /// Records the outcome of a plain JSON-RPC request to the server that the client named.
    pub(crate) fn finish_plain(mut self, server: &str, outcome: PlainOutcome) {
        let elapsed = self.began.elapsed().as_micros() as u64;
        let method = || match self.method {
            "" => EventValue::Null,
            method => events::cut(method),
        };
        let about = || {
            vec![
                ("server", events::cut(server)),
                ("method", method()),
                ("elapsed_us", EventValue::Number(elapsed)),
            ]
        };
        match outcome.reply {
            Ok(sizes) => self.step("forward.response", || {
                let mut members = about();
                members.push(("bytes", sizes.bytes.into()));
                members.push(("bytes_sent", sizes.bytes_sent.into()));
                members.push(("cut_strings", sizes.cut_strings.into()));
                members
            }),
            Err(error) => self.log_failure("forward.error", || {
                let mut members = about();
                members.push(("error", events::cut(&error)));
                members
            }),
        }
        self.count(outcome.ended);
    }

    /// Logs a refusal by a preset.
    pub(crate) fn denied(&self, error: &Error) {
        if let Error::NotAllowed { kind, name, denial } = error {
            self.log_failure("proxy.tool.denied", || {
                let (key, source) = denial.source.named();
                vec![
                    ("kind", events::cut(&kind.to_string())),
                    ("name", events::cut(name)),
                    (key, events::cut(source)),
                    ("reason", events::cut(&denial.to_string())),
                ]
            });
        }
    }

    fn count(&mut self, ended: RequestEnd) {
        self.is_finished = true;
        let ended = match self.failure.get() {
            Some(failure) => failure.with_bytes(ended.bytes()),
            None => ended,
        };
        let took = self.began.elapsed();
        let upstream = Duration::from_nanos(*self.upstream_nanos.get_mut());
        let RequestObserver {
            meter, entrypoint, ..
        } = self.requests;
        meter.call_ended(
            entrypoint,
            self.known,
            took.saturating_sub(upstream),
            &ended,
        );
        // Not recorded, because frequent pings would displace the calls.
        if self.known == Method::Ping {
            return;
        }
        self.requests.event_bus.remember(CallRecord {
            at: SystemTime::now().into(),
            session: self.requests.session,
            endpoint: self.requests.endpoint.clone(),
            client: self.client.clone(),
            method: match self.known {
                Method::Other => MethodName::Owned(cut(self.method).to_owned()),
                known => MethodName::Borrowed(known.as_str()),
            },
            name: self.name.take(),
            server: self.server.take(),
            elapsed_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            bytes_in: self.bytes_in,
            bytes_out: ended.bytes(),
            error: ended.code().map(|code| CallError {
                code,
                fault: ended.outcome(),
            }),
        });
    }

    fn about(&self) -> Vec<(&'static str, EventValue)> {
        vec![
            ("method", events::cut(self.method)),
            (
                "server",
                self.server.get().map_or(EventValue::Null, EventValue::from),
            ),
            (
                name_key(self.method),
                self.name
                    .get()
                    .map_or(EventValue::Null, |name| events::cut(name)),
            ),
        ]
    }

    fn step<V: Into<EventValue>>(
        &self,
        name: &'static str,
        members: impl FnOnce() -> Vec<(&'static str, V)>,
    ) {
        if let Some(tag) = self.tag.get() {
            events::step(name, *tag, members);
        }
    }

    fn log_failure<V: Into<EventValue>>(
        &self,
        name: &'static str,
        members: impl FnOnce() -> Vec<(&'static str, V)>,
    ) {
        if let Some(tag) = self.tag.get() {
            events::log_failure(name, *tag, members);
        }
    }
}

impl Drop for CallObserver<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.count(RequestEnd::from(&Error::Cancelled));
        }
    }
}

impl UpstreamCall<'_> {
    /// Records that the request is being sent, with the server's own name for the called item.
    pub(crate) fn sent(&mut self, upstream: &Upstream, own_name: Option<Raw>) {
        let sent = SentCall {
            began: Instant::now(),
            server: upstream.id.clone(),
            own_name,
        };
        let call = self.call;
        call.step("facade_to_downstream.request", || sent.about(call.method));
        // Set before sending, because a call that is interrupted from here on may be carried out.
        call.set_sent(true);
        self.sent = Some(sent);
    }

    /// Logs that the request is repeated after this error.
    pub(crate) fn retried(&self, error: &Error) {
        let Some(sent) = &self.sent else { return };
        self.call.log_failure("downstream.retry", || {
            vec![
                ("server", EventValue::from(&sent.server)),
                ("method", events::cut(self.call.method)),
                ("reason", events::cut(&error.to_string())),
            ]
        });
    }

    /// Records the response of a server, or the reason why there is none.
    pub(crate) fn finish(mut self, upstream: &Upstream, outcome: &Result<Raw, Error>) {
        if let Some(sent) = &self.sent {
            let method = self.call.method;
            match outcome {
                Ok(result) => self.call.step("downstream.response", || {
                    let elapsed = sent.began.elapsed().as_micros() as u64;
                    let mut members = sent.about(method);
                    members.push(("elapsed_us", EventValue::Number(elapsed)));
                    members.push(("bytes", result.len().into()));
                    members
                }),
                Err(error) => self.call.log_failure("downstream.response.error", || {
                    let mut members = sent.about(method);
                    members.extend(describe(Some(upstream), error));
                    members
                }),
            }
        }
        self.count(&outcome.into());
    }

    /// Records the end of a call whose messages are not logged.
    pub(crate) fn finish_unlogged(mut self, ended: &RequestEnd) {
        self.count(ended);
    }

    fn count(&mut self, ended: &RequestEnd) {
        self.took(ended.fault());
    }

    fn took(&mut self, fault: Option<Fault>) {
        self.is_finished = true;
        let took = self.began.elapsed();
        self.observer.call_ended(self.call.method, fault, took);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.call.upstream_nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}

impl Drop for UpstreamCall<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.took(Some(Fault::Client));
        }
    }
}

impl SentCall {
    fn about(&self, method: &str) -> Vec<(&'static str, EventValue)> {
        vec![
            ("server", EventValue::from(&self.server)),
            ("method", events::cut(method)),
            (
                name_key(method),
                self.own_name
                    .as_ref()
                    .map_or(EventValue::Null, events::shown),
            ),
        ]
    }
}

fn client_of(principal: &Principal) -> Option<Arc<str>> {
    match principal {
        Principal::Local | Principal::Anonymous => None,
        Principal::Client(known) => Some(known.name.clone()),
    }
}

/// Returns the key for the name of the tool, prompt or other item in an event.
fn name_key(method: &str) -> &'static str {
    match method {
        "tools/call" => "tool",
        "prompts/get" => "prompt",
        _ => "name",
    }
}

/// Describes an error for an event. A server's error may repeat secrets that only the upstream can
/// recognise, so the upstream redacts it.
fn describe(upstream: Option<&Upstream>, error: &Error) -> [(&'static str, EventValue); 2] {
    let detail = match (error, upstream) {
        (Error::Upstream(UpstreamError::Answered(raw)), Some(upstream)) => {
            let Redacted { text, cut_from } = upstream.redacted(raw);
            events::sent(&text, cut_from.unwrap_or(text.len()))
        }
        (Error::Upstream(UpstreamError::Answered(raw)), None) => events::shown(raw),
        (error, _) => events::cut(&error.to_string()),
    };
    [("code", error.as_str().into()), ("error", detail)]
}

fn cut(text: &str) -> &str {
    match text.char_indices().nth(NAME_KEPT) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
