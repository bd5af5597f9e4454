//! HTTP as a client, for every transport that begins with it: connections and
//! their reuse, addresses with what must be sent there, answers as JSON or as
//! events, and what a refusal means.

mod address;
mod answer;
mod client;
mod connect;
mod trouble;

pub(in crate::upstream) use self::address::{Address, Astray, MARK, user_info};
pub(in crate::upstream) use self::answer::{Answer, Content, Events, Moment};
pub use self::client::HttpClient;
#[cfg(test)]
pub(in crate::upstream) use self::connect::Connector;
pub(in crate::upstream) use self::connect::{Site, Stream};
pub(in crate::upstream) use self::trouble::{Trouble, excerpt, is_html, words};

pub(in crate::upstream) const SESSION_ID: ::http::HeaderName =
    ::http::HeaderName::from_static("mcp-session-id");
