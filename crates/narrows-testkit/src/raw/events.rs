//! Responses that are event streams.

use serde_json::Value;
use tokio::io::BufReader;
use tokio::net::TcpStream;

use super::event::{Decoder, Event};
use super::limited;
use super::response::{Length, Response, read_body, read_piece};

/// A response that is an event stream, read event by event.
#[derive(Debug)]
pub struct Events {
    /// The head of the response, without a body.
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

    /// Returns the next event; `None` at the end. Comments are skipped.
    pub async fn next(&mut self) -> Option<Event> {
        // One limit covers the whole wait, because comments may arrive forever.
        limited("an event", self.read()).await
    }

    /// Returns true if the stream ended with its end marker, and false if the connection broke.
    pub fn is_complete(&self) -> bool {
        matches!(self.length, Length::Bytes(0))
    }

    /// Returns the message of the next event that carries one.
    pub async fn message(&mut self) -> Value {
        loop {
            let event = self.next().await.expect("the stream goes on");
            if !event.data.is_empty() {
                return event.json();
            }
        }
    }

    /// Returns the next event, without a time limit.
    pub(super) async fn read(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.decoder.next() {
                return Some(event);
            }
            let more = read_piece(&mut self.stream, &mut self.length).await?;
            self.decoder.push(&more);
        }
    }

    /// Returns the next message, without a time limit. Other events are skipped.
    pub(super) async fn read_message(&mut self) -> Option<String> {
        loop {
            if let Some(message) = self.read().await?.into_message() {
                return Some(message);
            }
        }
    }

    /// Reads the whole response, for one that is not an event stream.
    pub(super) async fn into_response(mut self) -> Response {
        self.head.body = read_body(&mut self.stream, self.length).await;
        self.head
    }
}
