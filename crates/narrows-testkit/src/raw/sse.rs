//! An HTTP+SSE client, as specified by revision 2024-11-05.

use super::client::{Client, Line, Waiting};
use super::event::Event;
use super::events::Events;
use super::http::{Http, MCP_HEADERS};
use super::response::Response;

/// A client that receives all messages on one stream and posts each message on a new connection.
pub type Sse = Client<Stream>;

#[derive(Debug)]
pub struct Stream {
    address: String,
    /// The endpoint as announced on the stream.
    endpoint: String,
    /// The path to post to, derived from the endpoint.
    post_path: String,
    /// Headers of every request.
    headers: Vec<(String, String)>,
    /// `None` after closing.
    events: Option<Events>,
}

impl Sse {
    /// Opens the stream at `path`. Panics if the stream does not announce an endpoint.
    pub async fn connect(address: &str, path: &str) -> Sse {
        Sse::connect_with(address, path, &[]).await
    }

    /// Like `connect`, with headers for the stream and all posts.
    pub async fn connect_with(address: &str, path: &str, headers: &[(&str, &str)]) -> Sse {
        let accept = [("accept", "text/event-stream")];
        let all = [&accept, headers].concat();
        let http = Http::connect(address).await;
        let mut events = http.open("GET", path, &all, b"").await;
        let kind = events.head.header("content-type").unwrap_or_default();
        assert!(
            events.head.status == 200 && kind.starts_with("text/event-stream"),
            "no event stream: {:?}",
            events.head
        );
        let first = events.next().await.expect("the stream goes on");
        assert_eq!(first.event.as_deref(), Some("endpoint"), "{first:?}");
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Client::on(Stream {
            address: address.to_owned(),
            post_path: resolve(address, path, &first.data),
            endpoint: first.data,
            headers: headers.iter().map(owned).collect(),
            events: Some(events),
        })
    }

    /// Returns the endpoint as the server announced it.
    pub fn endpoint(&self) -> &str {
        &self.line.endpoint
    }

    /// Posts a body unchanged, and returns the response to the post.
    pub async fn post(&mut self, body: &str) -> Response {
        self.line.post(body).await
    }

    /// Returns the next event unchanged; `None` at the end.
    pub async fn next_event(&mut self) -> Option<Event> {
        self.line.events.as_mut()?.next().await
    }
}

impl Stream {
    async fn post(&self, body: &str) -> Response {
        let own = self.headers.iter().map(|(name, value)| (&**name, &**value));
        let headers: Vec<(&str, &str)> = MCP_HEADERS.iter().copied().chain(own).collect();
        let mut http = Http::connect(&self.address).await;
        http.post(&self.post_path, &headers, body).await
    }
}

impl Line for Stream {
    fn send_text<'a>(&'a mut self, text: &'a str) -> Waiting<'a, ()> {
        Box::pin(async move {
            let response = self.post(text).await;
            assert_eq!(response.status, 202, "{response:?}");
        })
    }

    fn next_text(&mut self) -> Waiting<'_, Option<String>> {
        Box::pin(async { self.events.as_mut()?.read_message().await })
    }

    fn close(&mut self) -> Waiting<'_, ()> {
        self.events = None;
        Box::pin(std::future::ready(()))
    }
}

/// Returns the path of an endpoint, which must be on the same server.
fn resolve(address: &str, base: &str, endpoint: &str) -> String {
    if let Some(rest) = endpoint.strip_prefix("http://") {
        let path = rest.strip_prefix(address);
        let path = path.filter(|path| path.starts_with('/'));
        let path = path.unwrap_or_else(|| panic!("{endpoint} is not on {address}"));
        return path.to_owned();
    }
    if endpoint.starts_with('/') {
        return endpoint.to_owned();
    }
    let folder = base.rfind('/').map_or("/", |slash| &base[..=slash]);
    format!("{folder}{endpoint}")
}
