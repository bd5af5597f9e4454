//! The scripted server on a port: the path of a request selects the transport. All transports share
//! one server, so a test can mix them.

use std::io;
use std::sync::Arc;

use http::request::Parts;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::connection::{Connection, Wire};
use super::reply::{Answer, header, plain, status};
use super::server::{Output, ScriptedServer};
use super::state::{General, ListenerState, Streams};
use super::{http as streamable, rpc, sse, websocket};

/// Prints the address and serves until stdin ends, which happens when the test ends.
pub(super) async fn serve(server: Arc<ScriptedServer>) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    println!("{address}");
    let (out, mut outputs) = mpsc::unbounded_channel();
    server.start(&out).await;
    let greeting: Vec<Output> = std::iter::from_fn(|| outputs.try_recv().ok()).collect();
    let at = Arc::new(ListenerState {
        server,
        address,
        general: General::holding(&greeting),
        streams: Streams::default(),
        greeting,
    });
    tokio::spawn(async move {
        let _ = tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await;
        std::process::exit(0);
    });
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (at, connection) = (at.clone(), Connection::default());
        tokio::spawn(async move {
            let wire = Wire {
                stream,
                connection: connection.clone(),
            };
            let service = service_fn(|request| answer(at.clone(), connection.clone(), request));
            let served = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(wire), service)
                .with_upgrades();
            // Fails if the script or the client breaks the connection.
            let _ = served.await;
        });
    }
}

async fn answer(
    at: Arc<ListenerState>,
    connection: Connection,
    mut request: Request<Incoming>,
) -> Answer {
    let upgrade = hyper::upgrade::on(&mut request);
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let text = String::from_utf8_lossy(&body).into_owned();
    at.server.record(&recorded(&head, &text));
    let script = &at.server.script;
    if let Some((name, value)) = &script.http.required_header
        && header(&head, name) != Some(value)
    {
        return Ok(plain(StatusCode::UNAUTHORIZED, "sign in first"));
    }
    match (head.uri.path(), &head.method) {
        ("/mcp", method) => match script.sse.at_mcp {
            None => streamable::answer(&at, connection, &head, &text).await,
            Some(_) if method == Method::GET => Ok(sse::open(&at, connection)),
            Some(refusal) => Ok(status(refusal, Vec::new(), String::new())),
        },
        ("/sse", &Method::GET) => Ok(sse::open(&at, connection)),
        ("/messages", &Method::POST) => Ok(sse::post(&at, &head, &text).await),
        ("/ws", &Method::GET) => Ok(websocket::accept(at.clone(), &connection, &head, upgrade)),
        ("/rpc", &Method::POST) => rpc::post(&at.server, &text).await,
        ("/sse" | "/messages" | "/ws" | "/rpc", _) => Ok(plain(StatusCode::METHOD_NOT_ALLOWED, "")),
        _ => Ok(plain(StatusCode::NOT_FOUND, "")),
    }
}

fn recorded(head: &Parts, body: &str) -> String {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = head.headers.iter();
    let headers: Map<String, Value> = headers
        .map(|(name, value)| (name.to_string(), text(value).into()))
        .collect();
    let mut record = json!({ "method": head.method.as_str(), "path": head.uri.path(), "headers": headers, "body": body });
    if let Some(query) = head.uri.query() {
        record["query"] = query.into();
    }
    record.to_string()
}
