//! A link: one initialised connection to one upstream, whatever carries it.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use narrows_wire::{Kind, Raw, Revision};

use crate::chain::Recursion;
use crate::exchange::{Ask, AskKey, Asks, Cancel, ClientHello, Event, EventSink, Notice, Refusal};
use crate::memory::ClientMemory;
use crate::settings::Transport;

/// Revisions that are read of one error.
const MOST_REVISIONS: usize = 16;

/// What a server said of itself in its `initialize` answer.
#[derive(Debug, Clone)]
pub struct ServerHello {
    pub revision: Revision,
    pub capabilities: Raw,
    pub server_info: Raw,
    pub instructions: Option<String>,
}

impl ServerHello {
    /// The params of our `initialize`.
    pub fn request(hello: &ClientHello) -> Raw {
        Raw::empty_object()
            .with_member(
                "protocolVersion",
                &Raw::string(Revision::LATEST_LEGACY.as_str()),
            )
            .with_member("capabilities", &hello.capabilities)
            .with_member("clientInfo", &hello.client_info)
    }

    /// Of a server that has no `initialize`: what it offers is found by asking.
    pub fn unsaid() -> ServerHello {
        ServerHello {
            revision: Revision::LATEST_LEGACY,
            capabilities: Raw::from_static(r#"{"tools":{},"prompts":{},"resources":{}}"#),
            server_info: Raw::empty_object(),
            instructions: None,
        }
    }

    pub fn read(result: &Raw) -> Result<ServerHello, Failure> {
        let broken = |what: &str| {
            Failure::new(
                FailureKind::Protocol,
                format!("its answer to initialize {what}"),
            )
        };
        let [version, capabilities, server_info, instructions] = result
            .pick([
                "protocolVersion",
                "capabilities",
                "serverInfo",
                "instructions",
            ])
            .map_err(|_| broken("names a member twice"))?;
        let version = version.ok_or_else(|| broken("has no protocolVersion"))?;
        let version = version
            .as_text()
            .ok_or_else(|| broken("has a protocolVersion that is no text"))?;
        let revision = Revision::parse(&version)
            .filter(|revision| revision.is_legacy())
            .ok_or_else(|| {
                let version: String = version.chars().take(40).collect();
                Failure {
                    kind: FailureKind::UnsupportedRevision,
                    ..broken(&format!(
                        "chose the revision {version:?}; we speak 2024-11-05 to {}",
                        Revision::LATEST_LEGACY
                    ))
                }
            })?;
        let object = |raw: Option<Raw>| {
            raw.filter(|raw| raw.kind() == Kind::Object)
                .unwrap_or_else(Raw::empty_object)
        };
        Ok(ServerHello {
            revision,
            capabilities: object(capabilities),
            server_info: object(server_info),
            instructions: instructions.and_then(|raw| raw.as_text().map(|text| text.into_owned())),
        })
    }
}

/// One request to be sent upstream.
pub struct Outgoing<'a> {
    pub method: &'a str,
    pub params: Option<Raw>,
    /// A value inside `params` and what to put in its place (the upstream's own name or URI).
    pub rename: Option<(Raw, Raw)>,
    /// The client's progress token, a slice of `params`. It is replaced by one
    /// that is unique on the link, and put back into the notices that come.
    pub progress_token: Option<Raw>,
    /// Who is behind it; none for requests of the gateway's own.
    pub origin: Option<Origin>,
    pub timeout: Duration,
}

impl<'a> Outgoing<'a> {
    /// A request of the gateway's own.
    pub fn own(method: &'a str, params: Option<Raw>, timeout: Duration) -> Self {
        Outgoing {
            method,
            params,
            rename: None,
            progress_token: None,
            origin: None,
            timeout,
        }
    }

    /// Its message, charged to the client until it is written: it is a copy
    /// of the params, which the call keeps.
    pub fn charged(&self, message: Bytes) -> Bytes {
        let origin = self.origin.as_ref();
        match origin.and_then(|origin| origin.memory.as_ref()) {
            Some(memory) => memory.requests.hold(message),
            None => message,
        }
    }

