//! The shared state of a listening server's connections.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;

use super::server::{Out, Output, Outputs, ScriptedServer};

/// State shared by all connections.
pub(super) struct ListenerState {
    pub(super) server: Arc<ScriptedServer>,
    pub(super) address: SocketAddr,
    pub(super) general: General,
    pub(super) streams: Streams,
    /// The output of the `at_start` steps.
    pub(super) greeting: Vec<Output>,
}

impl ListenerState {
    pub(super) fn register_stream(&self, stream: Out) -> String {
        let mut known = self.streams.0.lock().expect("nothing panics here");
        known.opened += 1;
        let id = format!("{}-stream-{}", self.server.script.name, known.opened);
        known.streams.insert(id.clone(), stream);
        let mut sessions = self.server.sessions.lock().expect("no step panics");
        sessions.push(id.clone());
        id
    }

    /// Returns an open stream, whose session may have been dropped by the script.
    pub(super) fn find_stream(&self, id: &str) -> Option<Out> {
        let known = self.streams.0.lock().expect("nothing panics here");
        let stream = known.streams.get(id).cloned();
        let sessions = self.server.sessions.lock().expect("no step panics");
        stream.filter(|_| sessions.iter().any(|known| known == id))
    }

    pub(super) fn forget_stream(&self, id: &str) {
        let mut known = self.streams.0.lock().expect("nothing panics here");
        known.streams.remove(id);
        let mut sessions = self.server.sessions.lock().expect("no step panics");
        sessions.retain(|known| known != id);
    }
}

/// Streamable HTTP messages that belong to no request. They wait for a GET.
pub(super) struct General {
    pub(super) sender: Out,
    /// `None` while a stream is open, which owns it.
    pub(super) outputs: Arc<Mutex<Option<Outputs>>>,
}

impl General {
    pub(super) fn holding(said: &[Output]) -> General {
        let (sender, outputs) = mpsc::unbounded_channel();
        for output in said {
            sender.send(output.clone()).expect("we hold the other end");
        }
        General {
            sender,
            outputs: Arc::new(Mutex::new(Some(outputs))),
        }
    }
}

/// The open HTTP+SSE streams, by session id.
#[derive(Default)]
pub(super) struct Streams(Mutex<Known>);

#[derive(Default)]
struct Known {
    opened: usize,
    streams: HashMap<String, Out>,
}
