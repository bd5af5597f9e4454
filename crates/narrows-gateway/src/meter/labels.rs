//! The fixed words for labels.

use crate::error::Fault;

/// The MCP methods of clients. All other methods count as `Other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Initialize,
    Ping,
    ToolsList,
    ToolsCall,
    ResourcesList,
    TemplatesList,
    ResourcesRead,
    Subscribe,
    Unsubscribe,
    PromptsList,
    PromptsGet,
    Complete,
    SetLevel,
    Other,
}

/// The outcome of a request: success, or the party that has to act for it to succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Ok,
    Client,
    Upstream,
    Gateway,
}

/// The reason why a client was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedFor {
    /// The client sends requests too often.
    Rate,
    /// The client has too many requests in flight.
    Concurrency,
    /// The client, or all clients together, have too many sessions.
    Sessions,
    /// The token is wrong, or missing although one is needed.
    Token,
    /// The token does not permit this entry point.
    Entrypoint,
    /// The `Host` or `Origin` of the request is not allowed.
    Origin,
    /// Too many connections are open, in total or from the client's address.
    Connections,
}

/// The kind of object that was closed to make room for a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evicted {
    /// An idle session without a call or a stream.
    Session,
    /// A connection that has not sent a request.
    SilentConnection,
    /// A connection that is idle between two requests.
    IdleConnection,
}

impl Method {
    pub(super) const ALL: [Method; 14] = [
        Method::Initialize,
        Method::Ping,
        Method::ToolsList,
        Method::ToolsCall,
        Method::ResourcesList,
        Method::TemplatesList,
        Method::ResourcesRead,
        Method::Subscribe,
        Method::Unsubscribe,
        Method::PromptsList,
        Method::PromptsGet,
        Method::Complete,
        Method::SetLevel,
        Method::Other,
    ];

    pub(crate) fn of(method: &str) -> Method {
        match method {
            "initialize" => Method::Initialize,
            "ping" => Method::Ping,
            "tools/list" => Method::ToolsList,
            "tools/call" => Method::ToolsCall,
            "resources/list" => Method::ResourcesList,
            "resources/templates/list" => Method::TemplatesList,
            "resources/read" => Method::ResourcesRead,
            "resources/subscribe" => Method::Subscribe,
            "resources/unsubscribe" => Method::Unsubscribe,
            "prompts/list" => Method::PromptsList,
            "prompts/get" => Method::PromptsGet,
            "completion/complete" => Method::Complete,
            "logging/setLevel" => Method::SetLevel,
            _ => Method::Other,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Method::Initialize => "initialize",
            Method::Ping => "ping",
            Method::ToolsList => "tools/list",
            Method::ToolsCall => "tools/call",
            Method::ResourcesList => "resources/list",
            Method::TemplatesList => "resources/templates/list",
            Method::ResourcesRead => "resources/read",
            Method::Subscribe => "resources/subscribe",
            Method::Unsubscribe => "resources/unsubscribe",
            Method::PromptsList => "prompts/list",
            Method::PromptsGet => "prompts/get",
            Method::Complete => "completion/complete",
            Method::SetLevel => "logging/setLevel",
            Method::Other => "other",
        }
    }
}

impl Outcome {
    pub(super) const ALL: [Outcome; 4] = [
        Outcome::Ok,
        Outcome::Client,
        Outcome::Upstream,
        Outcome::Gateway,
    ];

    /// Returns the party that has to act, if the request failed.
    pub(super) fn fault(self) -> Option<Fault> {
        match self {
            Outcome::Ok => None,
            Outcome::Client => Some(Fault::Client),
            Outcome::Upstream => Some(Fault::Upstream),
            Outcome::Gateway => Some(Fault::Gateway),
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Client => "client",
            Outcome::Upstream => "upstream",
            Outcome::Gateway => "gateway",
        }
    }
}

impl From<Fault> for Outcome {
    fn from(fault: Fault) -> Outcome {
        match fault {
            Fault::Client => Outcome::Client,
            Fault::Upstream => Outcome::Upstream,
            Fault::Gateway => Outcome::Gateway,
        }
    }
}

impl RefusedFor {
    pub(super) const ALL: [RefusedFor; 7] = [
        RefusedFor::Rate,
        RefusedFor::Concurrency,
        RefusedFor::Sessions,
        RefusedFor::Token,
        RefusedFor::Entrypoint,
        RefusedFor::Origin,
        RefusedFor::Connections,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            RefusedFor::Rate => "rate",
            RefusedFor::Concurrency => "concurrency",
            RefusedFor::Sessions => "sessions",
            RefusedFor::Token => "token",
            RefusedFor::Entrypoint => "door",
            RefusedFor::Origin => "origin",
            RefusedFor::Connections => "connections",
        }
    }
}

impl Evicted {
    pub(super) const ALL: [Evicted; 3] = [
        Evicted::Session,
        Evicted::SilentConnection,
        Evicted::IdleConnection,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Evicted::Session => "session",
            Evicted::SilentConnection => "silent_connection",
            Evicted::IdleConnection => "idle_connection",
        }
    }
}
