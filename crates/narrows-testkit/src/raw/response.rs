//! HTTP/1.1 responses: the head, and the body with any kind of length.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::TcpStream;

use super::event::Event;

#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    /// Lower-case names, in order of arrival.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// The length of a body.
#[derive(Debug, Clone, Copy)]
pub(super) enum Length {
    Bytes(usize),
    Chunks,
    ToTheEnd,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }

    /// Returns the events of a complete event stream.
    pub fn events(&self) -> Vec<Event> {
        Event::all(&self.body)
    }

    /// Returns the messages unchanged, from a JSON body or an event stream.
    pub fn messages(&self) -> Vec<String> {
        let kind = self.header("content-type").unwrap_or_default();
        if !kind.starts_with("text/event-stream") {
            return vec![self.text()];
        }
        let events = self.events().into_iter();
        events.filter_map(Event::into_message).collect()
    }

    /// Returns the last message, which is the response to a request.
    pub fn message(&self) -> Value {
        let messages = self.messages();
        let last = messages.last().map(|text| serde_json::from_str(text));
        let last = last.unwrap_or_else(|| panic!("no event: {self:?}"));
        last.unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }
}

pub(super) async fn read_head(
    stream: &mut BufReader<TcpStream>,
) -> Result<(Response, Length), String> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        match stream.read_line(&mut line).await {
            Ok(1..) => {}
            end => {
                return Err(format!(
                    "the connection ended before the answer ({end:?}); so far: {lines:?}"
                ));
            }
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let status = lines
        .first()
        .and_then(|line| line.split(' ').nth(1))
        .and_then(|status| status.parse().ok());
    let split = |line: &String| {
        let (name, value) = line.split_once(':').expect("a header has a colon");
        (name.to_ascii_lowercase(), value.trim().to_owned())
    };
    let headers = lines.iter().skip(1).map(split).collect();
    let response = Response {
        status: status.expect("a status line"),
        headers,
        body: Vec::new(),
    };
    let length = match (
        response.header("transfer-encoding"),
        response.header("content-length"),
    ) {
        (Some("chunked"), _) => Length::Chunks,
        (_, Some(length)) => Length::Bytes(length.parse().expect("a length")),
        _ if response.status == 204 || response.status == 304 => Length::Bytes(0),
        _ => Length::ToTheEnd,
    };
    Ok((response, length))
}

pub(super) async fn read_body(stream: &mut BufReader<TcpStream>, mut length: Length) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(piece) = read_piece(stream, &mut length).await {
        body.extend(piece);
    }
    body
}

/// Reads the next piece of the body; `None` at its end. A broken connection also ends the body.
pub(super) async fn read_piece(
    stream: &mut BufReader<TcpStream>,
    length: &mut Length,
) -> Option<Vec<u8>> {
    let wanted = match length {
        Length::Bytes(0) => return None,
        Length::Bytes(left) => (*left).min(64 * 1024),
        Length::ToTheEnd => 64 * 1024,
        Length::Chunks => {
            let mut line = String::new();
            stream
                .read_line(&mut line)
                .await
                .ok()
                .filter(|count| *count > 0)?;
            let size = line.trim().split(';').next().unwrap_or_default();
            let size = usize::from_str_radix(size, 16).expect("a chunk's size");
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk).await.ok()?;
            chunk.truncate(size);
            if size == 0 {
                *length = Length::Bytes(0);
                return None;
            }
            return Some(chunk);
        }
    };
    let mut piece = vec![0; wanted];
    let count = stream
        .read(&mut piece)
        .await
        .ok()
        .filter(|count| *count > 0)?;
    piece.truncate(count);
    if let Length::Bytes(left) = length {
        *left -= count;
    }
    Some(piece)
}
