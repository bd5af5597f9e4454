//! HTTP+SSE, the transport of MCP 2024-11-05: a GET opens a stream whose first event names the URL
//! for the client's messages. All messages to the client go over that stream.
//!
//! Such a client is a duplex channel like stdio: posted messages go to the loop of `duplex`, and
//! its output goes to the stream. When the stream breaks, the client counts as disconnected.

use std::collections::HashMap;
use std::sync::Arc;

use http::{Response, StatusCode};
use hyper::body::Incoming as RequestBody;
use narrows_gateway::Principal;
use narrows_upstream::memory::ClientMemory;
use narrows_upstream::offload;
use narrows_wire::decode;
use narrows_wire::token::random_id;
use parking_lot::RwLock;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::body::{self, Body};
use super::channel::Channel;
use super::head::Head;
use super::routes::{MESSAGES, Target};
use super::{Edge, answer};
use crate::duplex::{Duplex, DuplexClient, Input, Source};
use crate::error::Refused;

#[cfg(test)]
mod tests;

/// The maximum number of posted messages that wait or are being read.
const INBOX: usize = 8;

const SESSION: &str = "session_id";

/// The open streams, by the id that their clients post with.
#[derive(Default)]
pub(super) struct Inboxes(RwLock<HashMap<Box<str>, Inbox>>);

struct Inbox {
    /// The client that opened the stream. For everyone else the stream does not exist.
    owner: Principal,
    posted: mpsc::Sender<Input>,
    memory: ClientMemory,
}

/// The stream that a message belongs to.
pub(super) struct FoundStream {
    posted: mpsc::Sender<Input>,
    memory: ClientMemory,
}

impl Inboxes {
    fn insert(&self, id: Box<str>, inbox: Inbox) {
        let mut inboxes = self.0.write();
        inboxes.insert(id, inbox);
    }

    fn remove(&self, id: &str) {
        let mut inboxes = self.0.write();
        inboxes.remove(id);
    }

    fn find(&self, id: &str, principal: &Principal) -> Option<FoundStream> {
        let inboxes = self.0.read();
        let inbox = inboxes.get(id).filter(|inbox| inbox.owner == *principal)?;
        Some(FoundStream {
            posted: inbox.posted.clone(),
            memory: inbox.memory.clone(),
        })
    }
}

/// Answers a GET: opens the stream of a new client.
pub(super) fn open(
    edge: &Arc<Edge>,
    target: Target<'_>,
    principal: Principal,
    memory: ClientMemory,
    head: &Head<'_>,
) -> Result<Response<Body>, Refused> {
    if !head.accept.events {
        return Err(Refused::NotAcceptable);
    }
    if !edge.gateway.has_entrypoint(target.entrypoint()) {
        return Err(Refused::UnknownEndpoint);
    }
    let channel = start(edge, target, principal, memory);
    Ok(answer::events(Body::Channel(Box::new(channel))))
}

fn start(
    edge: &Arc<Edge>,
    target: Target<'_>,
    principal: Principal,
    memory: ClientMemory,
) -> Channel {
    let id = random_id();
    let (sender, posted) = mpsc::channel(INBOX);
    let inbox = Inbox {
        owner: principal.clone(),
        posted: sender,
        memory: memory.clone(),
    };
    let settings = edge.duplex();
    let (outgoing, written) = mpsc::channel(settings.queue);
    let responses = memory.responses.clone();
    let post_to = format!("{MESSAGES}?{SESSION}={id}");
    let channel = Channel::new(post_to, written, responses, edge.settings.keep_alive);
    let entry = InboxGuard::new(edge, &id, inbox);
    let (edge, target) = (edge.clone(), target.into_owned());
    edge.tasks.clone().spawn(async move {
        let (gateway, stop) = (edge.gateway.clone(), edge.stop.clone());
        let duplex = Duplex::new(
            gateway,
            target.entrypoint(),
            DuplexClient::Remote(principal),
            memory,
            settings,
            outgoing,
            stop,
        );
        let end = duplex.run(Posted(posted)).await;
        drop(entry);
        tracing::debug!(?end, "an SSE client has disconnected");
    });
    channel
}

/// Registers an inbox for as long as it is read.
struct InboxGuard {
    edge: Arc<Edge>,
    id: Box<str>,
}

impl InboxGuard {
    fn new(edge: &Arc<Edge>, id: &str, inbox: Inbox) -> InboxGuard {
        edge.inboxes.insert(id.into(), inbox);
        InboxGuard {
            edge: edge.clone(),
            id: id.into(),
        }
    }
}

impl Drop for InboxGuard {
    fn drop(&mut self) {
        self.edge.inboxes.remove(&self.id);
    }
}

/// The posted messages, one after the other.
struct Posted(mpsc::Receiver<Input>);

impl Source for Posted {
    async fn next(&mut self) -> Option<Input> {
        self.0.recv().await
    }
}

/// Checks everything about a POST that does not need the body, and finds its stream by the query.
pub(super) fn find(
    edge: &Edge,
    principal: &Principal,
    query: Option<&str>,
    head: &Head<'_>,
) -> Result<FoundStream, Refused> {
    match session_in(query.unwrap_or_default()) {
        _ if !head.is_json() => Err(Refused::ContentType),
        Some(id) => edge
            .inboxes
            .find(id, principal)
            .ok_or(Refused::UnknownStream),
        None => Err(Refused::NoStream),
    }
}

fn session_in(query: &str) -> Option<&str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(name, value)| (name == SESSION).then_some(value))
}

/// Reads the message of a POST. Its answer, if any, goes over the stream.
pub(super) async fn post(edge: &Edge, found: FoundStream, body: RequestBody) -> Response<Body> {
    match receive(edge, found, body).await {
        Ok(()) => answer::empty(StatusCode::ACCEPTED),
        Err(refused) => {
            tracing::debug!(?refused, "refused");
            answer::refused(None, &refused)
        }
    }
}

async fn receive(edge: &Edge, found: FoundStream, body: RequestBody) -> Result<(), Refused> {
    let FoundStream {
        posted: inbox,
        memory,
    } = found;
    // Reserved before the body is read, which may be large: the loop reads on only as fast as its
    // client does, and until then no more memory is needed.
    let place = match timeout(edge.settings.inbox_timeout, inbox.reserve()).await {
        Ok(Ok(place)) => place,
        Ok(Err(_)) => return Err(Refused::UnknownStream),
        Err(_) => return Err(Refused::Busy),
    };
    // The limits of the client are applied later, in the order of the stream, because this message
    // may be the answer that a call is waiting for.
    let frame = body::read(body, edge.body_limits(&memory), || Ok(())).await?;
    let bytes = frame.len();
    let decoded = offload::run(bytes, move || decode(frame)).await;
    let message = decoded.map_err(Refused::Message)?;
    place.send(Input::Message { message, bytes });
    // The place can be reserved although the receiver is already gone.
    match inbox.is_closed() {
        true => Err(Refused::UnknownStream),
        false => Ok(()),
    }
}
