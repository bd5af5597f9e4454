//! A client of HTTP+SSE, as revision 2024-11-05 has it.

use super::client::{Client, Line, Waiting};
use super::event::Event;
use super::events::Events;
use super::http::{Http, MCP_HEADERS};
use super::response::Response;

/// A client with a stream that it hears everything on. Every message is posted
/// on a connection of its own.
pub type Sse = Client<Stream>;

#[derive(Debug)]
pub struct Stream {
    address: String,
    /// As the stream has said it.
    endpoint: String,
    /// Where to post, from that.
    post_path: String,
    /// Sent with every request.
    headers: Vec<(String, String)>,
    /// `None` once closed.
    events: Option<Events>,
}

impl Sse {
    /// Opens the stream at `path`. Panics unless it says where to post.
    pub async fn connect(address: &str, path: &str) -> Sse {
        Sse::connect_with(address, path, &[]).await
    }

    /// The headers are sent with the posts too.
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

    /// What the server has said about where to post.
    pub fn endpoint(&self) -> &str {
        &self.line.endpoint
    }

    /// Posts a body as it is, and gives the answer to the post.
    pub async fn post(&mut self, body: &str) -> Response {
        self.line.post(body).await
    }

    /// The next event as it came; `None` at the end.
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

/// The path of an endpoint; it must be on the server that names it.
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
