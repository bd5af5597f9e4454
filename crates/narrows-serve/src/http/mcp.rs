//! Streamable HTTP at one MCP endpoint: POST, GET and DELETE.
//!
//! [`post()`] handles the message of a POST. This module holds the rules common to all methods, and
//! the two short methods.

use std::sync::Arc;

use http::header::HeaderMap;
use http::{Response, StatusCode};
use narrows_gateway::Principal;
use narrows_wire::{Revision, token};

use super::Edge;
use super::answer;
use super::body::Body;
use super::events::Events;
use super::head::{Accept, Head};
use super::routes::Target;
use super::sessions::HttpSession;
use crate::error::Refused;

mod modern;
mod post;
mod refusal;

use self::modern::ModernHead;
pub(super) use self::post::post;
pub(super) use self::refusal::PostRefusal;

/// The relevant headers of a POST.
pub(super) struct PostHead {
    accept: Accept,
    found: SessionLookup,
    principal: Principal,
    /// The headers of a request that does not have the form of a legacy revision.
    modern: Option<Box<ModernHead>>,
}

impl PostHead {
    /// Checks everything that does not need the body.
    pub(super) fn read(
        edge: &Edge,
        target: &Target<'_>,
        principal: Principal,
        head: &Head<'_>,
        headers: &HeaderMap,
    ) -> Result<PostHead, Refused> {
        if !head.is_json() {
            return Err(Refused::ContentType);
        }
        if !head.accept.any() {
            return Err(Refused::NotAcceptable);
        }
        let modern = match version(head) {
            Version::None | Version::Legacy => None,
            Version::Modern | Version::Unknown => Some(Box::new(ModernHead::read(headers))),
        };
        Ok(PostHead {
            accept: head.accept,
            // The session is looked up now, while the headers are available. A failure is reported
            // later, under the id of the request.
            found: match modern {
                None => SessionLookup::read(edge, target, &principal, head),
                // Modern clients have no sessions.
                Some(_) => SessionLookup::Nothing(Refused::NoSession),
            },
            principal,
            modern,
        })
    }
}

/// The session named by the `mcp-session-id` header, or the error if there is none.
enum SessionLookup {
    Session(Arc<HttpSession>),
    Nothing(Refused),
}

impl SessionLookup {
    fn read(
        edge: &Edge,
        target: &Target<'_>,
        principal: &Principal,
        head: &Head<'_>,
    ) -> SessionLookup {
        let missing = match head.session.map(|value| value.to_str()) {
            Some(Ok(id)) => match edge.sessions.find(id, target, principal) {
                Some(session) => return SessionLookup::Session(session),
                None => Refused::UnknownSession,
            },
            Some(Err(_)) => Refused::UnknownSession,
            None => Refused::NoSession,
        };
        // If the endpoint does not exist, that is the error to report.
        SessionLookup::Nothing(match edge.gateway.has_entrypoint(target.entrypoint()) {
            true => missing,
            false => Refused::UnknownEndpoint,
        })
    }

    /// Returns true if the client still has to answer a request from a server.
    fn owes_an_answer(&self) -> bool {
        match self {
            SessionLookup::Session(session) => session.session.owes_an_answer(),
            SessionLookup::Nothing(_) => false,
        }
    }

    fn session(self) -> Result<Arc<HttpSession>, Refused> {
        match self {
            SessionLookup::Session(session) => Ok(session),
            SessionLookup::Nothing(why) => Err(why),
        }
    }
}

/// The value of the `mcp-protocol-version` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    None,
    Legacy,
    Modern,
    Unknown,
}

fn version(head: &Head<'_>) -> Version {
    let Some(value) = head.version else {
        return Version::None;
    };
    match value.to_str().ok().and_then(Revision::parse) {
        Some(revision) if revision.is_legacy() => Version::Legacy,
        Some(_) => Version::Modern,
        None => Version::Unknown,
    }
}

/// Refuses a GET or DELETE that does not belong to a session of a legacy revision.
fn check_version(head: &Head<'_>) -> Result<(), Refused> {
    match version(head) {
        Version::None | Version::Legacy => Ok(()),
        Version::Modern => Err(Refused::Method),
        Version::Unknown => Err(Refused::ProtocolVersion),
    }
}

/// Answers a GET: opens the session's general stream, or resumes the stream of the client's last
/// event.
pub(super) fn get(
    edge: &Edge,
    target: &Target<'_>,
    principal: &Principal,
    head: &Head<'_>,
) -> Result<Response<Body>, Refused> {
    check_version(head)?;
    if !head.accept.events {
        return Err(Refused::NotAcceptable);
    }
    let session = SessionLookup::read(edge, target, principal, head).session()?;
    let last = head.last_event_id.and_then(|value| value.to_str().ok());
    let resumed = last
        .and_then(token::parse_event_id)
        .and_then(|(stream, number)| session.resume(stream, number));
    let keep_active = Some(session.session.keep_active());
    let keep_alive = edge.settings.keep_alive;
    let events = match resumed {
        Some(reader) => Events::new(reader, keep_alive, keep_active),
        None => begin(
            &session,
            Events::new(session.listen(), keep_alive, keep_active),
        ),
    };
    Ok(answer::events(Body::Events(Box::new(events))))
}

/// Answers a DELETE: closes the session.
pub(super) fn delete(
    edge: &Edge,
    target: &Target<'_>,
    principal: &Principal,
    head: &Head<'_>,
) -> Result<Response<Body>, Refused> {
    check_version(head)?;
    let session = SessionLookup::read(edge, target, principal, head).session()?;
    session.session.close();
    edge.sessions.remove(session.session.id());
    Ok(answer::empty(StatusCode::NO_CONTENT))
}

/// Starts a new stream, as opposed to a resumed one. Clients before 2025-11-25 would try to parse
/// the empty event as a message.
fn begin(session: &HttpSession, events: Events) -> Events {
    if session.session.revision() >= Revision::V2025_11_25 {
        events.primed()
    } else {
        events
    }
}
