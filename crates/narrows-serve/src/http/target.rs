//! Which way in and which door a path leads to.

use std::borrow::Cow;

use narrows_gateway::Door;
use percent_encoding::percent_decode_str;

#[cfg(test)]
mod tests;

/// A way in: the transport that is spoken at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way<'a> {
    /// Streamable HTTP.
    Mcp(Target<'a>),
    /// The stream of HTTP+SSE.
    Sse(Target<'a>),
    /// Where the messages to such a stream are posted.
    Messages,
    WebSocket(Target<'a>),
    /// The pruner's plain JSON-RPC.
    Rpc,
    /// Plain JSON-RPC to the server of this id.
    Forward(Cow<'a, str>),
}

impl Way<'_> {
    /// Returns true if requests may belong to an open session.
    pub(super) fn is_of_session(&self) -> bool {
        matches!(self, Way::Mcp(_) | Way::Messages)
    }
}

/// A door by its name, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target<'a> {
    Endpoint(Cow<'a, str>),
    Server(Cow<'a, str>),
}

/// Where the messages to a stream of HTTP+SSE are posted.
pub(super) const MESSAGES: &str = "/messages";

/// What stands before the id of a server that plain JSON-RPC is forwarded to.
const FORWARD: &str = "/api/mcp-gateway/";

/// First segments of fixed paths. An endpoint of such a name is reached by
/// `/mcp/{endpoint}` alone.
const FIXED: [&str; 10] = [
    "mcp", "sse", "ws", "servers", "api", "messages", "rpc", "health", "ready", "metrics",
];

/// Returns true if fixed paths begin with this segment, so that
/// `/{segment}/mcp` is no way to an endpoint of this name.
pub fn is_fixed_path(segment: &str) -> bool {
    FIXED.contains(&segment)
}

impl<'a> Way<'a> {
    /// The only place that knows the paths: `/mcp`, `/mcp/{endpoint}` or
    /// `/{endpoint}/mcp`, and `/servers/{id}/mcp`, each with or without a slash
    /// at its end; the same with `sse` and with `ws`; `/messages`, `/rpc`, and
    /// `/api/mcp-gateway/{id}/rpc`.
    ///
    /// `/{endpoint}/mcp` exists because some clients take only URLs that end in
    /// `/mcp`. Every other path comes before it.
    pub(super) fn parse(path: &'a str) -> Option<Way<'a>> {
        if path == "/mcp" {
            return Some(Way::Mcp(Target::default()));
        }
        let path = path.strip_suffix('/').unwrap_or(path);
        if path == MESSAGES {
            return Some(Way::Messages);
        }
        if path == "/rpc" {
            return Some(Way::Rpc);
        }
        if let Some(rest) = path.strip_prefix(FORWARD) {
            let id = rest.strip_suffix("/rpc")?;
            return segment(id).map(Way::Forward);
        }
        let (first, rest) = match path.strip_prefix('/')?.split_once('/') {
            Some((first, rest)) => (first, Some(rest)),
            None => (path.strip_prefix('/')?, None),
        };
        match (first, rest) {
            ("servers", Some(rest)) => {
                let (id, way) = rest.rsplit_once('/')?;
                Way::of(way, Target::Server(segment(id)?))
            }
            (way, None) => Way::of(way, Target::default()),
            ("mcp" | "sse" | "ws", Some(name)) => Way::of(first, Target::Endpoint(segment(name)?)),
            (name, Some(way)) if !is_fixed_path(name) => {
                Way::of(way, Target::Endpoint(segment(name)?))
            }
            (_, Some(_)) => None,
        }
    }

    fn of(word: &str, target: Target<'a>) -> Option<Way<'a>> {
        match word {
            "mcp" => Some(Way::Mcp(target)),
            "sse" => Some(Way::Sse(target)),
            "ws" => Some(Way::WebSocket(target)),
            _ => None,
        }
    }
}

impl Default for Target<'_> {
    fn default() -> Self {
        Target::Endpoint(Cow::Borrowed("default"))
    }
}

impl Target<'_> {
    pub(super) fn door(&self) -> Door<'_> {
        match self {
            Target::Endpoint(name) => Door::Endpoint(name),
            Target::Server(id) => Door::Server(id),
        }
    }

    pub(super) fn into_owned(self) -> Target<'static> {
        match self {
            Target::Endpoint(name) => Target::Endpoint(Cow::Owned(name.into_owned())),
            Target::Server(id) => Target::Server(Cow::Owned(id.into_owned())),
        }
    }
}

/// One path segment, percent-decoded: ids of servers may hold any character,
/// a slash too.
fn segment(raw: &str) -> Option<Cow<'_, str>> {
    if raw.is_empty() || raw.contains('/') {
        return None;
    }
    let mut escapes = raw.split('%').skip(1).map(str::as_bytes);
    let is_escape =
        |text: &[u8]| matches!(text, [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    if !escapes.all(is_escape) {
        return None;
    }
    percent_decode_str(raw).decode_utf8().ok()
}
