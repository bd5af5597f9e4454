//! Errors as clients see them: the only place that maps them to JSON-RPC codes and HTTP statuses.
//!
//! Five kinds of errors are mapped here: errors of the core ([`Error`]), of the decoder
//! ([`narrows_wire::Error`]), of an edge ([`Refused`]), of the pruner ([`PrunerRefusal`]) and of
//! the plain JSON-RPC route ([`ForwardRefusal`]). Each becomes an error object `{code, message,
//! data}`, where `data.code` is a stable identifier for programs.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::header::HeaderValue;
use narrows_gateway::{Error, ForwardError, PrunerError};
use narrows_upstream::Error as UpstreamError;
use narrows_wire::ItemKind;
use narrows_wire::modern::{self, BadMeta};
use narrows_wire::{Id, Raw, Revision, encode_error};
use serde_json::{Map, Value, json};

#[cfg(test)]
mod tests;

pub(crate) const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
pub(crate) const INVALID_PARAMS: i64 = -32602;
pub(crate) const INTERNAL_ERROR: i64 = -32603;
/// The code that legacy revisions define for this error (MCP 2025-11-25, resources, error
/// handling).
pub(crate) const RESOURCE_NOT_FOUND: i64 = -32002;

/// The member of `data` that holds the retry delay in milliseconds.
const RETRY_AFTER: &str = "retry_after_ms";
/// Retry delay while calls are in flight. Their end is unknown, but most end soon.
const BUSY: Duration = Duration::from_secs(1);
/// Retry delay while request bodies hold all memory: about the time that a body may stall.
const HELD: Duration = Duration::from_secs(5);
/// Retry delay while all sessions or connections are taken.
const FULL: Duration = Duration::from_secs(30);
/// Retry delay during a restart.
const RESTART: Duration = Duration::from_secs(10);

/// Codes used only by the plain JSON-RPC route.
const UNKNOWN_SERVER: i64 = -32011;
const UPSTREAM_UNREACHABLE: i64 = -32012;
const UPSTREAM_TIMEOUT: i64 = -32013;
const UPSTREAM_INVALID: i64 = -32014;

