//! State and decisions of the gateway.
//!
//! Enter at [`Gateway::start`] and [`Gateway::open`]; follow a call from
//! [`Session::request`]. This crate knows neither axum nor clap, neither
//! inbound HTTP statuses nor configuration files: paths, environments and
//! checked [`Settings`](settings::Settings) are handed in.

mod applied;
mod builtin;
mod call;
mod caller;
mod catalogue;
mod clients;
pub mod clock;
mod error;
mod events;
mod facade;
pub mod feed;
mod forward;
mod gateway;
mod gateway_client;
mod known_clients;
pub mod meter;
mod permit;
mod recover;
pub mod recovery;
mod repair;
mod server_observer;
mod session;
pub mod settings;
mod shaping;
mod subscribers;
#[cfg(test)]
mod testing;
mod twins;

pub use builtin::{Pruner, PrunerError};
pub use caller::Caller;
pub use clients::{ClientPermit, ClientReport, Peer, Unidentified};
pub use error::{Error, Fault, NEEDS_TASK};
pub use events::flush as flush_events;
pub use facade::EXEC_TOOL;
pub use forward::{ForwardError, PlainRequest, Reply};
pub use gateway::{
    Applied, Door, EndpointReport, Gateway, Health, Lifetime, ListedTool, Opened, SessionReport,
    SwitchError, ToolReport, UpstreamReport,
};
pub use known_clients::ResultTraits;
pub use narrows_policy::{KnownClient, Principal, preset};
pub use recover::NAME as RECOVER_TOOL;
pub use session::{Session, Stay};
pub use shaping::{GOAL_META, RECEIPT_META, Saved, Savings, ToolSavings};
