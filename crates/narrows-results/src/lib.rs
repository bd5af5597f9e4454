//! Result budgets, the recovery store and `recover_text`.
//!
//! [`shaping`] fits a result into its budget and stores the removed text in the [`recovery_store`].
//! [`recover_tool`] returns it to the model on request. [`repair`] makes malformed results valid.
//! This crate does not depend on sessions or servers: a text belongs to an opaque
//! [`recovery_store::Owner`].

mod error;
pub mod recover_tool;
pub mod recovery_store;
pub mod repair;
pub mod settings;
pub mod shaping;

pub use error::Error;
