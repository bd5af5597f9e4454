//! What an operator asks of a gateway while it runs.

use std::time::Duration;

use super::{Applied, Gateway};
use crate::settings::Settings;

/// One session, for who operates the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionReport {
    /// Its number, which is no secret: what travels as `mcp-session-id` is
    /// another.
    pub number: u64,
    /// `default`, `lazy`, … or the id of a server.
    pub endpoint: String,
    /// Whether `endpoint` is the id of a server.
    pub is_server: bool,
    pub client: Option<String>,
    /// The program behind it, as it introduced itself.
    pub program: Option<String>,
    pub revision: &'static str,
    /// The preset that was chosen for just this session.
    pub own_preset: Option<String>,
    /// The ids of all presets in force.
    pub presets: Vec<String>,
    pub age: Duration,
    /// How long nothing has been heard of it.
    pub silence: Duration,
    pub calls_in_flight: usize,
    pub calls: u64,
}

/// One endpoint that joins all servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointReport {
    pub name: String,
    pub preset: Option<String>,
    /// `all`, `lazy` or `search`.
    pub expose: &'static str,
    pub sessions: usize,
    /// What is listed to a client that no preset of its own binds.
    pub tools: usize,
    pub prompts: usize,
    pub resources: usize,
    /// The bytes of the list of tools.
    pub tool_bytes: usize,
}

/// Why a session's preset was not switched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SwitchError {
    #[error("there is no session {0}")]
    UnknownSession(u64),
    #[error("there is no preset '{0}'")]
    UnknownPreset(String),
}

impl Gateway {
    /// Takes up new settings: only what differs is touched, sessions stay, and
    /// calls in flight end where they are.
    pub fn apply(&self, settings: Settings) -> Applied {
        let _ = settings;
        Applied::default()
    }

    /// Makes the connection to a server anew; false if there is no such server
    /// or it is switched off.
    pub fn restart(&self, server: &str) -> bool {
        let _ = server;
        false
    }

    /// Every session, the oldest first.
    pub fn sessions(&self) -> Vec<SessionReport> {
        Vec::new()
    }

    /// Every endpoint that joins all servers.
    pub fn endpoints(&self) -> Vec<EndpointReport> {
        Vec::new()
    }

    /// Puts another preset in force for one session, in place of that of its
    /// endpoint; `None` goes back to the endpoint's.
    pub fn switch_session(&self, session: u64, preset: Option<&str>) -> Result<(), SwitchError> {
        let _ = preset;
        Err(SwitchError::UnknownSession(session))
    }

    /// Ends a session; false if there is none of this number.
    pub fn end_session(&self, session: u64) -> bool {
        let _ = session;
        false
    }
}
