//! HTTP+SSE: one connection for the stream, and one for posts.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Uri};

use super::super::events::Events;
use super::{Sender, connect_http, request};
use crate::Fault;

pub(in crate::load) struct Sse {
    events: Events,
    /// Keeps the stream's connection open.
    _stream: Sender,
    sender: Sender,
    url: Uri,
    /// The URL to post to.
    endpoint: String,
}

impl Sse {
    pub(super) async fn open(url: &Uri) -> Result<Sse, Fault> {
        let mut stream = connect_http(url).await?;
        let mut opening = request(url, Method::GET, url.path(), String::new())?;
        let accept = HeaderValue::from_static("text/event-stream");
        opening.headers_mut().insert(ACCEPT, accept);
        let answer = stream.send_request(opening).await?;
        if !answer.status().is_success() {
            return Err(format!("HTTP {} instead of a stream", answer.status()).into());
        }
        let mut events = Events::new(answer.into_body());
        let first = events.next().await?.ok_or("the stream ended at once")?;
        if first.kind != b"endpoint" {
            return Err("the stream does not begin with an endpoint event".into());
        }
        Ok(Sse {
            events,
            _stream: stream,
            sender: connect_http(url).await?,
            url: url.clone(),
            endpoint: String::from_utf8(first.data)?,
        })
    }

    pub(super) async fn send(&mut self, message: String) -> Result<(), Fault> {
        let mut request = request(&self.url, Method::POST, &self.endpoint, message)?;
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, json);
        self.sender.ready().await?;
        let answer = self.sender.send_request(request).await?;
        let status = answer.status();
        answer.into_body().collect().await?;
        match status.is_success() {
            true => Ok(()),
            false => Err(format!("HTTP {status} to a message").into()),
        }
    }

    pub(super) async fn receive(&mut self) -> Result<Bytes, Fault> {
        self.events.next_message().await
    }
}
