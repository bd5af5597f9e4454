//! The older transport HTTP+SSE (MCP 2024-11-05). One GET opens an event stream that carries all
//! messages from the server. Each message to the server is posted to the address that the first
//! event of the stream names.
//!
//! This module creates the [`Channel`]. Start reading at [`open`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{ACCEPT, CONTENT_TYPE};
use ::http::{HeaderMap, HeaderValue, Method, StatusCode};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, FuturesUnordered};
use narrows_wire::{Id, Incoming, Message, decode};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::channel::{Channel, ChannelEvent, ends_writer};
use crate::failure::{Failure, FailureKind};
use crate::offload;
use crate::settings::RemoteSettings;
use crate::web::{
    Address, BodyKind, Events, HttpClient, HttpError, HttpResponse, InvalidReference, RequestPhase,
};

/// The maximum number of messages that wait to be posted.
const QUEUE: usize = 256;
/// The maximum number of concurrent POST requests.
const MAX_POSTS: usize = 128;
/// The limit for a POST. A server accepts the message and responds on its stream. One that keeps
/// the POST open for longer has either lost the message or will respond anyway.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(60);
/// The limit for the address, which a server sends as soon as the stream is open. If it is missing,
/// the server most likely speaks Streamable HTTP.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);
/// The limit for the last POST requests when the link is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// The maximum time that an ordered message waits for earlier ones.
const ORDER_TIMEOUT: Duration = Duration::from_secs(1);

/// Opens the stream and waits for the address. The caller sets the time limit.
///
/// Must be called inside a tokio runtime.
pub(crate) async fn open(
    client: &HttpClient,
    settings: &RemoteSettings,
    server: Arc<str>,
    max_message_bytes: usize,
) -> Result<Channel, Failure> {
    let stream = Address::new(client, settings, "")?;
    let mut headers = stream.headers.clone();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let answer = stream
        .send(&Method::GET, &headers, Bytes::new(), &mut false)
        .await
        .and_then(HttpResponse::on_site)
        .map_err(|error| error.into_failure(&stream.shown))?;
    let wrong = |what: String| {
        let detail = format!("{}: {what}", stream.shown);
        Failure::new(FailureKind::WrongTransport, detail)
    };
    if !answer.status().is_success() {
        let status = answer.status();
        let refusal = answer.refusal(&stream.pool, &stream.secrets, RequestPhase::Opening);
        return Err(match refusal.await {
            // The server speaks MCP, but does not support GET.
            HttpError::Answered(_) => wrong(format!("it answered HTTP {status} to GET")),
            refusal => refusal.into_failure(&stream.shown),
        });
    }
    if answer.content() != BodyKind::Events {
        return Err(wrong(
            "it does not answer GET with an event stream".to_owned(),
        ));
    }
    let mut events = answer.events(max_message_bytes, None);
    let first = timeout(ENDPOINT_TIMEOUT, first_event(&mut events)).await;
    let first = first.unwrap_or_else(|_| Err("its event stream names no endpoint".to_owned()));
    let reference = first.map_err(wrong)?;
    let address = stream.sibling(reference.trim()).map_err(|astray| {
        let at = match astray {
            InvalidReference::Unresolvable => "an invalid address".to_owned(),
            InvalidReference::WebOrigin(shown) => format!("{shown}, which is another site"),
        };
        let detail = format!("{}: it expects messages at {at}", stream.shown);
        Failure::new(FailureKind::Protocol, detail)
    })?;

    let (outgoing, queue) = mpsc::channel(QUEUE);
    let (errors, arrivals) = mpsc::channel(MAX_POSTS);
    let closing = CancellationToken::new();
    let poster = Poster::new(address, server, errors);
    let poster = tokio::spawn(poster.run(queue, closing.clone()));
    let reader = SseReader {
        events,
        arrivals,
        shown: stream.shown,
        over: false,
    };
    let incoming = stream::unfold(reader, async |mut reader| {
        Some((reader.next().await?, reader))
    });
    Ok(Channel {
        outgoing,
        incoming: incoming.boxed(),
        // The server detects the end when its stream is closed.
        closer: ends_writer(poster, closing, CLOSE_TIMEOUT),
    })
}

/// Reads the `endpoint` event, which must be the first event of the stream.
async fn first_event(events: &mut Events) -> Result<String, String> {
    loop {
        let what = match events.next().await {
            Ok(Some(event)) => match event.event.as_deref() {
                Some("endpoint") => return Ok(String::from_utf8_lossy(&event.data).into_owned()),
                // Possibly an event that keeps proxies from closing the connection.
                _ if event.data.is_empty() => continue,
                _ => "does not begin with an endpoint",
            },
            Err(HttpError::TooLarge(_)) => "does not begin with an endpoint",
            Ok(None) => "ended at once",
            Err(_) => "broke",
        };
        return Err(format!("its event stream {what}"));
    }
}

struct SseReader {
    events: Events,
    /// Failures of POST requests.
    arrivals: mpsc::Receiver<ChannelEvent>,
    shown: String,
    over: bool,
}

impl SseReader {
    async fn next(&mut self) -> Option<ChannelEvent> {
        while !self.over {
            let event = tokio::select! {
                // A response that has arrived takes precedence over the failure of its POST.
                biased;
                event = self.events.next() => event,
                Some(arrival) = self.arrivals.recv() => {
                    self.over = matches!(arrival, ChannelEvent::Ended(_));
                    return Some(arrival);
                }
            };
            let what = match event {
                Ok(Some(event)) => match event.event.as_deref() {
                    None | Some("message") if !event.data.is_empty() => {
                        return Some(ChannelEvent::Message(event.data));
                    }
                    _ => continue,
                },
                Err(HttpError::TooLarge(max)) => return Some(ChannelEvent::TooLarge(max)),
                Ok(None) => "its event stream ended",
                Err(_) => "its event stream broke",
            };
            self.over = true;
            let detail = format!("{}: {what}", self.shown);
            return Some(ChannelEvent::Ended(Failure::new(
                FailureKind::Connect,
                detail,
            )));
        }
        None
    }
}

