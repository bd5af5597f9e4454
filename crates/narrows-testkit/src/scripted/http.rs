//! The scripted server over Streamable HTTP, as specified by the revisions with sessions: one
//! endpoint with POST, GET and DELETE.

use http::request::Parts;
use http::{Method, Response, StatusCode};
use serde_json::Value;
use tokio::sync::mpsc;

use super::connection::Connection;
use super::events::{Ends, EventBody};
use super::reply::{Answer, Body, header, hung_up, plain, status, whole};
use super::server::{Output, ScriptedServer};
use super::state::{General, ListenerState};

const SESSION: &str = "mcp-session-id";

pub(super) async fn answer(
    at: &ListenerState,
    connection: Connection,
    head: &Parts,
    text: &str,
) -> Answer {
    let server = &at.server;
    let message: Value = serde_json::from_str(text).unwrap_or_default();
    let greeting = message["method"] == "initialize";
    if !greeting && let Some(refusal) = refuse_session(server, head) {
        return Ok(refusal);
    }
    match head.method {
        Method::POST => post(at, connection, text, &message).await,
        Method::GET if server.script.http.get => Ok(get(&at.general, connection)),
        Method::DELETE => {
            let id = header(head, SESSION).unwrap_or_default();
            server
                .sessions
                .lock()
                .expect("no step panics")
                .retain(|known| known != id);
            Ok(plain(StatusCode::NO_CONTENT, ""))
        }
        _ => Ok(plain(StatusCode::METHOD_NOT_ALLOWED, "")),
    }
}

async fn post(at: &ListenerState, connection: Connection, text: &str, message: &Value) -> Answer {
    let server = &at.server;
    if message["method"].is_null() || message.get("id").is_none() {
        server.handle(text, &at.general.sender);
        return Ok(plain(StatusCode::ACCEPTED, ""));
    }
    let (out, mut outputs) = mpsc::unbounded_channel();
    server.handle(text, &out);
    drop(out);
    let first = outputs.recv().await;
    let mut response = match first {
        None | Some(Output::HangUp) => return Err(hung_up()),
        Some(Output::Status {
            code,
            headers,
            body,
        }) => status(code, headers, body),
        Some(Output::Answer(answer)) if !server.script.http.always_stream => {
            whole(StatusCode::OK, "application/json", answer)
        }
        first => {
            let mut events = EventBody::new(connection, outputs, Ends::AfterAnswer);
            events.first = first;
            events.into_response()
        }
    };
    if message["method"] == "initialize" && server.script.http.sessions {
        let mut sessions = server.sessions.lock().expect("no step panics");
        let id = format!("{}-session-{}", server.script.name, sessions.len() + 1);
        response
            .headers_mut()
            .insert(SESSION, id.parse().expect("a plain name"));
        sessions.push(id);
    }
    Ok(response)
}

/// Opens the stream of general messages. Only one GET at a time can have it; a second one is
/// refused.
fn get(general: &General, connection: Connection) -> Response<Body> {
    let taken = general.outputs.lock().expect("nothing panics here").take();
    let home = general.outputs.clone();
    let Some(outputs) = taken else {
        return plain(StatusCode::CONFLICT, "there is a stream already");
    };
    let mut events = EventBody::new(connection, outputs, Ends::AfterAnswer);
    events.on_end(move |outputs, _| {
        *home.lock().expect("nothing panics here") = Some(outputs);
    });
    events.into_response()
}

fn refuse_session(server: &ScriptedServer, head: &Parts) -> Option<Response<Body>> {
    if !server.script.http.sessions {
        return None;
    }
    let Some(id) = header(head, SESSION) else {
        return Some(plain(StatusCode::BAD_REQUEST, "no session id"));
    };
    let known = server
        .sessions
        .lock()
        .expect("no step panics")
        .iter()
        .any(|known| known == id);
    (!known).then(|| plain(StatusCode::NOT_FOUND, "no such session"))
}
