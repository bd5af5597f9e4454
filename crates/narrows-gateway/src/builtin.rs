//! Servers that run inside this process.
//!
//! A built-in server speaks MCP over the same [`Channel`] as any other upstream, so the rest of the
//! gateway routes, permits, cancels and shapes its tools like all others. A built-in server
//! implements [`BuiltinServer`], a few methods that answer a [`BuiltinCall`]. The handshake, the list of running
//! calls and their cancellation are implemented once, in [`connection`]. The [`demo`] is an
//! example.

mod arguments;
mod connection;
mod demo;
mod peer;
mod pruner;
mod settings;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use narrows_wire::{Kind, Raw};
use serde::Serialize;

use narrows_policy::Principal;
use narrows_upstream::settings::{Builtin, UpstreamKind};
use narrows_upstream::{BuiltinConnector, Channel};
use peer::ClientHandle;
pub use pruner::{Pruner, PrunerError};
pub use settings::PrunerSettings;

/// Opens connections to built-in servers.
pub(crate) struct Builtins {
    pruner: Arc<Pruner>,
}

impl Builtins {
    pub(crate) fn new(pruner: Arc<Pruner>) -> Builtins {
        Builtins { pruner }
    }
}

impl BuiltinConnector for Builtins {
    /// Starts a new instance of the server for one link. Must be called inside a tokio runtime.
    fn open(&self, which: Builtin) -> Channel {
        match which {
            Builtin::Demo => connection::open(demo::Demo::default()),
            Builtin::Pruner => connection::open(pruner::PrunerServer(self.pruner.clone())),
        }
    }
}

/// The member of `_meta` that names the client of a request.
const PRINCIPAL: &str = "narrows/principal";

/// Returns true if the server stores data for each client although the clients share its link.
pub(crate) fn wants_principal(kind: &UpstreamKind) -> bool {
    matches!(kind, UpstreamKind::Builtin(Builtin::Pruner))
}

/// Returns the params with the name of the client. Replaces any name that the client has set
/// itself.
pub(crate) fn with_principal(params: Option<&Raw>, principal: &Principal) -> Option<Raw> {
    let params = params.cloned().unwrap_or_else(Raw::empty_object);
    let meta = params.member("_meta");
    let meta = meta.filter(|meta| meta.kind() == Kind::Object);
    let meta = match principal {
        Principal::Client(known) => meta
            .unwrap_or_else(Raw::empty_object)
            .with_member(PRINCIPAL, &Raw::string(&known.name)),
        Principal::Local | Principal::Anonymous => match meta {
            Some(meta) => meta.without_member(PRINCIPAL),
            None => return Some(params),
        },
    };
    Some(params.with_member("_meta", &meta))
}

/// A built-in server, except for the handshake, which all have in common.
trait BuiltinServer: Send + Sync + 'static {
    /// Returns the `serverInfo` of the `initialize` result.
    fn info(&self) -> Raw;
    fn capabilities(&self) -> Raw;
    fn instructions(&self) -> &str;
    /// Handles one request of any method except `initialize` and `ping`. Every request runs in its
    /// own task, which is dropped when the request is cancelled.
    fn answer<'a>(&'a self, call: &'a BuiltinCall) -> BoxFuture<'a, Result<Raw, RpcError>>;
}

/// A request and the client that sent it.
struct BuiltinCall {
    method: Box<str>,
    params: Option<Raw>,
    peer: ClientHandle,
}

impl BuiltinCall {
    /// Returns a member of the params that must be a string.
    fn text(&self, name: &str) -> Result<String, RpcError> {
        let value = self.params.as_ref().and_then(|params| params.member(name));
        let text = value.as_ref().and_then(Raw::as_text).map(Into::into);
        text.ok_or_else(|| RpcError::params(format!("'{name}' must be a string")))
    }

    fn member(&self, name: &str) -> Option<Raw> {
        self.params.as_ref()?.member(name)
    }

    /// Returns the name of the client, if it has one.
    fn principal(&self) -> Option<String> {
        let name = self.member("_meta")?.member(PRINCIPAL)?;
        name.as_text().map(Into::into)
    }

    fn progress_token(&self) -> Option<Raw> {
        self.member("_meta")?.member("progressToken")
    }
}

/// An error response.
#[derive(Debug, Serialize)]
struct RpcError {
    code: i32,
    message: String,
}

impl RpcError {
    fn params(message: impl Into<String>) -> RpcError {
        RpcError {
            code: -32602,
            message: message.into(),
        }
    }

    fn unknown_method(method: &str) -> RpcError {
        RpcError {
            code: -32601,
            message: format!("Method not found: {method}"),
        }
    }

    /// Returns the error for an unknown resource (MCP 2025-11-25, resources, error handling).
    fn unknown_resource(uri: impl Display) -> RpcError {
        RpcError {
            code: -32002,
            message: format!("Resource not found: {uri}"),
        }
    }

    fn internal(message: impl Into<String>) -> RpcError {
        RpcError {
            code: -32603,
            message: message.into(),
        }
    }
}

/// Returns a list that has one page.
fn one_page(call: &BuiltinCall, items: Raw) -> Result<Raw, RpcError> {
    match call.member("cursor") {
        Some(_) => Err(RpcError::params("Unknown cursor: the list has one page")),
        None => Ok(items),
    }
}
