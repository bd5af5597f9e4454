//! Raw clients: bytes to the gateway and bytes back, with nothing between that
//! would put right what is wrong.

mod http;
mod stdio;

pub use http::{Event, Events, Http, MCP_HEADERS, Response};
pub use stdio::Stdio;