    /// The params as the upstream shall see them, with `token` as progress token.
    pub fn params_with_token(&self, token: u64) -> Option<Raw> {
        let params = self.params.as_ref()?;
        if self.rename.is_none() && self.progress_token.is_none() {
            return Some(params.clone());
        }
        let mut edit = params.edit();
        if let Some((place, with)) = &self.rename {
            edit = edit.replace(place, with.clone());
        }
        if let Some(place) = &self.progress_token {
            edit = edit.replace(place, Raw::number(token));
        }
        Some(edit.finish())
    }
}

/// Where the notices and questions that belong to one call go.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The session's serial number, to tell owners apart.
    pub session: u64,
    pub sink: EventSink,
    pub asks: Asks,
    /// The memory shares of the client.
    pub memory: Option<ClientMemory>,
    /// Says why, when the call is dropped before its end.
    pub cancel: Arc<Cancel>,
}

impl Origin {
    /// Sends a notice to the client of the call.
    pub fn notice(&self, notice: Notice) {
        match &self.memory {
            Some(memory) => self.sink.send_notice(notice, &memory.responses),
            None => self.sink.send(Event::Notice(notice)),
        };
    }
}

/// Hears what comes over a link and belongs to no call.
pub trait Ears: Send + Sync {
    fn notice(&self, notice: Notice);
    fn ask(&self, ask: Ask);
    /// A question that was heard is asked no more.
    fn withdraw(&self, key: AskKey);
    /// Returns true if the link serves one session alone, so that reading from
    /// it may wait for that session's client.
    fn is_own(&self) -> bool {
        false
    }
    /// The queue of notices that belong to no call, where its reader always
    /// reads on.
    fn outbox(&self) -> Option<EventSink> {
        None
    }
}

/// Counts what a server does wrong over and over. Saying it each time would let
/// one server fill the log.
#[derive(Debug, Default)]
pub(crate) struct Complaints(AtomicU64);

impl Complaints {
    pub(crate) fn hear(&self, server: &str, what: &dyn Display) {
        let times = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        match times {
            1 => tracing::warn!(server, "the server sent {what}"),
            _ if times.is_power_of_two() => {
                tracing::warn!(server, times, "the server sent {what}, and the like before");
            }
            _ => {}
        }
    }
}

/// Why a request over a link has no result.
#[derive(Debug, Clone)]
pub enum LinkError {
    /// The upstream's own error object.
    Answered(Raw),
    Timeout(Duration),
    /// The link is gone, or was never there.
    Closed {
        failure: Arc<Failure>,
        /// True if the server may have got the request. False only where that
        /// is certain: it was never handed to what writes to the server.
        sent: bool,
    },
    Invalid(String),
    TooLarge(usize),
}

impl LinkError {
    /// The link is gone, and the request never left.
    pub fn unsent(failure: Arc<Failure>) -> LinkError {
        let sent = false;
        LinkError::Closed { failure, sent }
    }

    /// The link is gone, and perhaps the request has come through.
    pub fn lost(failure: Arc<Failure>) -> LinkError {
        let sent = true;
        LinkError::Closed { failure, sent }
    }

    /// For a request without which the link is of no use.
    pub fn into_failure(self, method: &str) -> Failure {
        match self {
            LinkError::Closed { failure, .. } => (*failure).clone(),
            LinkError::Timeout(after) => Failure::new(
                FailureKind::TimedOut,
                format!("no answer to {method} within {} s", after.as_secs_f64()),
            ),
            LinkError::Answered(error) => {
                if let Some(supported) = supported_revisions(&error) {
                    return unsupported(&supported);
                }
                // Our refusal of what it asked for, which was our own request.
                if error.as_str() == Refusal::NotSupported.error().as_str() {
                    let detail = "it sends back what it receives, so it is no MCP server";
                    return Failure::new(FailureKind::Protocol, detail);
                }
                let is_recursion = is_recursion(&error);
                let message = error.member("message");
                let message = message
                    .as_ref()
                    .and_then(Raw::as_text)
                    .unwrap_or("no message".into());
                let message: String = message.chars().take(300).collect();
                if is_recursion {
                    return Failure::new(FailureKind::Recursion, message);
                }
                Failure::new(
                    FailureKind::Refused,
                    format!("it answered {method} with an error: {message}"),
                )
            }
            LinkError::Invalid(reason) => Failure::new(
                FailureKind::Protocol,
                format!("its answer to {method}: {reason}"),
            ),
            LinkError::TooLarge(max) => Failure::new(
                FailureKind::Protocol,
                format!("its answer to {method} is larger than {max} bytes"),
            ),
        }
    }
}

