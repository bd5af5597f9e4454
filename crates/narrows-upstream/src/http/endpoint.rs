//! The address of a server and the current session. All requests of a link pass through this
//! module, so it also detects when the server is unreachable.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use ::http::header::{ACCEPT, CONTENT_TYPE};
use ::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use arc_swap::ArcSwap;
use bytes::Bytes;
use narrows_wire::Revision;
use tokio_util::sync::CancellationToken;

use super::HttpProtocol;
use crate::failure::Failure;
use crate::health::Liveness;
use crate::settings::RemoteSettings;
use crate::web::{Address, HttpClient, HttpError, HttpResponse, RequestPhase, SESSION_ID};

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The serial number of requests outside any session.
const NO_SESSION: u64 = 0;

/// The number of failed connection attempts in a row after which the link ends.
const MAX_UNREACHABLE: u32 = 3;

pub(super) struct Endpoint {
    pub(super) address: Address,
    pub(super) protocol: HttpProtocol,
    pub(super) max_message_bytes: usize,
    session: ArcSwap<Session>,
    /// The number of failed connection attempts since the last successful one.
    unreachable: AtomicU32,
    pub(super) liveness: Liveness,
    /// Cancelled when pending calls must end as well.
    given_up: CancellationToken,
    end: OnceLock<Arc<Failure>>,
    ended: CancellationToken,
}

/// A session that the server opened by its response to `initialize`. Its headers are built once.
pub(super) struct Session {
    /// The number of the session on this link.
    pub(super) serial: u64,
    pub(super) id: Option<HeaderValue>,
    post: HeaderMap,
    get: HeaderMap,
}

impl Endpoint {
    pub(super) fn new(
        client: &HttpClient,
        settings: &RemoteSettings,
        protocol: HttpProtocol,
        max_message_bytes: usize,
    ) -> Result<Self, Failure> {
        let below = match protocol {
            HttpProtocol::Streamable | HttpProtocol::Modern => "",
            HttpProtocol::Rpc => "/rpc",
        };
        let address = Address::new(client, settings, below)?;
        let without_session = Session::initial(&address.headers, protocol);
        Ok(Endpoint {
            address,
            protocol,
            max_message_bytes,
            session: ArcSwap::from_pointee(without_session),
            unreachable: AtomicU32::new(0),
            liveness: Liveness::new(),
            given_up: CancellationToken::new(),
            end: OnceLock::new(),
            ended: CancellationToken::new(),
        })
    }

    /// Returns the address without secrets.
    pub(super) fn shown(&self) -> &str {
        &self.address.shown
    }

    pub(super) fn session(&self) -> Arc<Session> {
        self.session.load_full()
    }

    /// Sets the session for all requests from now on.
    pub(super) fn enter(&self, revision: Revision, id: Option<HeaderValue>) {
        let serial = self.session.load().serial + 1;
        let given = Some((revision, id));
        let session = Session::new(&self.address.headers, self.protocol, serial, given);
        self.session.store(Arc::new(session));
    }

    /// Returns the headers for a request outside any session.
    pub(super) fn without_session(&self) -> Session {
        Session::initial(&self.address.headers, self.protocol)
    }

    /// Sends a message. A returned response always has a success status.
    pub(super) fn post(
        &self,
        session: &Session,
        message: Bytes,
        sent: &mut bool,
    ) -> impl Future<Output = Result<HttpResponse, HttpError>> {
        self.post_with(session, None, message, sent)
    }

    /// Sends a message with further headers. A returned response always has a success status.
    pub(super) async fn post_with(
        &self,
        session: &Session,
        more: Option<&HeaderMap>,
        message: Bytes,
        sent: &mut bool,
    ) -> Result<HttpResponse, HttpError> {
        let headers = match more {
            Some(more) => {
                let mut headers = session.post.clone();
                headers.extend(more.clone());
                Cow::Owned(headers)
            }
            None => Cow::Borrowed(&session.post),
        };
        let sending = self.address.send(&Method::POST, &headers, message, sent);
        let answer = self.note(sending.await)?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let moment = match (&session.id, session.serial) {
            (Some(_), _) => RequestPhase::InSession,
            (None, NO_SESSION) => RequestPhase::Opening,
            (None, _) => RequestPhase::Stateless,
        };
        let refusal = answer.refusal(&self.address.pool, &self.address.secrets, moment);
        Err(Box::pin(refusal).await)
    }

