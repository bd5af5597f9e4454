//! What happens in a gateway, for who operates it: the last calls, and a
//! stream of happenings.
//!
//! Nothing here holds a body. Who listens too slowly misses happenings and is
//! told how many; nobody waits for a listener.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::broadcast;

use crate::gateway::Applied;
use crate::lock::Mutex;

/// Calls that are remembered.
const REMEMBERED: usize = 1_000;

/// Happenings that wait for a slow listener.
const WAITING: usize = 1_024;

/// One request of a client, after its end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallRecord {
    /// When it ended, RFC 3339.
    pub at: String,
    /// The session's number; 0 for plain JSON-RPC, which has none.
    pub session: u64,
    pub endpoint: Arc<str>,
    /// The name of the client; none where no token was needed.
    pub client: Option<Arc<str>>,
    pub method: Box<str>,
    /// What was asked for, as the client named it, cut where it is long.
    pub name: Option<Box<str>>,
    /// The server that worked on it.
    pub server: Option<Arc<str>>,
    /// From the request to the answer.
    pub elapsed_us: u64,
    pub bytes_in: usize,
    pub bytes_out: usize,
    /// `None` if it ended well.
    pub error: Option<CallError>,
}

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

/// The memory of calls and the stream of happenings.
pub(crate) struct Feed {
    calls: Mutex<VecDeque<Arc<CallRecord>>>,
    listeners: broadcast::Sender<Arc<Happening>>,
}

impl Default for Feed {
    fn default() -> Self {
        Feed {
            calls: Mutex::new(VecDeque::with_capacity(REMEMBERED)),
            listeners: broadcast::Sender::new(WAITING),
        }
    }
}

impl Feed {
    pub(crate) fn remember(&self, call: CallRecord) {
        let call = Arc::new(call);
        {
            let mut calls = self.calls.lock();
            if calls.len() == REMEMBERED {
                calls.pop_front();
            }
            calls.push_back(call.clone());
        }
        self.tell(|| Happening::Call(call));
    }

    /// Makes and sends a happening, if anybody listens.
    pub(crate) fn tell(&self, happening: impl FnOnce() -> Happening) {
        if self.listeners.receiver_count() > 0 {
            // Fails if the last listener left just now, which is nothing to tell.
            let _ = self.listeners.send(Arc::new(happening()));
        }
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Arc<Happening>> {
        self.listeners.subscribe()
    }

    /// The last calls, the newest first.
    pub(crate) fn calls(&self) -> Vec<Arc<CallRecord>> {
        self.calls.lock().iter().rev().cloned().collect()
    }
}
