//! The recent calls and the event stream of a gateway, for operators.
//!
//! Neither contains bodies. A slow listener misses events and receives their number. No sender
//! waits for a listener.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use serde::{Serialize, Serializer};
use tokio::sync::broadcast;

use crate::applied::Applied;
use narrows_wire::Timestamp;

/// The number of calls that are kept.
const MAX_CALLS: usize = 1_000;

/// The number of events that wait for a slow listener.
const MAX_WAITING: usize = 1_024;

/// A completed request of a client.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallRecord {
    pub at: CallTime,
    /// The number of the session, or 0 for plain JSON-RPC, which has no session.
    pub session: u64,
    /// The name of an endpoint, `servers/` followed by the id of a server, or `api/mcp-gateway` for
    /// plain JSON-RPC.
    pub endpoint: Arc<str>,
    /// The name of the client, or `None` if no token was needed.
    pub client: Option<Arc<str>>,
    pub method: MethodName,
    /// The requested item, as named by the client. Long names are cut.
    pub name: Option<Box<str>>,
    /// The server that handled the request.
    pub server: Option<Arc<str>>,
    /// The time from the request to the response.
    pub elapsed_us: u64,
    /// The size of the params.
    pub bytes_in: usize,
    /// The size of the result, or of the error from a server.
    pub bytes_out: usize,
    /// `None` if the request succeeded.
    pub error: Option<CallError>,
}

/// An MCP method, or the method that the client sent instead. Long ones are cut.
pub type MethodName = Cow<'static, str>;

/// The time when a call ended. Formatted as RFC 3339 only when read, because most records are never
/// read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTime(SystemTime);

/// The error of a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallError {
    /// The stable error code, `data.code` on the wire.
    pub code: &'static str,
    /// The responsible party: `client`, `upstream` or `gateway`.
    pub fault: &'static str,
}

/// An event in the gateway.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum GatewayEvent {
    /// A server came up, went down, was disabled or is starting.
    ServerState {
        server: String,
        state: &'static str,
        /// The reason if the server is down.
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
    /// The list of tools, prompts or resources of an endpoint has changed.
    ListsChanged {
        endpoint: Arc<str>,
    },
    /// A server changed the definition of a tool after the gateway first read it.
    ToolChanged {
        server: String,
        tool: String,
        /// The members that differ.
        changed: Vec<&'static str>,
        /// Digests of the definition before and after the change.
        old: String,
        new: String,
    },
    /// Settings were changed at run time.
    SettingsChanged(Applied),
    /// A new configuration is invalid, so the old one remains in force.
    SettingsRefused {
        problems: Vec<String>,
    },
    /// A session was switched to another preset.
    PresetSwitched {
        session: u64,
        preset: Option<String>,
    },
    Call(Arc<CallRecord>),
}

impl GatewayEvent {
    /// Returns the value of `event` in the JSON form.
    pub fn name(&self) -> &'static str {
        match self {
            GatewayEvent::ServerState { .. } => "server_state",
            GatewayEvent::SessionOpened { .. } => "session_opened",
            GatewayEvent::SessionClosed { .. } => "session_closed",
            GatewayEvent::ListsChanged { .. } => "lists_changed",
            GatewayEvent::ToolChanged { .. } => "tool_changed",
            GatewayEvent::SettingsChanged(_) => "settings_changed",
            GatewayEvent::SettingsRefused { .. } => "settings_refused",
            GatewayEvent::PresetSwitched { .. } => "preset_switched",
            GatewayEvent::Call(_) => "call",
        }
    }
}

/// Keeps the recent calls and sends events to listeners.
pub(crate) struct EventBus {
    calls: Mutex<VecDeque<Arc<CallRecord>>>,
    /// Receive all events except calls.
    listeners: broadcast::Sender<Arc<GatewayEvent>>,
    /// Receive calls. Separate, because calls are frequent and few listeners need them.
    call_listeners: broadcast::Sender<Arc<GatewayEvent>>,
}

impl Default for EventBus {
    fn default() -> Self {
        EventBus {
            calls: Mutex::new(VecDeque::with_capacity(MAX_CALLS)),
            listeners: broadcast::Sender::new(MAX_WAITING),
            call_listeners: broadcast::Sender::new(MAX_WAITING),
        }
    }
}

impl From<SystemTime> for CallTime {
    fn from(time: SystemTime) -> CallTime {
        CallTime(time)
    }
}

impl CallTime {
    pub fn rfc3339(&self) -> String {
        Timestamp::from(self.0).rfc3339()
    }
}

impl Serialize for CallTime {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.rfc3339())
    }
}

impl EventBus {
    pub(crate) fn remember(&self, call: CallRecord) {
        let call = Arc::new(call);
        let published = call.clone();
        let oldest = {
            let mut calls = self.calls.lock();
            let oldest = match calls.len() == MAX_CALLS {
                true => calls.pop_front(),
                false => None,
            };
            calls.push_back(call);
            oldest
        };
        // Dropped after the lock is released.
        drop(oldest);
        send(&self.call_listeners, || GatewayEvent::Call(published));
    }

    /// Creates and sends an event if there are listeners.
    pub(crate) fn emit(&self, event: impl FnOnce() -> GatewayEvent) {
        send(&self.listeners, event);
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Arc<GatewayEvent>> {
        self.listeners.subscribe()
    }

    pub(crate) fn listen_to_calls(&self) -> broadcast::Receiver<Arc<GatewayEvent>> {
        self.call_listeners.subscribe()
    }

    /// Returns the recent calls, the newest first.
    pub(crate) fn calls(&self) -> Vec<Arc<CallRecord>> {
        self.calls.lock().iter().rev().cloned().collect()
    }
}

fn send(to: &broadcast::Sender<Arc<GatewayEvent>>, event: impl FnOnce() -> GatewayEvent) {
    if to.receiver_count() > 0 {
        // Fails only if the last listener has just disconnected, so the error can be ignored.
        let _ = to.send(Arc::new(event()));
    }
}
