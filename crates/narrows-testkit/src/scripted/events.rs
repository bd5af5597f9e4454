//! Event streams of the scripted server, as HTTP bodies.

use std::borrow::Cow;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Frame;

use super::connection::Connection;
use super::reply::{Body, response};
use super::server::{Output, Outputs};
use super::{LineEnd, SseOptions};

pub(super) struct EventBody {
    /// Sent before all other output.
    pub(super) first: Option<Output>,
    /// The formatting of events; other options are ignored.
    pub(super) form: SseOptions,
    connection: Connection,
    /// `None` once dropped.
    outputs: Option<Outputs>,
    ends: Ends,
    state: State,
    at_end: Option<AtEnd>,
}

/// Receives the remaining output.
type AtEnd = Box<dyn FnOnce(Outputs, Ended) + Send>;

/// The condition that ends a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    AfterAnswer,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Over,
    /// Broken by the script. The end of the body is never sent.
    Broken,
}

/// The party that ended a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    ByServer,
    ByClient,
}

impl EventBody {
    pub(super) fn new(connection: Connection, outputs: Outputs, ends: Ends) -> EventBody {
        EventBody {
            first: None,
            form: SseOptions::default(),
            connection,
            outputs: Some(outputs),
            ends,
            state: State::Open,
            at_end: None,
        }
    }

    /// Sets a callback for the end of the stream.
    pub(super) fn on_end(&mut self, call: impl FnOnce(Outputs, Ended) + Send + 'static) {
        self.at_end = Some(Box::new(call));
    }

    pub(super) fn into_response(self) -> Response<Body> {
        response(StatusCode::OK, "text/event-stream", self.boxed_unsync())
    }

    fn poll_output(&mut self, context: &mut Context<'_>) -> Poll<Option<Output>> {
        match (self.first.take(), &mut self.outputs) {
            (Some(first), _) => Poll::Ready(Some(first)),
            (None, Some(outputs)) => outputs.poll_recv(context),
            (None, None) => Poll::Ready(None),
        }
    }

    /// Returns the wire form of an output, if it has one.
    fn write(&mut self, output: Output) -> Option<Vec<u8>> {
        match output {
            Output::Message(text) => Some(message(&self.form, &text)),
            Output::Answer(text) => {
                if self.ends == Ends::AfterAnswer {
                    self.state = State::Over;
                }
                Some(message(&self.form, &text))
            }
            Output::Bytes(bytes) => Some(bytes),
            Output::HangUp | Output::Status { .. } => {
                self.state = State::Broken;
                self.connection.break_off();
                None
            }
            Output::Binary(_) | Output::Close { .. } => None,
        }
    }
}

impl hyper::body::Body for EventBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        while self.state == State::Open {
            let Some(output) = std::task::ready!(self.poll_output(context)) else {
                self.state = State::Over;
                break;
            };
            if let Some(bytes) = self.write(output) {
                return Poll::Ready(Some(Ok(Frame::data(bytes.into()))));
            }
        }
        match self.state {
            // Earlier output must be written first: hyper writes it while this body is pending, but
            // an error would discard it.
            State::Broken => Poll::Pending,
            _ => Poll::Ready(None),
        }
    }
}

impl Drop for EventBody {
    fn drop(&mut self) {
        let ended = match self.state {
            State::Open => Ended::ByClient,
            State::Over | State::Broken => Ended::ByServer,
        };
        if let (Some(call), Some(outputs)) = (self.at_end.take(), self.outputs.take()) {
            call(outputs, ended);
        }
    }
}

/// Formats an event as the options require.
pub(super) fn event(form: &SseOptions, name: &str, data: &str) -> Vec<u8> {
    let end = match form.line_end {
        LineEnd::Lf => "\n",
        LineEnd::Cr => "\r",
        LineEnd::CrLf => "\r\n",
    };
    let mut text = String::with_capacity(data.len() + 64);
    let mut line = |parts: [&str; 2]| text.extend([parts[0], parts[1], end]);
    if form.comments {
        line([": before", ""]);
        line(["", ""]);
    }
    line(["event: ", name]);
    if form.comments {
        line([":inside", ""]);
    }
    for part in data.split('\n') {
        line(["data: ", part]);
    }
    line(["", ""]);
    text.into()
}

fn message(form: &SseOptions, text: &str) -> Vec<u8> {
    let data = if form.split_data {
        Cow::Owned(split(text))
    } else {
        Cow::Borrowed(text)
    };
    event(form, "message", &data)
}

/// Breaks JSON into lines after every comma outside strings. Written by hand, because a library
/// would reformat the numbers.
fn split(json: &str) -> String {
    let mut lines = String::with_capacity(json.len() + 64);
    let (mut in_string, mut escaped) = (false, false);
    for character in json.chars() {
        lines.push(character);
        match character {
            '"' if !escaped => in_string = !in_string,
            ',' if !in_string => lines.push('\n'),
            _ => {}
        }
        escaped = character == '\\' && !escaped;
    }
    lines
}
