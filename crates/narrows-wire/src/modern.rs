//! The parts of MCP 2026-07-28 that earlier revisions lack.
//!
//! The revision has no handshake. Every request carries the version and the client's capabilities
//! in its `_meta` ([`RequestMeta`]), HTTP headers repeat parts of the body ([`header`]), and every
//! result has a type and, for some methods, a lifetime ([`ResultFields`]).

pub mod header;
mod param_header;
mod request_meta;
mod result;

pub use param_header::{BadAnnotation, ParamHeader, param_headers};
pub use request_meta::{BadMeta, RequestMeta, request_version, without_request_meta};
pub use result::{CacheHint, CacheScope, ResultFields, ResultType};

/// The protocol version of a request, in its `_meta`.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The client's capabilities, in the `_meta` of a request.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The name and version of the client, in the `_meta` of a request.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The lowest level of the log messages that a request asks for, in its `_meta`.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The name and version of the server, in the `_meta` of a result.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The id of the `subscriptions/listen` request, in the `_meta` of its notifications.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The headers of a request disagree with its body, or a required one is missing.
pub const HEADER_MISMATCH: i64 = -32020;
/// The request needs a capability that the client did not declare.
pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
/// The server does not support the protocol version of the request.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// Returns the member of the params that the `Mcp-Name` header repeats for requests of this method.
/// `None` if the method has no such header.
pub fn name_member(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// Returns true if results of this method must have `ttlMs` and `cacheScope`.
pub fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    )
}

/// Returns true if a server may answer requests of this method with questions to the client.
pub fn may_require_input(method: &str) -> bool {
    matches!(method, "tools/call" | "prompts/get" | "resources/read")
}

#[cfg(test)]
mod tests;
