//! Text and JSON in, smaller text and JSON out. Pure and synchronous: this
//! crate never sees a socket, a file or a clock.

pub mod prune;
mod tokens;

pub use tokens::estimate_tokens;
