//! Event streams of the scripted server: what it says, as the body of an answer.

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

pub(super) struct Events {
    /// Said before the rest.
    pub(super) first: Option<Output>,
    /// Only what they say about the form of events counts here.
    pub(super) form: SseOptions,
    connection: Connection,
    /// `None` once dropped.
    outputs: Option<Outputs>,
    ends: Ends,
    state: State,
    at_end: Option<AtEnd>,
}

/// Gets what is left to say.
type AtEnd = Box<dyn FnOnce(Outputs, Ended) + Send>;

/// When a stream has said all it has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    AfterAnswer,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Over,
    /// As the script says. There is no end of the body to be seen.
    Broken,
}

/// Who has ended a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    ByServer,
    ByClient,
}

impl Events {
    pub(super) fn new(connection: Connection, outputs: Outputs, ends: Ends) -> Events {
        Events {
            first: None,
            form: SseOptions::default(),
            connection,
            outputs: Some(outputs),
            ends,
            state: State::Open,
            at_end: None,
        }
    }

    /// Called when the stream is no more.
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

    /// What an output is on the wire, if it is anything there.
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

impl hyper::body::Body for Events {
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
            // What was said before has to be written first: hyper does that
            // while it waits for us, where an error would throw it away.
            State::Broken => Poll::Pending,
            _ => Poll::Ready(None),
        }
    }
}

impl Drop for Events {
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

/// One event, in the form that is asked for.
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

/// The same JSON with a line after every comma that is not in a string. By
/// hand, because a library would write the numbers its own way.
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