/// A request that an edge refuses without asking the core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    Host,
    Origin,
    /// The gateway is configured as one of its own servers.
    Loop,
    /// The same loop, detected by the process that would be the next gateway.
    Recursive(narrows_upstream::chain::Recursion),
    /// A token is required, and the request has none.
    NoToken,
    /// The token belongs to no client.
    WrongToken,
    /// The token belongs to no client, and too many wrong tokens came before.
    TooManyTokens {
        after: Duration,
    },
    /// The client has no access to this entrypoint. The answer is the same if the entrypoint does
    /// not exist.
    EntrypointNotAllowed,
    UnknownEndpoint,
    UnknownPath,
    /// The page is only for clients on this machine.
    NotLocal,
    Method,
    /// A header that affects routing or security is repeated. Two readers could pick different
    /// values.
    RepeatedHeader,
    ContentType,
    NotAcceptable,
    ProtocolVersion,
    /// The request has no form of a revision that the gateway supports.
    UnsupportedVersion {
        requested: String,
    },
    /// A header disagrees with the body, or is missing.
    HeaderMismatch(String),
    /// The metadata of a modern request is missing or invalid.
    BadMeta(BadMeta),
    TooLarge {
        max: usize,
    },
    /// The body did not arrive in time.
    TooSlow,
    /// Request bodies already hold all the memory allowed for them.
    TooMuchHeld,
    /// A limit of the client refuses the request before its body is read.
    ClientLimit {
        word: &'static str,
        message: String,
        after: Duration,
    },
    /// The body ended early.
    Unreadable,
    /// Bytes that are not a valid frame; nothing after them can be read.
    BrokenFrame(&'static str),
    Message(narrows_wire::Error),
    NoSession,
    UnknownSession,
    /// A message for HTTP+SSE that does not name its stream.
    NoStream,
    UnknownStream,
    /// A Streamable HTTP method at the path of HTTP+SSE.
    OlderTransport,
    /// The path is for WebSocket, and the request is not an upgrade.
    NoWebSocket,
    /// A batch or a response where only one request or notification is accepted.
    NoRequest,
    /// The limit of open connections is reached.
    TooManyConnections,
    /// The gateway is shutting down and accepts no new work.
    ShuttingDown,
    /// The client sends faster than it reads.
    Busy,
    /// The response to a request was dropped before its client read it.
    ResponseDropped,
    NotInitialized,
    AlreadyInitialized,
    BadInitialize(Cow<'static, str>),
    InitializeInBatch,
    NoBatches(Revision),
    BatchTooLong {
        max: usize,
    },
}

impl Refused {
    pub(crate) fn status(&self) -> StatusCode {
        use Refused::*;
        match self {
            Host | Origin | NotLocal | EntrypointNotAllowed => StatusCode::FORBIDDEN,
            Loop | Recursive(_) => StatusCode::LOOP_DETECTED,
            NoToken | WrongToken => StatusCode::UNAUTHORIZED,
            TooManyTokens { .. } | ClientLimit { .. } => StatusCode::TOO_MANY_REQUESTS,
            UnknownEndpoint | UnknownPath | UnknownSession | UnknownStream => StatusCode::NOT_FOUND,
            Method | OlderTransport => StatusCode::METHOD_NOT_ALLOWED,
            ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            TooSlow => StatusCode::REQUEST_TIMEOUT,
            NoWebSocket => StatusCode::UPGRADE_REQUIRED,
            TooManyConnections | ShuttingDown | Busy | TooMuchHeld | ResponseDropped => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            RepeatedHeader
            | ProtocolVersion
            | UnsupportedVersion { .. }
            | HeaderMismatch(_)
            | BadMeta(_)
            | Unreadable
            | BrokenFrame(_)
            | Message(_)
            | NoRequest
            | NoSession
            | NoStream
            | NotInitialized
            | AlreadyInitialized
            | BadInitialize(_)
            | InitializeInBatch
            | NoBatches(_)
            | BatchTooLong { .. } => StatusCode::BAD_REQUEST,
        }
    }

    pub(crate) fn object(&self) -> Raw {
        let mut data = Map::new();
        if let Some(after) = self.retry_after() {
            data.insert(RETRY_AFTER.into(), millis(after).into());
        }
        if let Refused::UnsupportedVersion { requested } = self {
            let supported = Revision::ALL.into_iter().rev().map(Revision::as_str);
            data.insert("supported".into(), supported.collect());
            data.insert("requested".into(), requested.as_str().into());
        }
        object(self.code(), &self.message(), self.as_str(), data)
    }

    /// Returns the value of the `WWW-Authenticate` header (RFC 6750, 3).
    pub(crate) fn challenge(&self) -> Option<HeaderValue> {
        let challenge = match self {
            Refused::NoToken => r#"Bearer realm="narrows""#,
            Refused::WrongToken => r#"Bearer realm="narrows", error="invalid_token""#,
            _ => return None,
        };
        Some(HeaderValue::from_static(challenge))
    }

    /// Returns the retry delay, if known.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Refused::TooManyTokens { after } | Refused::ClientLimit { after, .. } => Some(*after),
            Refused::ShuttingDown => Some(RESTART),
            Refused::TooManyConnections => Some(FULL),
            Refused::TooMuchHeld | Refused::Busy | Refused::ResponseDropped => Some(HELD),
            _ => None,
        }
    }

    /// Returns the refusal of a request whose client exceeds its limits.
    pub(crate) fn by_limits(error: &Error) -> Option<Refused> {
        Some(Refused::ClientLimit {
            word: error.as_str(),
            message: error.to_string(),
            after: retry_after(error)?,
        })
    }

    /// Returns true if the client may still be sending the body of its request.
    pub(crate) fn leaves_body(&self) -> bool {
        use Refused::*;
        matches!(
            self,
            TooLarge { .. } | TooSlow | TooMuchHeld | ClientLimit { .. }
        )
    }

    /// Encodes the whole JSON-RPC message. If `id` is `None`, the id of the invalid message itself
    /// is used.
    pub(crate) fn encode(&self, id: Option<&Id>) -> Bytes {
        let own = match self {
            Refused::Message(narrows_wire::Error::Invalid { id, .. }) => id.as_ref(),
            _ => None,
        };
        encode_error(id.or(own), &self.object())
    }

    fn code(&self) -> i64 {
        match self {
            Refused::Message(narrows_wire::Error::Parse(_)) | Refused::BrokenFrame(_) => {
                PARSE_ERROR
            }
            Refused::BadInitialize(_) | Refused::BadMeta(_) => INVALID_PARAMS,
            Refused::UnsupportedVersion { .. } => modern::UNSUPPORTED_VERSION,
            Refused::HeaderMismatch(_) => modern::HEADER_MISMATCH,
            Refused::TooMuchHeld | Refused::ClientLimit { .. } | Refused::ResponseDropped => {
                INTERNAL_ERROR
            }
            _ => INVALID_REQUEST,
        }
    }

    fn as_str(&self) -> &'static str {
        use Refused::*;
        match self {
            Host => "host_not_allowed",
            Loop => narrows_upstream::chain::Recursion::OWN_SERVER,
            Recursive(_) => narrows_upstream::chain::Recursion::CODE,
            Origin => "origin_not_allowed",
            NoToken | WrongToken => "unauthorized",
            TooManyTokens { .. } => "too_many_attempts",
            EntrypointNotAllowed => "endpoint_not_allowed",
            UnknownEndpoint => "unknown_endpoint",
            UnknownPath => "unknown_path",
            NotLocal => "not_local",
            Method | OlderTransport => "method_not_allowed",
            RepeatedHeader => "repeated_header",
            ContentType => "unsupported_content_type",
            NotAcceptable => "not_acceptable",
            ProtocolVersion | UnsupportedVersion { .. } => "unsupported_protocol_version",
            HeaderMismatch(_) => "header_mismatch",
            BadMeta(_) => "invalid_params",
            TooLarge { .. } => "request_too_large",
            TooSlow => "request_timeout",
            TooMuchHeld => "request_memory_full",
            ClientLimit { word, .. } => word,
            Unreadable => "request_incomplete",
            BrokenFrame(_) | Message(narrows_wire::Error::Parse(_)) => "parse_error",
            NoRequest | Message(narrows_wire::Error::Invalid { .. }) => "invalid_request",
            NoSession | NoStream => "session_required",
            UnknownSession | UnknownStream => "unknown_session",
            NoWebSocket => "websocket_required",
            TooManyConnections => "too_many_connections",
            ShuttingDown => "shutting_down",
            Busy => "client_too_slow",
            ResponseDropped => "response_dropped",
            NotInitialized => "not_initialized",
            AlreadyInitialized => "already_initialized",
            BadInitialize(_) => "invalid_params",
            InitializeInBatch => "initialize_in_batch",
            NoBatches(_) => "batch_not_supported",
            BatchTooLong { .. } => "batch_too_long",
        }
    }

    pub(crate) fn message(&self) -> Cow<'static, str> {
        use Refused::*;
        Cow::Borrowed(match self {
            Host => "Host is not allowed (see allowed_hosts)",
            Loop => return Error::OwnServer.to_string().into(),
            Recursive(recursion) => return recursion.to_string().into(),
            Origin => "Origin is not allowed (see allowed_origins)",
            NoToken => "A token is required: Authorization: Bearer <token>",
            WrongToken => "The token is not valid",
            TooManyTokens { .. } => {
                "The token is not valid, and too many wrong tokens came from this address. Try again later"
            }
            EntrypointNotAllowed => "This client may not use this endpoint",
            UnknownEndpoint => "There is no such endpoint; GET / lists the endpoints",
            UnknownPath => "There is no such path",
            NotLocal => "This page is only for clients on the same machine",
            Method => "Method is not allowed at this path",
            RepeatedHeader => "A header that must be unique is repeated",
            ContentType => "Content-Type must be application/json",
            NotAcceptable => {
                "Accept must admit application/json or text/event-stream for POST, text/event-stream for GET"
            }
            ProtocolVersion => "MCP-Protocol-Version is not a supported revision",
            UnsupportedVersion { requested } => {
                return format!("Protocol version '{requested}' is not supported").into();
            }
            HeaderMismatch(reason) => return format!("Header mismatch: {reason}").into(),
            BadMeta(error) => return format!("Invalid params: {error}").into(),
            TooLarge { max } => return format!("Message is larger than {max} bytes").into(),
            TooSlow => "Request body arrived too slowly: it must not fall behind 16 KiB per second",
            TooMuchHeld => {
                "Request bodies of this client or of all clients hold too much memory. Try again later, or raise limits.max_request_bytes_total"
            }
            ClientLimit { message, .. } => return message.clone().into(),
            Unreadable => "Request body ended early",
            BrokenFrame(reason) => return format!("Parse error: {reason}").into(),
            Message(narrows_wire::Error::Parse(error)) => {
                return format!("Parse error: {error}").into();
            }
            Message(narrows_wire::Error::Invalid { reason, .. }) => {
                return format!("Invalid request: {reason}").into();
            }
            NoRequest => "Invalid request: this path takes one request or notification",
            NoSession => {
                "Mcp-Session-Id is required; open a session with initialize (for HTTP+SSE see /sse)"
            }
            NoStream => "session_id is required; GET /sse opens a stream and returns the id",
            UnknownStream => "There is no such stream; open a new one with GET /sse",
            OlderTransport => {
                "This path is for HTTP+SSE, which starts with GET; Streamable HTTP is at /mcp"
            }
            UnknownSession => "There is no such session; open a new one with initialize",
            NoWebSocket => "This path requires a WebSocket upgrade, version 13",
            TooManyConnections => {
                "Too many connections are open. Close some, try again later, or raise limits.max_connections"
            }
            ShuttingDown => return Error::ShuttingDown.to_string().into(),
            Busy => "Too many messages are waiting; read the stream of this session",
            ResponseDropped => {
                "The response was dropped to free memory before it was read. Check whether the request took effect before you repeat it"
            }
            NotInitialized => "Not initialized; the first request must be initialize",
            AlreadyInitialized => "Already initialized",
            BadInitialize(reason) => return format!("Invalid initialize: {reason}").into(),
            InitializeInBatch => "initialize must not be part of a batch",
            NoBatches(revision) => {
                return format!("Revision {revision} does not support batches").into();
            }
            BatchTooLong { max } => {
                return format!("Batch has more than {max} entries").into();
            }
        })
    }
}

