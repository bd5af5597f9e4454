//! Text and JSON in, smaller text and JSON out. Pure and synchronous: this
//! crate never sees a socket, a file or a clock.

mod error;
mod mask;
pub mod prune;
mod tokens;

pub use error::NotJson;
#[doc(hidden)]
pub use mask::mask_portably;
pub use mask::{Mask, Masked, mask};
pub use tokens::estimate_tokens;
