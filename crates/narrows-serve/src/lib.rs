//! The edges of the gateway: where clients come in.
//!
//! An edge turns bytes into [`narrows_wire`] messages, hands them to a
//! [`narrows_gateway::Session`], and turns what comes back into bytes again.
//! It owns connections, streams and their resumption, and the only place
//! where errors become JSON-RPC codes and HTTP statuses (`error`). It decides
//! nothing about tools, servers or rights, and it knows neither command lines
//! nor configuration files.
//!
//! Enter at [`serve`] (HTTP) and [`stdio()`]. A request is a `Call` on
//! both (`call`): the HTTP edge polls it inside the response, the edges on a
//! duplex channel (`duplex`) run it as a task.

pub mod admin;
mod call;
mod duplex;
mod error;
mod hello;
mod http;
mod stdio;

pub use http::{Front, HttpSettings, MetricsAccess, TokenCheck, is_fixed_path, serve};
pub use stdio::{StdioSettings, refuse, stdio};