/// Errors of the pruner's plain JSON-RPC. Its codes are a separate contract and are used only
/// there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PrunerRefusal {
    UnknownMethod(String),
    /// `tools/call` without a tool name.
    NoName,
    Pruner(PrunerError),
}

impl PrunerRefusal {
    pub(crate) fn object(&self) -> Raw {
        let (code, message, data) = match self {
            PrunerRefusal::UnknownMethod(method) => {
                let message = format!("Method not found: {method}");
                (
                    METHOD_NOT_FOUND,
                    message,
                    json!({ "code": "unknown_method" }),
                )
            }
            PrunerRefusal::NoName => {
                let message = "'name' must be a string".to_owned();
                (INVALID_PARAMS, message, json!({ "code": "invalid_params" }))
            }
            PrunerRefusal::Pruner(error) => {
                let code = match error {
                    PrunerError::UnknownTool(_) | PrunerError::Arguments(_) => INVALID_PARAMS,
                    PrunerError::NotFound(_) => -32004,
                    PrunerError::InvalidRange { .. } => -32005,
                };
                (code, error.to_string(), error.data())
            }
        };
        Raw::from_serialize(&json!({ "code": code, "message": message, "data": data }))
    }
}

/// Errors of the plain JSON-RPC route. The route is not an MCP endpoint; its codes and `data.code`
/// values are a separate contract.
#[derive(Debug, Clone)]
pub(crate) enum ForwardRefusal {
    /// The edge refused the request before forwarding.
    Edge(Refused),
    Gateway(ForwardError),
}

