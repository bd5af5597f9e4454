//! Shortens text and JSON.
//!
//! Pure and synchronous: this crate uses no socket, file or clock. Long-running functions ask their
//! caller whether the time is up. The only exception is the comparison of two texts, which reads
//! the clock to stop at the time that its caller sets.

pub mod budget;
mod error;
mod json;
mod mask;
pub mod prune;
pub mod query;
mod rank;
pub mod search;
mod terms;
mod tokens;
pub mod toon;
mod typescript;

pub use error::NotJson;
#[doc(hidden)]
pub use mask::mask_portably;
pub use mask::{AnswerMask, Mask, Masked, MaskedAnswer, mask};
pub use tokens::estimate_tokens;
#[doc(hidden)]
pub use tokens::token_class;
pub use typescript::{TypeScript, TypeScriptOptions, typescript, typescript_of_text};
