//! A Streamable HTTP client that reads all of its streams.

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::client::{Client, Line, Waiting};
use super::events::Events;
use super::http::{Http, MCP_HEADERS};
use super::response::Response;

/// A client with a session. Every message is posted on a new connection. After `initialize`, the
/// client also reads the stream of a GET, if the server offers one, and ends with that stream.
pub type Streamable = Client<Posts>;

#[derive(Debug)]
pub struct Posts {
    address: String,
    path: String,
    headers: Vec<(String, String)>,
    /// The session id, assigned by `initialize`.
    session: Option<String>,
    revision: Option<String>,
    sender: mpsc::UnboundedSender<Received>,
    received: mpsc::UnboundedReceiver<Received>,
    /// Tasks that read the open streams, one each. They end with the client.
    readers: JoinSet<()>,
}

#[derive(Debug)]
enum Received {
    Message(String),
    /// The stream of the GET has ended.
    End,
    /// A request failed without a JSON-RPC response.
    Failure(String),
}

impl Streamable {
    /// Creates a client of the server at `host:port`, without a session.
    pub fn at(address: &str, path: &str) -> Streamable {
        let (sender, received) = mpsc::unbounded_channel();
        Client::on(Posts {
            address: address.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            session: None,
            revision: None,
            sender,
            received,
            readers: JoinSet::new(),
        })
    }

    /// Adds a header to every request.
    pub fn with_header(mut self, name: &str, value: &str) -> Streamable {
        self.line.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the session id, if the server assigned one.
    pub fn session(&self) -> Option<&str> {
        self.line.session.as_deref()
    }
}

impl Posts {
    async fn send(&mut self, text: &str) {
        let message: Value = serde_json::from_str(text).unwrap_or_default();
        let http = self.begin("POST", text).await;
        let method = message["method"].as_str();
        if method.is_none() || message.get("id").is_none() {
            let accepted = answer(http).await.into_response().await;
            assert_eq!(accepted.status, 202, "{accepted:?}");
        } else if method == Some("initialize") {
            self.greet(answer(http).await.into_response().await);
        } else {
            self.readers.spawn(read_answer(http, self.sender.clone()));
        }
        if method == Some("notifications/initialized") {
            self.listen().await;
        }
    }

    /// Handles the response to `initialize`. Later requests need its session id and revision.
    fn greet(&mut self, response: Response) {
        assert_eq!(response.status, 200, "{response:?}");
        self.session = response.header("mcp-session-id").map(Into::into);
        let revision = &response.message()["result"]["protocolVersion"];
        self.revision = revision.as_str().map(Into::into);
        for text in response.messages() {
            let received = Received::Message(text);
            self.sender.send(received).expect("we hold the other end");
        }
    }

    async fn listen(&mut self) {
        let mut events = answer(self.begin("GET", "").await).await;
        if events.head.status == 405 {
            return;
        }
        assert_eq!(events.head.status, 200, "{:?}", events.head);
        let sender = self.sender.clone();
        self.readers.spawn(async move {
            while let Some(text) = events.read_message().await {
                let _ = sender.send(Received::Message(text));
            }
            let _ = sender.send(Received::End);
        });
    }

    async fn begin(&self, method: &str, body: &str) -> Http {
        let mut headers = MCP_HEADERS.to_vec();
        headers.extend(self.headers.iter().map(|(name, value)| (&**name, &**value)));
        headers.extend(self.session.iter().map(|id| ("mcp-session-id", &**id)));
        headers.extend(
            self.revision
                .iter()
                .map(|it| ("mcp-protocol-version", &**it)),
        );
        let mut http = Http::connect(&self.address).await;
        let body = body.as_bytes();
        http.send(method, &self.path, &headers, body).await;
        http
    }
}

impl Line for Posts {
    fn send_text<'a>(&'a mut self, text: &'a str) -> Waiting<'a, ()> {
        Box::pin(self.send(text))
    }

    fn next_text(&mut self) -> Waiting<'_, Option<String>> {
        Box::pin(async {
            match self.received.recv().await.expect("we hold the other end") {
                Received::Message(text) => Some(text),
                Received::End => None,
                Received::Failure(why) => panic!("{why}"),
            }
        })
    }

    fn close(&mut self) -> Waiting<'_, ()> {
        Box::pin(async {
            let http = self.begin("DELETE", "").await;
            let response = answer(http).await.into_response().await;
            assert!((200..300).contains(&response.status), "{response:?}");
            self.readers.abort_all();
        })
    }
}

async fn answer(http: Http) -> Events {
    let events = http.into_events().await;
    events.unwrap_or_else(|why| panic!("{why}"))
}

/// Reads the response to one request, an event stream or a single message.
async fn read_answer(http: Http, sender: mpsc::UnboundedSender<Received>) {
    // The client may have been dropped meanwhile.
    let say = |received| drop(sender.send(received));
    let mut events = match http.into_events().await {
        Ok(events) => events,
        Err(why) => return say(Received::Failure(why)),
    };
    let kind = events.head.header("content-type").unwrap_or_default();
    if events.head.status == 200 && kind.starts_with("text/event-stream") {
        while let Some(text) = events.read_message().await {
            say(Received::Message(text));
        }
        return;
    }
    let response = events.into_response().await;
    match response.status {
        200 => say(Received::Message(response.text())),
        // A cancelled request has no response.
        202 if response.body.is_empty() => {}
        _ => say(Received::Failure(format!(
            "the request failed: {response:?}"
        ))),
    }
}
