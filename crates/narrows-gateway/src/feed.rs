//! What happens in a gateway, for who operates it: the last calls, and a
//! stream of happenings.
//!
//! Nothing here holds a body. Who listens too slowly misses happenings and is
//! told how many; nobody waits for a listener.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use serde::{Serialize, Serializer};
use tokio::sync::broadcast;

use crate::applied::Applied;
use narrows_wire::Timestamp;

/// Calls that are remembered.
const REMEMBERED: usize = 1_000;

/// Happenings that wait for a slow listener.
const WAITING: usize = 1_024;

/// One request of a client, after its end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallRecord {
    pub at: At,
    /// The session's number; 0 for plain JSON-RPC, which has none.
    pub session: u64,
    /// The name of an endpoint, `servers/` and the id of a server, or
    /// `api/mcp-gateway` for plain JSON-RPC.
    pub endpoint: Arc<str>,
    /// The name of the client; none where no token was needed.
    pub client: Option<Arc<str>>,
    pub method: MethodName,
    /// What was asked for, as the client named it, cut where it is long.
    pub name: Option<Box<str>>,
    /// The server that worked on it.
    pub server: Option<Arc<str>>,
    /// From the request to the answer.
    pub elapsed_us: u64,
    /// The params.
    pub bytes_in: usize,
    /// The result, or the error that a server answered.
    pub bytes_out: usize,
    /// `None` if it ended well.
    pub error: Option<CallError>,
}

/// A method of MCP, or what a client sent in its place, cut where it is long.
pub type MethodName = Cow<'static, str>;

/// When a call ended. It is written as RFC 3339 by who reads it, since most
/// calls are remembered and never read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At(SystemTime);

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallError {
    /// The stable word, `data.code` on the wire.
    pub code: &'static str,
    /// `client`, `upstream` or `gateway`: who has to act.
    pub fault: &'static str,
}

/// Something that happened.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Happening {
    /// A server came up, went down, was switched off or is starting.
    ServerState {
        server: String,
        state: &'static str,
        /// Why, where it is down.
        reason: Option<String>,
    },
    SessionOpened {
        session: u64,
        endpoint: Arc<str>,
        client: Option<Arc<str>>,
    },
    SessionClosed {
        session: u64,
    },
    /// The list of tools, prompts or resources of an endpoint is another now.
    ListsChanged {
        endpoint: Arc<str>,
    },
    /// A server changed the definition of a tool after it was first seen.
    ToolChanged {
        server: String,
        tool: String,
        /// The members that differ.
        changed: Vec<&'static str>,
        /// Digests of the definition before and after.
        old: String,
        new: String,
    },
    /// Settings were changed while it runs.
    SettingsChanged(Applied),
    /// A new configuration file could not be used, so the old one counts.
    SettingsRefused {
        problems: Vec<String>,
    },
    /// One session has another preset now.
    PresetSwitched {
        session: u64,
        preset: Option<String>,
    },
    Call(Arc<CallRecord>),
}

impl Happening {
    /// As `event` in its JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Happening::ServerState { .. } => "server_state",
            Happening::SessionOpened { .. } => "session_opened",
            Happening::SessionClosed { .. } => "session_closed",
            Happening::ListsChanged { .. } => "lists_changed",
            Happening::ToolChanged { .. } => "tool_changed",
            Happening::SettingsChanged(_) => "settings_changed",
            Happening::SettingsRefused { .. } => "settings_refused",
            Happening::PresetSwitched { .. } => "preset_switched",
            Happening::Call(_) => "call",
        }
    }
}

/// The memory of calls and the stream of happenings.
pub(crate) struct Feed {
    calls: Mutex<VecDeque<Arc<CallRecord>>>,
    /// Of everything but calls.
    listeners: broadcast::Sender<Arc<Happening>>,
    /// There are many calls, and few want to hear of each.
    call_listeners: broadcast::Sender<Arc<Happening>>,
}

impl Default for Feed {
    fn default() -> Self {
        Feed {
            calls: Mutex::new(VecDeque::with_capacity(REMEMBERED)),
            listeners: broadcast::Sender::new(WAITING),
            call_listeners: broadcast::Sender::new(WAITING),
        }
    }
}

impl From<SystemTime> for At {
    fn from(time: SystemTime) -> At {
        At(time)
    }
}

impl At {
    pub fn rfc3339(&self) -> String {
        Timestamp::from(self.0).rfc3339()
    }
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.rfc3339())
    }
}

impl Feed {
    pub(crate) fn remember(&self, call: CallRecord) {
        let call = Arc::new(call);
        let told = call.clone();
        let oldest = {
            let mut calls = self.calls.lock();
            let oldest = match calls.len() == REMEMBERED {
                true => calls.pop_front(),
                false => None,
            };
            calls.push_back(call);
            oldest
        };
        // What it holds is given back without the lock.
        drop(oldest);
        send(&self.call_listeners, || Happening::Call(told));
    }

    /// Makes and sends a happening, if anybody listens.
    pub(crate) fn tell(&self, happening: impl FnOnce() -> Happening) {
        send(&self.listeners, happening);
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Arc<Happening>> {
        self.listeners.subscribe()
    }

    pub(crate) fn listen_to_calls(&self) -> broadcast::Receiver<Arc<Happening>> {
        self.call_listeners.subscribe()
    }

    /// The last calls, the newest first.
    pub(crate) fn calls(&self) -> Vec<Arc<CallRecord>> {
        self.calls.lock().iter().rev().cloned().collect()
    }
}

fn send(to: &broadcast::Sender<Arc<Happening>>, happening: impl FnOnce() -> Happening) {
    if to.receiver_count() > 0 {
        // Fails if the last listener left just now, which is nothing to tell.
        let _ = to.send(Arc::new(happening()));
    }
}
