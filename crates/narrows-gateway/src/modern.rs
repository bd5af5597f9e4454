//! The adapter for modern clients (MCP 2026-07-28): requests without a session.
//!
//! A request is served by a session that the gateway keeps for clients of its kind ([`pool`]), so
//! that links, views, presets and budgets work as they do for legacy clients. An [`exchange`] runs
//! the request. If its server asks the client something, the exchange is parked ([`parked`]) under
//! a sealed state ([`seal`]) until the client sends the answers with another request. A [`listen`]
//! stream carries notifications outside requests.
//!
//! This module does not know the gateway; `gateway/modern` opens the sessions.

pub(crate) mod exchange;
pub(crate) mod listen;
pub(crate) mod parked;
pub(crate) mod pool;
mod question;
mod results;
pub(crate) mod seal;

pub use self::exchange::{ModernExchange, ModernStep};
pub use self::listen::ListenStream;
use narrows_wire::Raw;
use narrows_wire::modern::RequestMeta;

/// A request of a modern client.
#[derive(Debug, Clone)]
pub struct ModernRequest {
    pub meta: RequestMeta,
    pub method: Box<str>,
    pub params: Option<Raw>,
}

/// Returns true if the revision has removed this method.
pub(crate) fn is_removed(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "ping"
            | "shutdown"
            | "logging/setLevel"
            | "resources/subscribe"
            | "resources/unsubscribe"
    )
}

#[cfg(test)]
mod tests;