/// Posts the queued messages.
///
/// Requests and responses do not wait for each other, because each costs a round trip.
/// Notifications must stay in order: the server must receive `initialized` before the first call,
/// and a call before its cancellation. If the server holds its POST requests open, the order is
/// given up after [`ORDER_TIMEOUT`], because a call may depend on the next message.
struct Poster {
    address: Arc<Address>,
    headers: HeaderMap,
    server: Arc<str>,
    errors: mpsc::Sender<ChannelEvent>,
}

impl Poster {
    fn new(address: Address, server: Arc<str>, errors: mpsc::Sender<ChannelEvent>) -> Poster {
        let mut headers = address.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers
            .entry(ACCEPT)
            .or_insert(HeaderValue::from_static("*/*"));
        Poster {
            address: Arc::new(address),
            headers,
            server,
            errors,
        }
    }

    async fn run(self, mut queue: mpsc::Receiver<Bytes>, closing: CancellationToken) {
        let mut posts = FuturesUnordered::new();
        // The start times of the pending POST requests.
        let mut begun = BTreeMap::new();
        for serial in 0_u64.. {
            let message = loop {
                tokio::select! {
                    message = queue.recv(), if posts.len() < MAX_POSTS => break message,
                    Some(done) = posts.next() => drop(begun.remove(&done)),
                    // Messages that are already queued are still posted, because one may be a
                    // cancellation.
                    () = closing.cancelled(), if !queue.is_closed() => queue.close(),
                }
            };
            let Some(message) = message else { break };
            let kind = MessageKind::by(message.clone()).await;
            if kind == MessageKind::Notification {
                // Requests that have been open for longer are not waited for again.
                while let Some((_, newest)) = begun.last_key_value()
                    && let Ok(Some(done)) = timeout_at(*newest + ORDER_TIMEOUT, posts.next()).await
                {
                    begun.remove(&done);
                }
            }
            let now = Instant::now();
            begun.insert(serial, now);
            posts.push(self.post(serial, kind, message));
            if kind == MessageKind::Notification {
                while begun.contains_key(&serial)
                    && let Ok(Some(done)) = timeout_at(now + ORDER_TIMEOUT, posts.next()).await
                {
                    begun.remove(&done);
                }
            }
        }
        while posts.next().await.is_some() {}
    }

    /// Posts a message and returns its serial number when done.
    async fn post(&self, serial: u64, kind: MessageKind, message: Bytes) -> u64 {
        if let Some(arrival) = self.outcome(kind, message).await {
            // Fails if the link has ended meanwhile.
            let _ = self.errors.send(arrival).await;
        }
        serial
    }

    /// Posts a message. Returns the event that the link must handle, if any.
    async fn outcome(&self, kind: MessageKind, message: Bytes) -> Option<ChannelEvent> {
        let posting = Box::pin(self.try_post(message));
        let error = match timeout(ACCEPT_TIMEOUT, posting).await {
            Ok(accepted) => accepted.err()?,
            Err(_) => {
                tracing::debug!(server = %self.server, "the server keeps a POST request open");
                return None;
            }
        };
        let shown = &self.address.shown;
        let gone = match &error {
            HttpError::SessionGone(refused) => Some(refused),
            HttpError::Refused(refused) if refused.status == StatusCode::GONE => Some(refused),
            _ => None,
        };
        match (gone, kind) {
            // The session of the stream has expired.
            (Some(refused), _) => {
                let detail = format!("{shown} answered {refused}");
                Some(ChannelEvent::Ended(Failure::new(
                    FailureKind::Connect,
                    detail,
                )))
            }
            (None, MessageKind::Request(id)) => {
                // If the connection broke, the server may still have received the request.
                let certain = !matches!(error, HttpError::Broken(_));
                let error = error.into_link_error(shown);
                Some(ChannelEvent::Unsent { id, error, certain })
            }
            (None, MessageKind::Answer | MessageKind::Notification) => {
                let error = error.into_link_error(shown);
                tracing::debug!(server = %self.server, ?error, "the server did not accept a message");
                None
            }
        }
    }

    async fn try_post(&self, message: Bytes) -> Result<(), HttpError> {
        let answer = self
            .address
            .send(&Method::POST, &self.headers, message, &mut false)
            .await?
            .on_site()?;
        if !answer.status().is_success() {
            let (pool, secrets) = (&self.address.pool, &self.address.secrets);
            return Err(answer.refusal(pool, secrets, RequestPhase::InSession).await);
        }
        answer.discard(&self.address.pool).await;
        Ok(())
    }
}

/// The kind of an outgoing message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MessageKind {
    Request(u64),
    Answer,
    Notification,
}

impl MessageKind {
    async fn by(message: Bytes) -> MessageKind {
        match offload::run(message.len(), move || decode(message)).await {
            Ok(Incoming::Single(Message::Request(request))) => {
                let id = Id::as_u64(&request.id);
                MessageKind::Request(id.expect("the gateway numbers its requests"))
            }
            Ok(Incoming::Single(Message::Response(_))) => MessageKind::Answer,
            _ => MessageKind::Notification,
        }
    }
}

#[cfg(test)]
mod tests;