impl ForwardRefusal {
    pub(crate) fn status(&self) -> StatusCode {
        self.row().0
    }

    pub(crate) fn challenge(&self) -> Option<HeaderValue> {
        match self {
            ForwardRefusal::Edge(refused) => refused.challenge(),
            ForwardRefusal::Gateway(_) => None,
        }
    }

    /// Returns the retry delay, if known.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            ForwardRefusal::Edge(refused) => refused.retry_after(),
            ForwardRefusal::Gateway(ForwardError::Core(error)) => retry_after(error),
            ForwardRefusal::Gateway(_) => None,
        }
    }

    /// Encodes the whole message. `server` is the name that the client used.
    pub(crate) fn encode(&self, server: &str, id: Option<&Id>) -> Bytes {
        let (_, code, word) = self.row();
        let mut data = Map::new();
        data.insert("server_name".into(), server.into());
        let message = match self {
            ForwardRefusal::Edge(refused) => {
                if let Some(after) = refused.retry_after() {
                    data.insert(RETRY_AFTER.into(), millis(after).into());
                }
                refused.message()
            }
            ForwardRefusal::Gateway(error) => {
                data.extend(details(error));
                error.to_string().into()
            }
        };
        encode_error(id, &object(code, &message, word, data))
    }

    /// Returns the HTTP status, the JSON-RPC code and `data.code`.
    fn row(&self) -> (StatusCode, i64, &'static str) {
        let error = match self {
            ForwardRefusal::Edge(refused) => {
                return (refused.status(), refused.code(), refused.as_str());
            }
            ForwardRefusal::Gateway(error) => error,
        };
        match error {
            ForwardError::UnknownServer { .. } => {
                (StatusCode::NOT_FOUND, UNKNOWN_SERVER, "unknown_server")
            }
            ForwardError::NoRequest(_) => {
                (StatusCode::BAD_REQUEST, INVALID_REQUEST, "invalid_request")
            }
            ForwardError::Status { .. } => {
                (StatusCode::BAD_GATEWAY, INTERNAL_ERROR, "upstream_status")
            }
            ForwardError::Core(error) => match error {
                Error::Upstream(UpstreamError::Down { .. }) => (
                    StatusCode::BAD_GATEWAY,
                    UPSTREAM_UNREACHABLE,
                    "upstream_unreachable",
                ),
                Error::Upstream(UpstreamError::Timeout { .. }) => (
                    StatusCode::GATEWAY_TIMEOUT,
                    UPSTREAM_TIMEOUT,
                    "upstream_timeout",
                ),
                Error::Upstream(UpstreamError::Invalid { .. }) => (
                    StatusCode::BAD_GATEWAY,
                    UPSTREAM_INVALID,
                    "upstream_invalid",
                ),
                Error::Upstream(UpstreamError::TooLarge { .. }) => (
                    StatusCode::BAD_GATEWAY,
                    UPSTREAM_INVALID,
                    "upstream_too_large",
                ),
                Error::NotAllowed { .. } => (StatusCode::FORBIDDEN, INVALID_PARAMS, "not_allowed"),
                Error::BadParams(_) => (StatusCode::BAD_REQUEST, INVALID_PARAMS, "invalid_params"),
                Error::RateLimited { .. } | Error::ClientBusy { .. } => (
                    StatusCode::TOO_MANY_REQUESTS,
                    INTERNAL_ERROR,
                    error.as_str(),
                ),
                Error::ShuttingDown | Error::Interrupted { .. } => (
                    StatusCode::SERVICE_UNAVAILABLE,
                    INTERNAL_ERROR,
                    error.as_str(),
                ),
                // Session errors, which cannot occur on this route.
                other => (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    INTERNAL_ERROR,
                    other.as_str(),
                ),
            },
        }
    }
}

