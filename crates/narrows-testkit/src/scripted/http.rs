//! The scripted server over Streamable HTTP, as the revisions with sessions
//! have it: one endpoint, POST, GET and DELETE.

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::server::{Output, Server};

type Body = UnsyncBoxBody<Bytes, io::Error>;
type Outputs = mpsc::UnboundedReceiver<Output>;

const SESSION: &str = "mcp-session-id";

/// Prints the address and serves until stdin ends, which it does with the test.
pub(super) async fn serve(server: Arc<Server>) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let general = Arc::new(General::default());
    server.start(&general.sender()).await;
    tokio::spawn(async move {
        let _ = tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await;
        std::process::exit(0);
    });
    loop {
        let (stream, _) = listener.accept().await?;
        let (server, general) = (server.clone(), general.clone());
        tokio::spawn(async move {
            let service = service_fn(|request| answer(server.clone(), general.clone(), request));
            let connection = hyper::server::conn::http1::Builder::new();
            let _ = connection
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// What belongs to no request; it waits here until a GET asks for it.
struct General {
    sender: mpsc::UnboundedSender<Output>,
    /// Taken by the stream that is open.
    outputs: Arc<Mutex<Option<Outputs>>>,
}

impl Default for General {
    fn default() -> Self {
        let (sender, outputs) = mpsc::unbounded_channel();
        General {
            sender,
            outputs: Arc::new(Mutex::new(Some(outputs))),
        }
    }
}

impl General {
    fn sender(&self) -> mpsc::UnboundedSender<Output> {
        self.sender.clone()
    }
}

/// An error breaks the connection.
async fn answer(
    server: Arc<Server>,
    general: Arc<General>,
    request: Request<Incoming>,
) -> Result<Response<Body>, io::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let text = String::from_utf8_lossy(&body).into_owned();
    server.record(&recorded(&head, &text));
    if let Some((name, value)) = &server.script.http.required_header
        && head.headers.get(name).and_then(|given| given.to_str().ok()) != Some(value)
    {
        return Ok(plain(StatusCode::UNAUTHORIZED, "sign in first"));
    }
    let message: Value = serde_json::from_str(&text).unwrap_or_default();
    let greeting = message["method"] == "initialize";
    if !greeting && let Some(refusal) = refuse_session(&server, &head.headers) {
        return Ok(refusal);
    }
    match head.method {
        Method::POST => post(&server, &general, &text, &message).await,
        Method::GET if server.script.http.get => Ok(get(&general)),
        Method::DELETE => {
            let id = head
                .headers
                .get(SESSION)
                .and_then(|id| id.to_str().ok())
                .unwrap_or_default();
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

async fn post(
    server: &Arc<Server>,
    general: &General,
    text: &str,
    message: &Value,
) -> Result<Response<Body>, io::Error> {
    if message["method"].is_null() || message.get("id").is_none() {
        server.hear(text, &general.sender());
        return Ok(plain(StatusCode::ACCEPTED, ""));
    }
    let (out, mut outputs) = mpsc::unbounded_channel();
    server.hear(text, &out);
    drop(out);
    let first = outputs.recv().await;
    let mut response = match first {
        None | Some(Output::HangUp) => return Err(io::Error::other("as the script says")),
        Some(Output::Status {
            code,
            headers,
            body,
        }) => status(code, headers, body),
        Some(Output::Answer(answer)) if !server.script.http.always_stream => {
            let body = Full::new(Bytes::from(answer)).map_err(|never: Infallible| match never {});
            response(StatusCode::OK, "application/json", body.boxed_unsync())
        }
        Some(output) => stream(Some(output), outputs, |_| {}),
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

/// One GET at a time hears the general messages; a second one hears nothing.
fn get(general: &General) -> Response<Body> {
    let taken = general.outputs.lock().expect("nothing panics here").take();
    let home = general.outputs.clone();
    match taken {
        Some(outputs) => stream(None, outputs, move |outputs| {
            *home.lock().expect("nothing panics here") = Some(outputs);
        }),
        None => plain(StatusCode::CONFLICT, "there is a stream already"),
    }
}

fn refuse_session(server: &Server, headers: &HeaderMap) -> Option<Response<Body>> {
    if !server.script.http.sessions {
        return None;
    }
    let Some(id) = headers.get(SESSION).and_then(|id| id.to_str().ok()) else {
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

/// Events until the answer has gone out. `done` gets the rest back.
fn stream(
    first: Option<Output>,
    outputs: Outputs,
    done: impl FnOnce(Outputs) + Send + 'static,
) -> Response<Body> {
    let body = Events {
        first,
        outputs: Some(outputs),
        over: false,
        done: Some(Box::new(done)),
    };
    response(StatusCode::OK, "text/event-stream", body.boxed_unsync())
}

struct Events {
    first: Option<Output>,
    outputs: Option<Outputs>,
    over: bool,
    done: Option<Box<dyn FnOnce(Outputs) + Send>>,
}

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        use std::task::Poll;

        if self.over {
            return Poll::Ready(None);
        }
        let output = match self.first.take() {
            Some(first) => Some(first),
            None => match self
                .outputs
                .as_mut()
                .map(|outputs| outputs.poll_recv(context))
            {
                Some(Poll::Ready(output)) => output,
                Some(Poll::Pending) => return Poll::Pending,
                None => None,
            },
        };
        let text = match output {
            Some(Output::Message(text)) => text,
            Some(Output::Answer(text)) => {
                self.over = true;
                text
            }
            Some(Output::HangUp | Output::Status { .. }) => {
                self.over = true;
                return Poll::Ready(Some(Err(io::Error::other("as the script says"))));
            }
            None => return Poll::Ready(None),
        };
        let data: Vec<String> = text
            .split('\n')
            .map(|line| format!("data: {line}\n"))
            .collect();
        let event = format!("event: message\n{}\n", data.concat());
        Poll::Ready(Some(Ok(Frame::data(event.into()))))
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if let (Some(done), Some(outputs)) = (self.done.take(), self.outputs.take()) {
            done(outputs);
        }
    }
}

fn recorded(head: &http::request::Parts, body: &str) -> String {
    let headers: serde_json::Map<String, Value> = head
        .headers
        .iter()
        .map(|(name, value)| {
            (
                name.to_string(),
                String::from_utf8_lossy(value.as_bytes()).into(),
            )
        })
        .collect();
    json!({ "method": head.method.as_str(), "path": head.uri.path(), "headers": headers, "body": body }).to_string()
}

fn status(code: u16, headers: Vec<(String, String)>, body: String) -> Response<Body> {
    let code = StatusCode::from_u16(code).expect("the script gives a status that there is");
    let mut response = plain(code, &body);
    for (name, value) in headers {
        let name = http::HeaderName::try_from(name).expect("the script gives a header's name");
        response.headers_mut().insert(
            name,
            value.parse().expect("the script gives a header's value"),
        );
    }
    response
}

fn plain(status: StatusCode, text: &str) -> Response<Body> {
    let body = Full::new(Bytes::from(text.to_owned())).map_err(|never: Infallible| match never {});
    response(status, "text/plain", body.boxed_unsync())
}

fn response(status: StatusCode, kind: &str, body: Body) -> Response<Body> {
    let response = Response::builder()
        .status(status)
        .header("content-type", kind)
        .body(body);
    response.expect("a status and a plain header")
}
