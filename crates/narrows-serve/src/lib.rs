//! The edges of the gateway, to which clients connect.
//!
//! An edge decodes bytes into [`narrows_wire`] messages, passes them to a
//! [`narrows_gateway::Session`], and encodes the answers. The edges own connections, streams and
//! resumption, and the only mapping of errors to JSON-RPC codes and HTTP statuses (`error`). They
//! make no decisions about tools, servers or permissions, and know neither command lines nor
//! configuration files.
//!
//! Start reading at [`serve`] (HTTP) and [`stdio()`]. Both represent a request as a `Call`
//! (`call`): the HTTP edge polls it inside the response, and the duplex edges (`duplex`) run it as
//! a task.

pub mod admin;
mod call;
mod duplex;
mod error;
mod hello;
mod http;
mod stdio;

pub use http::{Front, HttpSettings, MetricsAccess, TokenCheck, is_fixed_path, serve};
pub use stdio::{StdioSettings, refuse, stdio};
