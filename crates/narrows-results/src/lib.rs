//! Budgets on results, the recovery store and `recover_text`.
//!
//! [`shaping`] brings a result within its budget and keeps what it cuts in the
//! [`recovery_store`]; [`recover_tool`] reads it back for the model. [`repair`]
//! makes malformed results valid. This crate knows neither sessions nor
//! servers: a text belongs to an opaque [`recovery_store::Owner`].

mod error;
pub mod recover_tool;
pub mod recovery_store;
pub mod repair;
pub mod settings;
pub mod shaping;

pub use error::Error;
