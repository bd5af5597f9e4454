//! Decisions of the gateway, without side effects.
//!
//! [`names`] makes and reads the names under which tools are published,
//! [`preset`] holds what users allow, [`permission`] applies it, and
//! [`arguments`] validates the arguments of a call.

pub mod arguments;
pub mod names;
pub mod permission;
pub mod preset;
mod principal;
mod resources;
mod template;
mod uri;

pub use principal::{KnownClient, Principal};
pub use resources::ResourceIndex;
pub use template::Template;
