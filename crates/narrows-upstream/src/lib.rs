//! Connections to MCP servers: transports, child processes, supervision and
//! health.
//!
//! Enter at [`Upstream`] and [`supervise`]; a request goes out by
//! [`Link::request`]. What comes back on the way are [`exchange`] events.
//! This crate knows neither clients' sessions nor presets, nor how results are
//! shortened: the gateway hands in an [`UpstreamObserver`] for counters and
//! events, a [`BuiltinConnector`] for servers of its own, and a [`BodyFilter`]
//! where a body is changed while it streams.

pub mod chain;
mod error;
pub mod exchange;
mod hooks;
pub mod memory;
pub mod offload;
pub mod settings;
pub mod timers;
mod upstream;
mod wake_flag;
pub mod websocket;

pub use error::{Error, Fault};
pub use hooks::{
    BodyFilter, BuiltinConnector, FilteredBody, InvalidBody, ToolChange, UpstreamObserver,
};
pub use upstream::*;
pub use wake_flag::WakeFlag;
