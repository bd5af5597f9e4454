//! Policy decisions of the gateway, without side effects.
//!
//! [`names`] creates and parses the names under which tools are published, [`preset`] holds the
//! rules of users, [`permission`] applies them, and [`arguments`] validates the arguments of calls.

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
