//! Options of the scripted server for each transport.

use serde::{Deserialize, Serialize};

/// A transport of a listening server, which offers all of them on one port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Streamable HTTP, at `/mcp`.
    Http,
    /// HTTP+SSE of revision 2024-11-05, at `/sse` and `/messages`.
    Sse,
    /// WebSocket, at `/ws`.
    WebSocket,
    /// Plain JSON-RPC with a POST for every message, at `/rpc`.
    Rpc,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Framing {
    Newline,
    ContentLength,
}

/// Options of Streamable HTTP.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HttpOptions {
    /// True if `initialize` assigns a session id, which later requests must carry.
    pub sessions: bool,
    /// True if a GET opens a stream; otherwise it is answered with 405.
    pub get: bool,
    /// True if every response is an event stream, even if no event precedes the answer.
    pub always_stream: bool,
    /// A header that every request must carry; requests without it get 401 on every path.
    pub required_header: Option<(String, String)>,
}

/// Options of HTTP+SSE.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SseOptions {
    pub endpoint: Endpoint,
    pub line_end: LineEnd,
    /// True if a comment precedes every event, with another one inside the event.
    pub comments: bool,
    /// True if a message continues in a new `data:` line after every comma outside strings.
    pub split_data: bool,
    /// The maximum number of bytes per write; 0 means no limit.
    pub piece: usize,
    /// If set, `/mcp` serves this transport instead of Streamable HTTP, and a POST there gets this
    /// status.
    pub at_mcp: Option<u16>,
}

/// The URL in the `endpoint` event.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub enum Endpoint {
    /// `/messages?session_id=...`
    #[default]
    Path,
    /// `messages?session_id=...`
    Relative,
    /// `http://127.0.0.1:port/messages?session_id=...`
    Url,
    /// This text, with `{id}` replaced by the session id.
    Text(String),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LineEnd {
    #[default]
    Lf,
    Cr,
    CrLf,
}

/// Options of WebSocket.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WebSocketOptions {
    /// True if the subprotocol `mcp` is selected when offered.
    pub select_subprotocol: bool,
    /// The number of payload bytes per frame of a message, with pings between the frames; 0 means
    /// one frame. Frames may split characters.
    pub fragment: usize,
    /// The maximum number of bytes per write; 0 means no limit.
    pub piece: usize,
    pub answer_pings: bool,
}

/// Options of plain JSON-RPC.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RpcOptions {
    /// The status of the response to a message that needs no answer.
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
