//! The HTTP client for all HTTP-based transports: pooled connections, addresses and their headers,
//! responses as JSON or events, and the meaning of error statuses.

mod address;
mod client;
mod connect;
mod error;
mod response;

pub(crate) use self::address::{Address, InvalidReference, MARK};
pub use self::client::HttpClient;
#[cfg(test)]
pub(crate) use self::connect::Connector;
pub(crate) use self::connect::{ByteStream, WebOrigin};
pub(crate) use self::error::{HttpError, excerpt, is_html, summary};
pub(crate) use self::response::{BodyKind, Events, HttpResponse, RequestPhase};

pub(crate) const SESSION_ID: ::http::HeaderName = ::http::HeaderName::from_static("mcp-session-id");