/// Returns further members of `data`, besides `code`.
fn details(error: &ForwardError) -> Map<String, Value> {
    let details = match error {
        ForwardError::UnknownServer { nearest, known, .. } => {
            json!({ "nearest": nearest, "known": known })
        }
        ForwardError::Status { status, body, .. } => {
            json!({ "status_code": status.as_u16(), "body": body })
        }
        ForwardError::Core(Error::Upstream(UpstreamError::Timeout { after, .. })) => {
            json!({ "timeout_ms": after.as_millis() as u64 })
        }
        ForwardError::Core(Error::Upstream(UpstreamError::Down {
            next_try: Some(pause),
            ..
        })) => json!({ "retry_after_ms": millis(*pause) }),
        ForwardError::Core(Error::Upstream(UpstreamError::TooLarge { max, .. })) => {
            json!({ "max_bytes": max })
        }
        ForwardError::Core(error) if let Some(after) = retry_after(error) => {
            json!({ RETRY_AFTER: millis(after) })
        }
        ForwardError::Core(Error::NotAllowed { denial, .. }) => {
            let (key, source) = denial.source.named();
            json!({ key: source, "reason": denial.to_string() })
        }
        _ => Value::Null,
    };
    match details {
        Value::Object(details) => details,
        _ => Map::new(),
    }
}

