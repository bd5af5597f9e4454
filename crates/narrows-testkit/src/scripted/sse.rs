//! The scripted server over HTTP+SSE, as revision 2024-11-05 has it: a GET
//! opens the stream that everything is said on, and says where to post.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use http::request::Parts;
use http::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Endpoint;
use super::events::{Ended, Ends, Events, event};
use super::listen::{Body, Connection, Listening, plain, status};
use super::server::{Out, Output};

/// The open streams, by the ids of their sessions.
#[derive(Default)]
pub(super) struct Streams(Mutex<Known>);

#[derive(Default)]
struct Known {
    opened: usize,
    streams: HashMap<String, Out>,
}

pub(super) fn open(at: &Arc<Listening>, connection: Connection) -> Response<Body> {
    let options = &at.server.script.sse;
    connection.write_in_pieces_of(options.piece);
    let (out, outputs) = mpsc::unbounded_channel();
    let id = register(at, out.clone());
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
    let mut events = Events::new(connection, outputs, Ends::Never);
    events.form = options.clone();
    events.on_end(move |_, ended| {
        forget(&home, &id);
        if ended == Ended::ByClient {
            home.server.record(&json!({ "sse": "lost" }).to_string());
        }
    });
    events.into_response()
}

/// Accepts a message, and answers it on the stream.
pub(super) async fn post(at: &Listening, head: &Parts, text: &str) -> Response<Body> {
    let query = head.uri.query().unwrap_or_default();
    let id = query.strip_prefix("session_id=").unwrap_or_default();
    let Some(stream) = find(at, id) else {
        return plain(StatusCode::NOT_FOUND, "no such session");
    };
    let message: Value = serde_json::from_str(text).unwrap_or_default();
    if !at.server.may_give_status(&message) {
        at.server.hear(text, &stream);
        return plain(StatusCode::ACCEPTED, "Accepted");
    }
    // Whether the script does give a status is known by the first it says.
    let (out, mut outputs) = mpsc::unbounded_channel();
    at.server.hear(text, &out);
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
            // The client may have left the stream; then nobody listens.
            let _ = stream.send(output);
            next = outputs.recv().await;
        }
    });
    plain(StatusCode::ACCEPTED, "Accepted")
}

fn register(at: &Listening, stream: Out) -> String {
    let mut known = at.streams.0.lock().expect("nothing panics here");
    known.opened += 1;
    let id = format!("{}-stream-{}", at.server.script.name, known.opened);
    known.streams.insert(id.clone(), stream);
    let mut sessions = at.server.sessions.lock().expect("no step panics");
    sessions.push(id.clone());
    id
}

/// The script may have forgotten the session while its stream is there.
fn find(at: &Listening, id: &str) -> Option<Out> {
    let known = at.streams.0.lock().expect("nothing panics here");
    let stream = known.streams.get(id).cloned();
    let sessions = at.server.sessions.lock().expect("no step panics");
    stream.filter(|_| sessions.iter().any(|known| known == id))
}

fn forget(at: &Listening, id: &str) {
    let mut known = at.streams.0.lock().expect("nothing panics here");
    known.streams.remove(id);
    let mut sessions = at.server.sessions.lock().expect("no step panics");
    sessions.retain(|known| known != id);
}
