//! Text and JSON in, smaller text and JSON out. Pure and synchronous: this
//! crate never sees a socket, a file or a clock, except that a comparison of two
//! texts stops at the moment that its caller names.

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
