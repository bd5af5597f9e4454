//! Connections to MCP servers: transports, child processes, supervision and health.
//!
//! Start reading at [`Upstream`] and [`supervise`]. A request is sent with [`Link::request`]; the
//! messages that arrive before its response are [`exchange`] events. This crate knows nothing about
//! client sessions, presets or how results are shortened. The gateway passes in an
//! [`UpstreamObserver`] for metrics and events, a [`BuiltinConnector`] for its built-in servers,
//! and a [`BodyFilter`] for bodies that are modified while they are streamed.

mod carrier;
pub mod chain;
mod channel;
mod duplex;
mod error;
pub mod exchange;
mod failure;
pub mod guard;
mod handler;
mod handshake;
mod health;
mod hooks;
mod http;
mod link;
pub mod memory;
mod modern;
mod offer;
pub mod offload;
mod plain;
mod process;
mod recipient;
mod request;
mod secrets;
pub mod settings;
mod sse;
mod state;
mod stdio;
pub mod subreaper;
#[cfg(test)]
mod testing;
pub mod timers;
mod upstream;
mod violations;
mod wake_flag;
mod web;
pub mod websocket;
mod ws;

pub use channel::{Channel, ChannelEvent};
pub use error::{Error, Fault};
pub use failure::{Failure, FailureKind, Found, LinkError};
pub use handler::NotificationHandler;
pub use handshake::ServerHello;
pub use hooks::{
    BodyFilter, BuiltinConnector, FilteredBody, InvalidBody, ToolChange, UpstreamObserver,
};
pub use link::Link;
pub use offer::{Item, ListKind, ListKindSet, ListReader, Offer};
pub use plain::{PlainAnswer, PlainError, PlainServer, Post};
pub use request::{Origin, Outgoing};
pub use secrets::{Redacted, Secrets};
pub use state::State;
pub use upstream::{
    ChangeCounter, Definitions, InFlightGuard, OwnLink, ServerNumbers, SharedNotificationHandler,
    StartSlots, Upstream, UpstreamContext, supervise,
};
pub use wake_flag::WakeFlag;
pub use web::HttpClient;
