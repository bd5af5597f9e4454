//! The traits by which the gateway takes part in connections: it counts and
//! reports, opens servers of its own, and filters bodies.

use std::fmt;
use std::time::Duration;

use crate::channel::Channel;
use crate::error::Fault;
use crate::settings::Builtin;
use crate::state::State;

/// Receives the events of one server. Methods must not block.
pub trait UpstreamObserver: Send + Sync {
    /// A client's call has ended: with a result, or for the fault of a party.
    /// A call that its client took back is the client's fault.
    fn call_ended(&self, method: &str, fault: Option<Fault>, took: Duration);
    /// The server is in another state than before.
    fn state_changed(&self, state: &State);
    /// A health check got no answer.
    fn health_check_failed(&self);
    /// The server changed the definition of a tool that was seen before.
    /// `change` is left out where the server changes definitions too often
    /// for each change to be reported.
    fn tool_changed(&self, change: Option<ToolChange>);
}

/// A tool whose definition differs from the one seen before.
#[derive(Debug, Clone)]
pub struct ToolChange {
    pub tool: String,
    /// Names of the members that differ.
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
    /// Makes room for a body of `bytes` bytes.
    fn reserve(&mut self, bytes: usize);
    /// Takes the next piece. After an error, no more pieces are accepted.
    fn push(&mut self, piece: &[u8]) -> Result<(), InvalidBody>;
    /// Returns the filtered body.
    fn finish(self: Box<Self>) -> Result<FilteredBody, InvalidBody>;
}

/// The result of a [`BodyFilter`].
#[derive(Debug)]
pub struct FilteredBody {
    /// JSON text.
    pub body: Vec<u8>,
    /// True for an object with a `result` or an `error`.
    pub is_answer: bool,
    /// The number of strings that the filter shortened.
    pub cut_strings: usize,
}

/// The body is not JSON; the text says why.
#[derive(Debug)]
pub struct InvalidBody(pub String);

impl fmt::Display for InvalidBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
