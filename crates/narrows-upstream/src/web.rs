//! HTTP as a client, for every transport that begins with it: connections and
//! their reuse, addresses with what must be sent there, answers as JSON or as
//! events, and what a refusal means.

mod address;
mod client;
mod connect;
mod error;
mod response;

pub(crate) use self::address::{Address, Astray, MARK};
pub use self::client::HttpClient;
#[cfg(test)]
pub(crate) use self::connect::Connector;
pub(crate) use self::connect::{Site, Stream};
pub(crate) use self::error::{HttpError, excerpt, is_html, words};
pub(crate) use self::response::{Content, Events, HttpResponse, RequestPhase};

pub(crate) const SESSION_ID: ::http::HeaderName = ::http::HeaderName::from_static("mcp-session-id");
