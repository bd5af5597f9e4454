//! How the scripted server behaves on each of its transports.

use serde::{Deserialize, Serialize};

/// What a listening server can be spoken to by, all at once on one port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Streamable HTTP, at `/mcp`.
    Http,
    /// HTTP+SSE of revision 2024-11-05, at `/sse` and `/messages`.
    Sse,
    /// At `/ws`.
    WebSocket,
    /// Plain JSON-RPC, a POST for every message, at `/rpc`.
    Rpc,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Framing {
    Newline,
    ContentLength,
}

/// How the server behaves over HTTP.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HttpOptions {
    /// Whether `initialize` gives out a session id, which is then asked for.
    pub sessions: bool,
    /// Whether a GET opens a stream (else 405).
    pub get: bool,
    /// Whether every answer is an event stream, even if nothing precedes it.
    pub always_stream: bool,
    /// A header without which everything is 401, on every path.
    pub required_header: Option<(String, String)>,
}

/// How the server behaves over HTTP+SSE.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SseOptions {
    pub endpoint: Endpoint,
    pub line_end: LineEnd,
    /// Whether a comment stands before every event, and another one inside it.
    pub comments: bool,
    /// Whether a message goes on in another `data:` line after every comma that
    /// is not in a string.
    pub split_data: bool,
    /// Bytes to a write; 0: all at once.
    pub piece: usize,
    /// Whether `/mcp` is a server of this transport too, and no longer one of
    /// Streamable HTTP: then the status that a POST gets there.
    pub at_mcp: Option<u16>,
}

/// What the `endpoint` event says about where to post.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub enum Endpoint {
    /// `/messages?session_id=...`
    #[default]
    Path,
    /// `messages?session_id=...`
    Relative,
    /// `http://127.0.0.1:port/messages?session_id=...`
    Url,
    /// This text, where `{id}` stands for the id of the session.
    Text(String),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LineEnd {
    #[default]
    Lf,
    Cr,
    CrLf,
}

/// How the server behaves on a WebSocket.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WebSocketOptions {
    /// Whether the subprotocol `mcp` is selected if it is offered.
    pub select_subprotocol: bool,
    /// Bytes to a frame of a message, with pings between its frames; 0: one frame.
    /// Characters are cut where it falls.
    pub fragment: usize,
    /// Bytes to a write; 0: all at once.
    pub piece: usize,
    pub answer_pings: bool,
}

/// How the server behaves as plain JSON-RPC.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RpcOptions {
    /// What a message without an answer gets.
    pub accepted: u16,
}

impl Default for HttpOptions {
    fn default() -> Self {
        HttpOptions {
            sessions: true,
            get: true,
            always_stream: false,
            required_header: None,
        }
    }
}

impl Default for WebSocketOptions {
    fn default() -> Self {
        WebSocketOptions {
            select_subprotocol: true,
            fragment: 0,
            piece: 0,
            answer_pings: true,
        }
    }
}

impl Default for RpcOptions {
    fn default() -> Self {
        RpcOptions { accepted: 202 }
    }
}