/// Encodes an error of the core as a JSON-RPC error object.
pub(crate) fn core(error: &Error, revision: Revision) -> Raw {
    let mut data = Map::new();
    match error {
        // An error from the server passes unchanged.
        Error::Upstream(UpstreamError::Answered(raw)) => return raw.clone(),
        Error::Unknown {
            kind,
            name,
            nearest,
        } => {
            if *kind == ItemKind::Resource {
                data.insert("uri".into(), name.as_str().into());
            }
            data.insert(
                "nearest".into(),
                nearest.iter().map(String::as_str).collect(),
            );
        }
        // Tells the client which preset or rule denies the call.
        Error::NotAllowed { denial, .. } => {
            let (key, source) = denial.source.named();
            data.insert(key.into(), source.into());
            data.insert("reason".into(), denial.to_string().into());
        }
        Error::Upstream(UpstreamError::Down {
            server, next_try, ..
        }) => {
            data.insert("server".into(), server.as_str().into());
            if let Some(pause) = next_try {
                data.insert("retry_after_ms".into(), millis(*pause).into());
            }
        }
        Error::Upstream(UpstreamError::Timeout { server, .. })
        | Error::Upstream(UpstreamError::Invalid { server, .. })
        | Error::Upstream(UpstreamError::TooLarge { server, .. })
        | Error::Upstream(UpstreamError::TooManyLinks { server, .. }) => {
            data.insert("server".into(), server.as_str().into());
        }
        Error::MissingCapability { required, .. } => {
            let required = serde_json::from_str(required).unwrap_or_default();
            data.insert("requiredCapabilities".into(), required);
        }
        error => {
            if let Some(after) = retry_after(error) {
                data.insert(RETRY_AFTER.into(), millis(after).into());
            }
        }
    }
    object(
        core_code(error, revision),
        &error.to_string(),
        error.as_str(),
        data,
    )
}

/// Rounds up, so that a client that waits this long does not retry too early.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Returns the retry delay of an error caused by a limit or by the shutdown of the gateway; `None`
/// for every other error.
pub(crate) fn retry_after(error: &Error) -> Option<Duration> {
    match error {
        Error::RateLimited { after, .. } => Some(*after),
        Error::ClientBusy { .. } => Some(BUSY),
        Error::ClientSessions { .. } | Error::TooManySessions(_) => Some(FULL),
        Error::ShuttingDown => Some(RESTART),
        _ => None,
    }
}

/// Returns the HTTP status of a failed `initialize`. Errors without a matching HTTP
/// status are answered with 200.
pub(crate) fn open_status(error: &Error) -> StatusCode {
    match error {
        Error::TooManySessions(_) | Error::SessionClosed | Error::ShuttingDown => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        Error::RateLimited { .. } | Error::ClientBusy { .. } | Error::ClientSessions { .. } => {
            StatusCode::TOO_MANY_REQUESTS
        }
        _ => StatusCode::OK,
    }
}

/// Returns the HTTP status of a failed request of a modern client. The specification fixes that of
/// some errors, whether the gateway or a server reports them.
pub(crate) fn modern_status(error: &Error) -> StatusCode {
    let code = match error {
        Error::Upstream(UpstreamError::Answered(raw)) => {
            let code = raw.member("code").and_then(|code| code.as_i64());
            code.unwrap_or(INTERNAL_ERROR)
        }
        error => core_code(error, Revision::V2026_07_28),
    };
    match code {
        METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        modern::HEADER_MISMATCH
        | modern::MISSING_CLIENT_CAPABILITY
        | modern::UNSUPPORTED_VERSION => StatusCode::BAD_REQUEST,
        _ => open_status(error),
    }
}

fn core_code(error: &Error, revision: Revision) -> i64 {
    match error {
        Error::Unknown {
            kind: ItemKind::Resource,
            ..
        } if revision.is_legacy() => RESOURCE_NOT_FOUND,
        Error::Unknown { .. }
        | Error::NotAllowed { .. }
        | Error::NeedsTask { .. }
        | Error::BadParams(_) => INVALID_PARAMS,
        Error::UnknownMethod(_) => METHOD_NOT_FOUND,
        Error::MissingCapability { .. } => modern::MISSING_CLIENT_CAPABILITY,
        Error::DuplicateId(_) | Error::OwnServer => INVALID_REQUEST,
        _ => INTERNAL_ERROR,
    }
}

fn object(code: i64, message: &str, word: &str, more: Map<String, Value>) -> Raw {
    let mut data = Map::new();
    data.insert("code".into(), word.into());
    data.extend(more);
    Raw::from_serialize(&json!({ "code": code, "message": message, "data": data }))
}
