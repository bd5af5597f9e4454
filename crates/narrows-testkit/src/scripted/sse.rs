//! The scripted server over HTTP+SSE, as specified by revision 2024-11-05: a GET opens the stream
//! that carries all output and announces the URL for posts.

use std::sync::Arc;

use http::request::Parts;
use http::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Endpoint;
use super::connection::Connection;
use super::events::{Ended, Ends, EventBody, event};
use super::reply::{Body, plain, status};
use super::server::Output;
use super::state::ListenerState;

pub(super) fn open(at: &Arc<ListenerState>, connection: Connection) -> Response<Body> {
    let options = &at.server.script.sse;
    connection.write_in_pieces_of(options.piece);
    let (out, outputs) = mpsc::unbounded_channel();
    let id = at.register_stream(out.clone());
    let endpoint = match &options.endpoint {
        Endpoint::Path => format!("/messages?session_id={id}"),
        Endpoint::Relative => format!("messages?session_id={id}"),
        Endpoint::Url => format!("http://{}/messages?session_id={id}", at.address),
        Endpoint::Text(text) => text.replace("{id}", &id),
    };
    let endpoint = Output::Bytes(event(options, "endpoint", &endpoint));
    for output in std::iter::once(endpoint).chain(at.greeting.iter().cloned()) {
        out.send(output).expect("we hold the other end");
    }
    let home = at.clone();
    let mut events = EventBody::new(connection, outputs, Ends::Never);
    events.form = options.clone();
    events.on_end(move |_, ended| {
        home.forget_stream(&id);
        if ended == Ended::ByClient {
            home.server.record(&json!({ "sse": "lost" }).to_string());
        }
    });
    events.into_response()
}

/// Accepts a message and answers it on the stream.
pub(super) async fn post(at: &ListenerState, head: &Parts, text: &str) -> Response<Body> {
    let query = head.uri.query().unwrap_or_default();
    let id = query.strip_prefix("session_id=").unwrap_or_default();
    let Some(stream) = at.find_stream(id) else {
        return plain(StatusCode::NOT_FOUND, "no such session");
    };
    let message: Value = serde_json::from_str(text).unwrap_or_default();
    if !at.server.may_give_status(&message) {
        at.server.handle(text, &stream);
        return plain(StatusCode::ACCEPTED, "Accepted");
    }
    // The first output shows whether the script actually answers with a status.
    let (out, mut outputs) = mpsc::unbounded_channel();
    at.server.handle(text, &out);
    drop(out);
    let mut next = outputs.recv().await;
    if let Some(Output::Status {
        code,
        headers,
        body,
    }) = next
    {
        return status(code, headers, body);
    }
    tokio::spawn(async move {
        while let Some(output) = next {
            // The client may have closed the stream already.
            let _ = stream.send(output);
            next = outputs.recv().await;
        }
    });
    plain(StatusCode::ACCEPTED, "Accepted")
}
