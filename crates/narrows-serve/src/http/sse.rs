//! HTTP+SSE, the transport of MCP 2024-11-05: a GET opens a stream whose first
//! event says where messages are to be posted; everything that we say goes
//! over that stream.
//!
//! Such a client is a duplex channel like stdio: what is posted goes to the
//! loop of `duplex`, what that says goes to the stream. When the stream breaks
//! off, the client is gone.

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
use crate::duplex::{Duplex, Input, Source, Visitor};
use crate::error::Refused;

#[cfg(test)]
mod tests;

/// Posted messages that wait for their turn, or are still being read.
const INBOX: usize = 8;

const SESSION: &str = "session_id";

/// The streams that are open, by what their clients post with.
#[derive(Default)]
pub(super) struct Inboxes(RwLock<HashMap<Box<str>, Inbox>>);

struct Inbox {
    /// Who opened the stream. To anybody else it is as if it were not there.
    owner: Principal,
    posted: mpsc::Sender<Input>,
    memory: ClientMemory,
}

/// The stream that a message belongs to.
pub(super) struct Found {
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

    fn find(&self, id: &str, principal: &Principal) -> Option<Found> {
        let inboxes = self.0.read();
        let inbox = inboxes.get(id).filter(|inbox| inbox.owner == *principal)?;
        Some(Found {
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
    if !edge.gateway.has_door(target.door()) {
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
    let entry = Entry::new(edge, &id, inbox);
    let (edge, target) = (edge.clone(), target.into_owned());
    edge.tasks.clone().spawn(async move {
        let (gateway, stop) = (edge.gateway.clone(), edge.stop.clone());
        let duplex = Duplex::new(
            gateway,
            target.door(),
            Visitor::Guest(principal),
            memory,
            settings,
            outgoing,
            stop,
        );
        let end = duplex.run(Posted(posted)).await;
        drop(entry);
        tracing::debug!(?end, "an SSE client has left");
    });
    channel
}

/// Keeps an inbox among the others as long as somebody reads it.
struct Entry {
    edge: Arc<Edge>,
    id: Box<str>,
}

impl Entry {
    fn new(edge: &Arc<Edge>, id: &str, inbox: Inbox) -> Entry {
        edge.inboxes.insert(id.into(), inbox);
        Entry {
            edge: edge.clone(),
            id: id.into(),
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.edge.inboxes.remove(&self.id);
    }
}

/// What is posted, one message after the other.
struct Posted(mpsc::Receiver<Input>);

impl Source for Posted {
    async fn next(&mut self) -> Option<Input> {
        self.0.recv().await
    }
}

/// Applies the rules for a POST that need no body: finds the stream that it
/// belongs to, by the query.
pub(super) fn find(
    edge: &Edge,
    principal: &Principal,
    query: Option<&str>,
    head: &Head<'_>,
) -> Result<Found, Refused> {
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

/// Takes in the message of a POST. Its answer, if it has one, goes over the stream.
pub(super) async fn post(edge: &Edge, found: Found, body: RequestBody) -> Response<Body> {
    match take_in(edge, found, body).await {
        Ok(()) => answer::empty(StatusCode::ACCEPTED),
        Err(refused) => {
            tracing::debug!(?refused, "refused");
            answer::refused(None, &refused)
        }
    }
}

async fn take_in(edge: &Edge, found: Found, body: RequestBody) -> Result<(), Refused> {
    let Found {
        posted: inbox,
        memory,
    } = found;
    // Before the body, which may be large: the loop reads on as long as its
    // client does, and until then nothing more has to be held.
    let place = match timeout(edge.settings.inbox_timeout, inbox.reserve()).await {
        Ok(Ok(place)) => place,
        Ok(Err(_)) => return Err(Refused::UnknownStream),
        Err(_) => return Err(Refused::Busy),
    };
    // The limits of clients apply in the order of the stream: what comes may
    // be the answer that a call waits for.
    let frame = body::read(body, edge.body_limits(&memory), || Ok(())).await?;
    let bytes = frame.len();
    let decoded = offload::run(bytes, move || decode(frame)).await;
    let message = decoded.map_err(Refused::Message)?;
    place.send(Input::Message { message, bytes });
    // A place can be taken although nobody will come for what is put there.
    match inbox.is_closed() {
        true => Err(Refused::UnknownStream),
        false => Ok(()),
    }
}