    /// Opens a stream of messages that starts after `last_event_id`. Responses are returned with
    /// any status.
    pub(super) async fn get(
        &self,
        session: &Session,
        last_event_id: Option<&str>,
    ) -> Result<HttpResponse, HttpError> {
        let mut headers = session.get.clone();
        if let Some(value) = last_event_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(LAST_EVENT_ID, value);
        }
        let mut sent = false;
        let sending = self
            .address
            .send(&Method::GET, &headers, Bytes::new(), &mut sent);
        self.note(sending.await)
    }

    /// Deletes the session on the server, if there is one.
    pub(super) async fn delete(&self) -> Result<(), HttpError> {
        let session = self.session();
        if session.id.is_some() {
            let mut sent = false;
            let sending = self
                .address
                .send(&Method::DELETE, &session.get, Bytes::new(), &mut sent);
            let answer = self.note(sending.await)?;
            answer.discard(&self.address.pool).await;
        }
        Ok(())
    }

    pub(super) fn end(&self, failure: Arc<Failure>) {
        let _ = self.end.set(failure);
        self.ended.cancel();
    }

    /// Ends the link and all calls that wait for a response.
    pub(super) fn give_up(&self, failure: Arc<Failure>) {
        self.end(failure);
        self.given_up.cancel();
    }

    /// Waits until pending calls must end, and returns the reason.
    pub(super) async fn given_up(&self) -> Arc<Failure> {
        self.given_up.cancelled().await;
        self.ended().await
    }

    /// Returns the reason why the link has ended, or `None` if it is open.
    pub(super) fn end_reason(&self) -> Option<&Arc<Failure>> {
        self.end.get()
    }

    pub(super) async fn ended(&self) -> Arc<Failure> {
        self.ended.cancelled().await;
        self.end
            .get()
            .expect("set before the token is cancelled")
            .clone()
    }

    /// Updates the health of the server from the outcome of a request.
    fn note(&self, answer: Result<HttpResponse, HttpError>) -> Result<HttpResponse, HttpError> {
        let answer = answer.and_then(HttpResponse::on_site);
        if let Ok(answer) = &answer
            && self.shows_life(answer.status())
        {
            self.liveness.record_activity();
        }
        if let Err(HttpError::Unreachable { failure, .. }) = &answer {
            self.missed(failure);
        } else if self.unreachable.load(Ordering::Relaxed) != 0 {
            self.unreachable.store(0, Ordering::Relaxed);
        }
        answer
    }

    /// Returns true if the head of a response proves that the server is alive. With plain JSON-RPC,
    /// any response does. With MCP, a success status only announces a message, and a proxy returns
    /// server errors on behalf of a server that is down.
    fn shows_life(&self, status: StatusCode) -> bool {
        match self.protocol {
            HttpProtocol::Rpc => true,
            HttpProtocol::Streamable | HttpProtocol::Modern => {
                !status.is_success() && !status.is_server_error()
            }
        }
    }

    /// Counts a failed connection attempt.
    pub(super) fn missed(&self, failure: &Arc<Failure>) {
        if self.unreachable.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_UNREACHABLE {
            self.end(failure.clone());
        }
    }
}

impl Session {
    /// Creates the state before the server has been asked for a session.
    fn initial(common: &HeaderMap, protocol: HttpProtocol) -> Session {
        let given = (protocol == HttpProtocol::Modern).then_some((Revision::V2026_07_28, None));
        Session::new(common, protocol, NO_SESSION, given)
    }

    fn new(
        common: &HeaderMap,
        protocol: HttpProtocol,
        serial: u64,
        given: Option<(Revision, Option<HeaderValue>)>,
    ) -> Session {
        let mut get = common.clone();
        let mut id = None;
        let mut accept = "application/json";
        if protocol != HttpProtocol::Rpc {
            accept = "application/json, text/event-stream";
            if let Some((revision, given)) = given {
                let revision = HeaderValue::from_static(revision.as_str());
                get.insert(PROTOCOL_VERSION, revision);
                if let Some(given) = &given {
                    get.insert(SESSION_ID, given.clone());
                }
                id = given;
            }
        }
        let mut post = get.clone();
        get.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        post.insert(ACCEPT, HeaderValue::from_static(accept));
        post.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Session {
            serial,
            id,
            post,
            get,
        }
    }
}
