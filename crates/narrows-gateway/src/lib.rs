//! State and decisions of the gateway.
//!
//! The entry points are [`Gateway::start`] and [`Gateway::open`]; a call starts at
//! [`Session::request`]. This crate does not use axum or clap, and knows neither inbound HTTP
//! statuses nor configuration files. It receives paths, environments and checked
//! [`Settings`](settings::Settings).

mod applied;
mod builtin;
mod call;
mod caller;
mod case_variants;
mod catalogue;
mod clients;
mod endpoint;
mod error;
pub mod event_bus;
mod events;
mod facade;
mod gateway;
mod gateway_client;
mod known_clients;
pub mod meter;
mod modern;
mod observer;
mod permit;
mod plain;
mod server_observer;
mod session;
pub mod settings;
mod subscribers;
mod target;
#[cfg(test)]
mod testing;

pub use builtin::{Pruner, PrunerError};
pub use caller::Caller;
pub use clients::{ClientPermit, ClientReport, IdentifyError, PeerAddress};
pub use error::{Error, Fault, NEEDS_TASK};
pub use events::flush as flush_events;
pub use facade::EXEC_TOOL;
pub use gateway::{
    Applied, EndpointReport, Entrypoint, Gateway, Health, ListedTool, Opened, SessionReport,
    SwitchError, ToolReport, UpstreamReport,
};
pub use known_clients::ResultTraits;
pub use modern::{ListenStream, ModernExchange, ModernRequest, ModernStep};
pub use narrows_policy::{KnownClient, Principal, preset};
pub use narrows_results::recover_tool::NAME as RECOVER_TOOL;
pub use narrows_results::recovery_store;
pub use narrows_results::shaping::{GOAL_META, RECEIPT_META, Saved, Savings, ToolSavings};
pub use plain::{ForwardError, PlainRequest, Reply};
pub use session::{ActivityGuard, Lifetime, Session};
