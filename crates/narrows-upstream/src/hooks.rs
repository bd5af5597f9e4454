//! The interfaces that the gateway implements: an observer of server events, a connector for
//! built-in servers, and a filter for response bodies.

use std::fmt;
use std::time::Duration;

use crate::channel::Channel;
use crate::error::Fault;
use crate::settings::Builtin;
use crate::state::State;

/// Receives the events of one server. Methods must not block.
pub trait UpstreamObserver: Send + Sync {
    /// A client's call has ended, either with a result or because of the party in `fault`. A call
    /// that the client cancelled is the client's fault.
    fn call_ended(&self, method: &str, fault: Option<Fault>, took: Duration);
    /// The state of the server has changed.
    fn state_changed(&self, state: &State);
    /// A health check has failed.
    fn health_check_failed(&self);
    /// The server changed the definition of a known tool. `change` is `None` if the server changes
    /// definitions too often to report each change.
    fn tool_changed(&self, change: Option<ToolChange>);
}

/// A tool whose definition has changed.
#[derive(Debug, Clone)]
pub struct ToolChange {
    pub tool: String,
    /// The names of the members that differ.
    pub members: Vec<&'static str>,
    /// Digests of the definition before and after.
    pub old: String,
    pub new: String,
}

/// Opens connections to servers that run inside the gateway's process.
pub trait BuiltinConnector: Send + Sync {
    fn open(&self, which: Builtin) -> Channel;
}

/// Changes the body of a plain JSON-RPC response while it streams.
pub trait BodyFilter: Send {
    /// Reserves capacity for a body of `bytes` bytes.
    fn reserve(&mut self, bytes: usize);
    /// Adds the next piece of the body. After an error, no more pieces are accepted.
    fn push(&mut self, piece: &[u8]) -> Result<(), InvalidBody>;
    /// Returns the filtered body.
    fn finish(self: Box<Self>) -> Result<FilteredBody, InvalidBody>;
}

/// The result of a [`BodyFilter`].
#[derive(Debug)]
pub struct FilteredBody {
    /// The filtered JSON text.
    pub body: Vec<u8>,
    /// True if the body is an object with a `result` or an `error`.
    pub is_answer: bool,
    /// The number of strings that the filter shortened.
    pub cut_strings: usize,
}

/// The reason why the body is not valid JSON.
#[derive(Debug)]
pub struct InvalidBody(pub String);

impl fmt::Display for InvalidBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
