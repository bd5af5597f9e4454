//! The streams of HTTP+SSE (MCP 2024-11-05): the first event names the URL to post to, the others
//! carry the answers.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use hyper::Response;
use hyper::body::{Body, Bytes, Frame};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const KEY: &str = "session_id=";

/// The senders for answers, by the number in the URL of the posts.
#[derive(Default)]
pub(super) struct Streams {
    open: RefCell<HashMap<u64, UnboundedSender<String>>>,
    last: Cell<u64>,
}

impl Streams {
    pub(super) fn open(self: &Rc<Self>) -> Response<SseEvents> {
        let id = self.last.get() + 1;
        self.last.set(id);
        let (sender, queue) = unbounded_channel();
        self.open.borrow_mut().insert(id, sender);
        let mut answer = Response::new(SseEvents {
            opening: Some(format!("event: endpoint\ndata: /messages?{KEY}{id}\n\n")),
            queue,
            streams: self.clone(),
            id,
        });
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        answer
    }

    pub(super) fn find(&self, query: Option<&str>) -> Option<UnboundedSender<String>> {
        let id = query?.strip_prefix(KEY)?.parse().ok()?;
        self.open.borrow().get(&id).cloned()
    }
}

/// A stream. Dropping it means that the client has disconnected.
pub(super) struct SseEvents {
    opening: Option<String>,
    queue: UnboundedReceiver<String>,
    streams: Rc<Streams>,
    id: u64,
}

impl Body for SseEvents {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let mut bytes = match self.opening.take() {
            Some(opening) => opening,
            None => match ready!(self.queue.poll_recv(cx)) {
                Some(message) => event(&message),
                None => return Poll::Ready(None),
            },
        };
        // Messages that are already waiting are sent in the same write.
        while let Ok(message) = self.queue.try_recv() {
            bytes.push_str(&event(&message));
        }
        Poll::Ready(Some(Ok(Frame::data(bytes.into()))))
    }
}

impl Drop for SseEvents {
    fn drop(&mut self) {
        self.streams.open.borrow_mut().remove(&self.id);
    }
}

fn event(message: &str) -> String {
    ["event: message\ndata: ", message, "\n\n"].concat()
}
