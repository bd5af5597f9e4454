//! A test client that is independent of the transport.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::pin::Pin;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::LIMIT;

/// A client of one server. All waits are limited by [`LIMIT`].
#[derive(Debug)]
pub struct Client<L> {
    pub(super) line: L,
    /// Messages read while waiting for another one.
    aside: VecDeque<Value>,
    next_id: u64,
}

/// A client of any transport.
pub type Any = Client<Box<dyn Line>>;

/// A bidirectional transport for the messages of a client.
pub trait Line: Debug + Send {
    /// Sends one message unchanged.
    fn send_text<'a>(&'a mut self, text: &'a str) -> Waiting<'a, ()>;

    /// Returns the next message unchanged; `None` when the peer has closed the transport.
    fn next_text(&mut self) -> Waiting<'_, Option<String>>;

    /// Closes the transport as its specification requires. Dropping does not.
    fn close(&mut self) -> Waiting<'_, ()>;

    /// Returns further information about the peer for failure messages.
    fn circumstances(&self) -> String {
        String::new()
    }
}

pub type Waiting<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

impl<L: Line> Client<L> {
    pub(super) fn on(line: L) -> Client<L> {
        Client {
            line,
            aside: VecDeque::new(),
            next_id: 1,
        }
    }

    /// Boxes the transport, for tests that accept any.
    pub fn boxed(self) -> Any
    where
        L: 'static,
    {
        Client {
            line: Box::new(self.line),
            aside: self.aside,
            next_id: self.next_id,
        }
    }

    /// Sends one message unchanged, with the framing of the transport.
    pub async fn send_text(&mut self, text: &str) {
        let sent = timeout(LIMIT, self.line.send_text(text)).await;
        sent.unwrap_or_else(|_| self.fail("the peer did not accept the message"));
    }

    pub async fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string()).await;
    }

    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            .await;
    }

    /// Answers a request from the server.
    pub async fn answer(&mut self, question: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }))
            .await;
    }

    /// Sends a request and returns its id.
    pub async fn request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        id
    }

    /// Sends a request and returns the whole response. Other messages are kept for
    /// [`Client::next`].
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        self.answer_to(id).await
    }

    pub async fn call_tool(&mut self, name: &str, arguments: Value) -> Value {
        self.call(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
        .await
    }

    /// Sends `initialize` and `notifications/initialized`, and returns the result.
    pub async fn initialize(&mut self, revision: &str, capabilities: Value) -> Value {
        let client = json!({ "name": "raw-client", "version": "1.0.0" });
        let params = json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": client });
        let mut answer = self.call("initialize", params).await;
        assert!(
            answer["error"].is_null(),
            "initialize was refused: {answer}"
        );
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
        answer["result"].take()
    }

    /// Returns the next message, in order of arrival.
    pub async fn next(&mut self) -> Value {
        match self.aside.pop_front() {
            Some(message) => message,
            None => self.read().await,
        }
    }

    /// Returns the next message unchanged; `None` at the end. Messages set aside are skipped.
    pub async fn next_text(&mut self) -> Option<String> {
        let read = timeout(LIMIT, self.line.next_text()).await;
        read.unwrap_or_else(|_| self.fail("no message arrived"))
    }

    pub async fn answer_to(&mut self, id: u64) -> Value {
        self.find(|message| message["id"] == id && message["method"].is_null())
            .await
    }

    /// Returns the next notification or request with this method.
    pub async fn message(&mut self, method: &str) -> Value {
        self.find(|message| message["method"] == method).await
    }

    /// Returns the first message that fits, and sets the others aside.
    pub async fn find(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.aside.iter().position(&fits) {
            return self.aside.remove(place).expect("it was just found");
        }
        loop {
            let message = self.read().await;
            if fits(&message) {
                return message;
            }
            self.aside.push_back(message);
        }
    }

    /// Returns the messages set aside so far.
    pub fn aside(&self) -> impl Iterator<Item = &Value> {
        self.aside.iter()
    }

    /// Closes the transport as its specification requires. To disconnect abruptly, drop the client.
    pub async fn close(&mut self) {
        let closed = timeout(LIMIT, self.line.close()).await;
        closed.unwrap_or_else(|_| self.fail("closing did not complete"));
    }

    /// Waits until the peer has closed the transport. Further messages are set aside.
    pub async fn ended(&mut self) {
        while let Some(text) = self.next_text().await {
            self.aside.push_back(parse(&text));
        }
    }

    async fn read(&mut self) -> Value {
        match self.next_text().await {
            Some(text) => parse(&text),
            None => panic!("the messages ended{}", self.line.circumstances()),
        }
    }

    fn fail(&self, what: &str) -> ! {
        panic!("{what} within {LIMIT:?}{}", self.line.circumstances())
    }
}

impl Line for Box<dyn Line> {
    fn send_text<'a>(&'a mut self, text: &'a str) -> Waiting<'a, ()> {
        self.as_mut().send_text(text)
    }

    fn next_text(&mut self) -> Waiting<'_, Option<String>> {
        self.as_mut().next_text()
    }

    fn close(&mut self) -> Waiting<'_, ()> {
        self.as_mut().close()
    }

    fn circumstances(&self) -> String {
        self.as_ref().circumstances()
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("not JSON ({error}): {text}"))
}
