//! The scripted server over WebSocket: one text frame per message, or several if the script
//! requires them.

use std::io;
use std::sync::Arc;

use http::request::Parts;
use http::{Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use super::WebSocketOptions;
use super::connection::Connection;
use super::reply::{Body, header, plain};
use super::server::{Out, Output, Outputs, ScriptedServer};
use super::state::ListenerState;
use crate::websocket::{
    Assembly, BINARY, Frame, Message, PING, PONG, Role, SUBPROTOCOL, TEXT, accept_key,
};

/// Answers the handshake. The connection then carries WebSocket frames.
pub(super) fn accept(
    at: Arc<ListenerState>,
    connection: &Connection,
    head: &Parts,
    upgrade: OnUpgrade,
) -> Response<Body> {
    let options = &at.server.script.websocket;
    let asked = header(head, "upgrade").is_some_and(|to| to.eq_ignore_ascii_case("websocket"))
        && header(head, "sec-websocket-version") == Some("13");
    let (true, Some(key)) = (asked, header(head, "sec-websocket-key")) else {
        return plain(StatusCode::BAD_REQUEST, "not a WebSocket's handshake");
    };
    let mut response = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-accept", accept_key(key));
    let offered = header(head, "sec-websocket-protocol").unwrap_or_default();
    if options.select_subprotocol && offered.split(',').any(|one| one.trim() == SUBPROTOCOL) {
        response = response.header("sec-websocket-protocol", SUBPROTOCOL);
    }
    connection.write_in_pieces_of(options.piece);
    tokio::spawn(async move {
        if let Ok(connection) = upgrade.await {
            converse(&at, TokioIo::new(connection)).await;
        }
    });
    response.body(Body::default()).expect("plain headers")
}

async fn converse(at: &ListenerState, connection: impl AsyncRead + AsyncWrite) {
    let (reader, writer) = tokio::io::split(connection);
    let (out, outputs) = mpsc::unbounded_channel();
    for output in &at.greeting {
        out.send(output.clone()).expect("we hold the other end");
    }
    // When either ends, the connection is dropped together with pending output.
    tokio::select! {
        () = listen(&at.server, reader, &out) => {}
        () = speak(&at.server.script.websocket, writer, outputs) => {}
    }
}

/// Returns when the client has disconnected without a close frame.
async fn listen(server: &Arc<ScriptedServer>, reader: impl AsyncRead + Unpin, out: &Out) {
    let mut reader = BufReader::new(reader);
    let mut assembly = Assembly::of(Role::Client);
    let note = |what: Value| server.record(&what.to_string());
    let send = |output| {
        // If `speak` has ended, this future is about to be dropped.
        let _ = out.send(output);
    };
    loop {
        match assembly.next(&mut reader).await {
            Ok(Some(Message::Text(text))) => {
                server.record(&text);
                server.handle(&text, out);
            }
            Ok(Some(Message::Binary(bytes))) => {
                note(json!({ "websocket": "binary", "length": bytes.len() }));
            }
            Ok(Some(Message::Ping(payload))) => {
                note(json!({ "websocket": "ping" }));
                if server.script.websocket.answer_pings {
                    send(Output::Bytes(Frame::new(PONG, payload).encode()));
                }
            }
            Ok(Some(Message::Pong(_))) => note(json!({ "websocket": "pong" })),
            Ok(Some(Message::Close { code, reason })) => {
                let mut line = json!({ "websocket": "close" });
                if let Some(code) = code {
                    line["code"] = code.into();
                    line["reason"] = reason.into();
                }
                note(line);
                return close(code.unwrap_or(1000), out).await;
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                note(json!({ "websocket": "violation", "what": error.to_string() }));
                return close(1002, out).await;
            }
            Ok(None) | Err(_) => return note(json!({ "websocket": "lost" })),
        }
    }
}

/// Sends a close frame and ends the connection. `speak` returns when both are processed.
async fn close(code: u16, out: &Out) {
    let reason = String::new();
    let _ = out.send(Output::Close { code, reason });
    let _ = out.send(Output::HangUp);
    std::future::pending().await
}

/// Returns when the connection must be closed. After a close frame, no further output is sent.
async fn speak(options: &WebSocketOptions, writer: impl AsyncWrite + Unpin, mut outputs: Outputs) {
    let mut writer = writer;
    let mut closed = false;
    while let Some(output) = outputs.recv().await {
        let bytes = match output {
            Output::HangUp => return,
            _ if closed => continue,
            Output::Answer(text) | Output::Message(text) => message(options, &text),
            Output::Bytes(bytes) => bytes,
            Output::Binary(bytes) => Frame::new(BINARY, bytes).encode(),
            Output::Close { code, reason } => {
                closed = true;
                Frame::close(code, &reason).encode()
            }
            Output::Status { .. } => continue,
        };
        if writer.write_all(&bytes).await.is_err() || writer.flush().await.is_err() {
            // `listen` notices the error too, and must still record it.
            closed = true;
        }
    }
}

fn message(options: &WebSocketOptions, text: &str) -> Vec<u8> {
    let frames = Frame::fragments(TEXT, text.as_bytes(), options.fragment);
    let frames: Vec<Vec<u8>> = frames.iter().map(Frame::encode).collect();
    frames.join(Frame::new(PING, "between").encode().as_slice())
}
