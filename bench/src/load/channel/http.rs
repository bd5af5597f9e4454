//! Streamable HTTP, on one connection.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Request, Uri};

use super::super::events::Events;
use super::{Sender, connect_http, request};
use crate::Fault;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");

pub(in crate::load) struct Http {
    sender: Sender,
    url: Uri,
    session: Option<HeaderValue>,
    revision: Option<HeaderValue>,
    pending: Pending,
}

/// The response to the last message, not yet received by the caller.
enum Pending {
    Nothing,
    Message(Bytes),
    Events(Events),
}

impl Http {
    pub(super) async fn open(url: &Uri) -> Result<Http, Fault> {
        Ok(Http {
            sender: connect_http(url).await?,
            url: url.clone(),
            session: None,
            revision: None,
            pending: Pending::Nothing,
        })
    }

    pub(super) fn agree(&mut self, revision: &str) -> Result<(), Fault> {
        self.revision = Some(HeaderValue::from_str(revision)?);
        Ok(())
    }

    pub(super) async fn send(&mut self, message: String) -> Result<(), Fault> {
        // A connection is free for the next request only after the last response has ended.
        if let Pending::Events(events) = &mut self.pending {
            while events.next().await?.is_some() {}
        }
        let mut request = self.request(Method::POST, message)?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, accept);

        self.sender.ready().await?;
        let answer = self.sender.send_request(request).await?;
        let (head, body) = answer.into_parts();
        if !head.status.is_success() {
            return Err(format!("HTTP {}: {}", head.status, shown(body).await).into());
        }
        if let Some(session) = head.headers.get(SESSION) {
            self.session = Some(session.clone());
        }
        let content = head.headers.get(CONTENT_TYPE);
        let events = content.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        self.pending = match events {
            true => Pending::Events(Events::new(body)),
            false => Pending::Message(body.collect().await?.to_bytes()),
        };
        Ok(())
    }

    pub(super) async fn receive(&mut self) -> Result<Bytes, Fault> {
        match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::Nothing => Err("no request is in flight".into()),
            Pending::Message(message) => Ok(message),
            Pending::Events(mut events) => {
                let message = events.next_message().await?;
                self.pending = Pending::Events(events);
                Ok(message)
            }
        }
    }

    pub(super) async fn close(mut self) -> Result<(), Fault> {
        if self.session.is_some() {
            let request = self.request(Method::DELETE, String::new())?;
            self.sender.ready().await?;
            let answer = self.sender.send_request(request).await?;
            // A server may refuse to end its session, which is not a failure.
            answer.into_body().collect().await?;
        }
        Ok(())
    }

    fn request(&self, method: Method, body: String) -> Result<Request<Full<Bytes>>, Fault> {
        let mut request = request(&self.url, method, self.url.path(), body)?;
        let headers = request.headers_mut();
        if let Some(session) = &self.session {
            headers.insert(SESSION, session.clone());
        }
        if let Some(revision) = &self.revision {
            headers.insert(REVISION, revision.clone());
        }
        Ok(request)
    }
}

async fn shown(body: Incoming) -> String {
    let text = body.collect().await.map(|body| body.to_bytes());
    let text = text.unwrap_or_default();
    String::from_utf8_lossy(&text[..text.len().min(200)]).into_owned()
}
