//! Answers that are event streams, read event by event.

use serde_json::Value;
use tokio::io::BufReader;
use tokio::net::TcpStream;

use super::event::{Decoder, Event};
use super::limited;
use super::response::{Length, Response, read_body, read_piece};

/// An answer that is an event stream, read event by event.
#[derive(Debug)]
pub struct Events {
    /// Without a body.
    pub head: Response,
    stream: BufReader<TcpStream>,
    length: Length,
    decoder: Decoder,
}

impl Events {
    pub(super) fn new(head: Response, stream: BufReader<TcpStream>, length: Length) -> Events {
        Events {
            head,
            stream,
            length,
            decoder: Decoder::default(),
        }
    }

    /// The next event; `None` at the end. Comments are passed over.
    pub async fn next(&mut self) -> Option<Event> {
        // The limit is for all of it: signs of life come for ever.
        limited("an event", self.read()).await
    }

    /// Whether the end of the stream was marked as such. A connection that
    /// breaks off marks none.
    pub fn is_complete(&self) -> bool {
        matches!(self.length, Length::Bytes(0))
    }

    /// The next event that carries a message.
    pub async fn message(&mut self) -> Value {
        loop {
            let event = self.next().await.expect("the stream goes on");
            if !event.data.is_empty() {
                return event.json();
            }
        }
    }

    /// The next event, however long it takes to come.
    pub(super) async fn read(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.decoder.next() {
                return Some(event);
            }
            let more = read_piece(&mut self.stream, &mut self.length).await?;
            self.decoder.push(&more);
        }
    }

    /// The next message, however long it takes to come; other events are passed over.
    pub(super) async fn read_message(&mut self) -> Option<String> {
        loop {
            if let Some(message) = self.read().await?.into_message() {
                return Some(message);
            }
        }
    }

    /// The answer as a whole, where it turned out to be no event stream.
    pub(super) async fn into_response(mut self) -> Response {
        self.head.body = read_body(&mut self.stream, self.length).await;
        self.head
    }
}