/// The revisions that a server names in its error, if it refuses ours. A
/// server of the modern era lists them in `data.supported`; others name them
/// in the message.
pub(crate) fn supported_revisions(error: &Raw) -> Option<Vec<String>> {
    let is_date = |text: &str| {
        let fits = |(at, byte): (usize, u8)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        };
        text.len() == 10 && text.bytes().enumerate().all(fits)
    };
    let listed = error
        .member("data")
        .and_then(|data| data.member("supported"))
        .filter(|listed| listed.kind() == Kind::Array);
    if let Some(listed) = listed {
        let all = listed.elements().take(MOST_REVISIONS);
        let all = all.filter_map(|one| one.as_text().map(|text| text.into_owned()));
        return Some(all.filter(|text| is_date(text)).collect());
    }
    let message = error.member("message");
    let message = message.as_ref().and_then(Raw::as_text)?;
    if !message
        .to_ascii_lowercase()
        .contains("unsupported protocol version")
    {
        return None;
    }
    // The one that it was asked for may be among them.
    let words = message.split(|c: char| !c.is_ascii_digit() && c != '-');
    let dates = words.filter(|word| is_date(word) && *word != Revision::LATEST_LEGACY.as_str());
    Some(dates.take(MOST_REVISIONS).map(str::to_owned).collect())
}

fn unsupported(supported: &[String]) -> Failure {
    let theirs = match supported {
        [] => "it does not say which revisions of MCP it speaks".to_owned(),
        all => format!("it speaks MCP {} only", all.join(", ")),
    };
    let detail = format!(
        "it refuses our protocol version: {theirs}; we speak 2024-11-05 to {}",
        Revision::LATEST_LEGACY
    );
    Failure::new(FailureKind::UnsupportedRevision, detail)
}

/// Returns true if a gateway refused to serve its own descendant.
fn is_recursion(error: &Raw) -> bool {
    let code = error.member("data").and_then(|data| data.member("code"));
    let code = code.as_ref().and_then(Raw::as_text);
    matches!(
        code.as_deref(),
        Some(Recursion::CODE | Recursion::OWN_SERVER)
    )
}

/// Why a link could not be opened, or ended.
#[derive(Debug, Clone)]
pub struct Failure {
    pub kind: FailureKind,
    /// One line for people; holds no secret.
    pub detail: String,
    /// The last lines that the server wrote to stderr.
    pub stderr: Vec<String>,
    /// What the server turned out to speak instead.
    pub speaks: Option<Transport>,
}

/// What carries a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub transport: Transport,
    /// How that was found out, where it was not configured: one line for people.
    pub how: Option<String>,
}

impl Found {
    pub fn configured(transport: Transport) -> Found {
        Found {
            transport,
            how: None,
        }
    }
}

/// What a hint can be given for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The command is not there.
    NotFound,
    /// The process could not be started, or ended.
    Process,
    /// No connection, or it broke.
    Connect,
    /// 401 or 403: the server wants credentials.
    SignIn,
    /// It answers, but not as this transport would.
    WrongTransport,
    TimedOut,
    /// It speaks, but not as MCP says.
    Protocol,
    /// The server answered `initialize` or a list with an error.
    Refused,
    /// It speaks no revision of MCP that we speak.
    UnsupportedRevision,
    /// The entry leads back to a gateway that is already running above.
    Recursion,
    /// Ended by us.
    Closed,
}

impl FailureKind {
    /// Returns true if the server may recover without user action.
    pub fn heals(self) -> bool {
        !matches!(
            self,
            FailureKind::NotFound | FailureKind::SignIn | FailureKind::UnsupportedRevision
        )
    }
}

impl Failure {
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Failure {
            kind,
            detail: detail.into(),
            stderr: Vec::new(),
            speaks: None,
        }
    }

    /// A server that turned out to be a gateway above this one. `shown` is its
    /// address.
    pub fn recursion(shown: &str) -> Failure {
        let detail =
            format!("{shown} leads back to this gateway, or to one above it. Remove the entry");
        Failure::new(FailureKind::Recursion, detail)
    }
}
