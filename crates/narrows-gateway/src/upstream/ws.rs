//! A server behind a WebSocket: one message per text frame, both ways.
//!
//! This file makes the [`Channel`]; enter at [`open`].

use std::io;
use std::time::Duration;

use ::http::header::{
    CONNECTION, HOST, PROXY_AUTHORIZATION, SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use ::http::{HeaderName, HeaderValue, Uri};
use bytes::Bytes;
use futures_util::stream::{self, SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::{Error, ProtocolError, SubProtocolError, UrlError};
use tokio_tungstenite::tungstenite::protocol::frame::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{Message, WebSocketConfig};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::channel::{Arrival, Channel};
use super::link::{Failure, FailureKind};
use super::web::{Address, HttpClient, Site, Stream, words};
use crate::settings::RemoteSettings;

/// Messages that wait to be written.
const QUEUE: usize = 256;
/// Messages that are framed before anything is written.
const BATCH: usize = 64;
/// The library would take 128 KiB for each connection, used or not.
const READ_BUFFER: usize = 16 * 1024;
/// How often a silent server is asked for a sign of life.
const PING: Duration = Duration::from_secs(30);
/// A server may be busy with itself for a while, but not for so long.
const SILENT: Duration = Duration::from_secs(90);
/// How long a server that does not read may hold up the end.
const FAREWELL: Duration = Duration::from_secs(1);

/// The name by which MCP goes among WebSocket's subprotocols.
const SUBPROTOCOL: HeaderValue = HeaderValue::from_static("mcp");

/// What is not for the configuration to change, and what a proxy was told already.
const NOT_CONFIGURED: [HeaderName; 6] = [
    CONNECTION,
    UPGRADE,
    SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION,
    SEC_WEBSOCKET_EXTENSIONS,
    PROXY_AUTHORIZATION,
];

type Socket = WebSocketStream<TokioIo<Box<dyn Stream>>>;

/// Connects, without limit: that is the caller's.
///
/// Must be called inside a tokio runtime.
pub(super) async fn open(
    client: &HttpClient,
    settings: &RemoteSettings,
    max_message_bytes: usize,
) -> Result<Channel, Failure> {
    let mut address = Address::new(client, settings, "")?;
    // As it is called here, `wss` for `https`.
    address.shown = address.shown.replacen("http", "ws", 1);
    let shaken = match shake_hands(client, settings, &address, true, max_message_bytes).await {
        // It does not know the subprotocol, and is asked without.
        Err(Error::Protocol(ProtocolError::SecWebSocketSubProtocolError(
            SubProtocolError::NoSubProtocol,
        ))) => shake_hands(client, settings, &address, false, max_message_bytes).await,
        shaken => shaken,
    };
    let socket = shaken.map_err(|error| explain(error, &address))?;
    let (sink, stream) = socket.split();

    let (outgoing, queue) = mpsc::channel(QUEUE);
    let closing = CancellationToken::new();
    let writer = tokio::spawn(write(sink, queue, closing.clone()));
    let mut writer = AbortOnDropHandle::new(writer);
    let reader = Reader {
        stream,
        shown: address.shown,
        secrets: address.secrets,
        max: max_message_bytes,
        heard: Instant::now(),
        phase: Phase::Reading,
    };
    let incoming = stream::unfold(reader, async |mut reader| {
        Some((reader.next().await?, reader))
    });
    Ok(Channel {
        outgoing,
        incoming: incoming.boxed(),
        closer: Box::new(move || {
            Box::pin(async move {
                closing.cancel();
                let _ = timeout(FAREWELL, &mut writer).await;
            })
        }),
    })
}

async fn shake_hands(
    client: &HttpClient,
    settings: &RemoteSettings,
    address: &Address,
    subprotocol: bool,
    max: usize,
) -> Result<Socket, Error> {
    let mut request = websocket_url(&settings.url)?.into_client_request()?;
    let headers = request.headers_mut();
    headers.remove(HOST);
    for (name, value) in &address.headers {
        if !NOT_CONFIGURED.contains(name) {
            headers.append(name, value.clone());
        }
    }
    if subprotocol {
        headers.entry(SEC_WEBSOCKET_PROTOCOL).or_insert(SUBPROTOCOL);
    } else {
        headers.remove(SEC_WEBSOCKET_PROTOCOL);
    }
    let site = Site::of(&settings.url).ok_or(Error::Url(UrlError::UnsupportedUrlScheme))?;
    let stream = client.dial(&site).await;
    let stream = stream.map_err(|reason| Error::Io(io::Error::other(reason)))?;
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .max_message_size(Some(max))
        .max_frame_size(Some(max));
    let shaken = client_async_with_config(request, TokioIo::new(stream), Some(config)).await;
    shaken.map(|(socket, _)| socket)
}

/// Whoever configures an `http` URL for a WebSocket means this one. User info
/// has become a header.
fn websocket_url(url: &Uri) -> Result<Uri, Error> {
    let site = Site::of(url).ok_or(Error::Url(UrlError::UnsupportedUrlScheme))?;
    let scheme = if site.is_https() { "wss" } else { "ws" };
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let built = Uri::builder()
        .scheme(scheme)
        .authority(site.authority().clone());
    Ok(built.path_and_query(path).build()?)
}

fn explain(error: Error, address: &Address) -> Failure {
    let shown = &address.shown;
    match error {
        Error::Io(error) => {
            let told = format!("no connection to {shown}: {error}");
            Failure::new(FailureKind::Connect, told)
        }
        Error::Http(response) => {
            let status = response.status();
            let kind = match status.as_u16() {
                401 | 403 => FailureKind::SignIn,
                429 | 500.. => FailureKind::Refused,
                _ => FailureKind::WrongTransport,
            };
            let told = format!("{shown} answered HTTP {status} instead of opening a WebSocket");
            Failure::new(kind, told)
        }
        error => {
            let told = format!("{shown} opens no WebSocket: {error}");
            Failure::new(FailureKind::WrongTransport, told)
        }
    }
}

struct Reader {
    stream: SplitStream<Socket>,
    shown: String,
    secrets: Vec<Box<str>>,
    max: usize,
    /// When the last frame came, of whatever kind.
    heard: Instant,
    phase: Phase,
}

enum Phase {
    Reading,
    /// Why it is over, not yet told.
    Ending(FailureKind, String),
    Over,
}

impl Reader {
    async fn next(&mut self) -> Option<Arrival> {
        loop {
            match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Reading => self.phase = Phase::Reading,
                Phase::Ending(kind, what) => {
                    let told = format!("{}: {what}", self.shown);
                    return Some(Arrival::Ended(Failure::new(kind, told)));
                }
                Phase::Over => return None,
            }
            let frame = tokio::select! {
                biased;
                frame = self.stream.next() => frame,
                () = sleep_until(self.heard + SILENT) => {
                    let told = format!("no sign of life for {} s", SILENT.as_secs());
                    self.phase = Phase::Ending(FailureKind::Connect, told);
                    continue;
                }
            };
            self.heard = Instant::now();
            let (kind, what) = match frame {
                Some(Ok(Message::Text(text))) => return Some(Arrival::Message(text.into())),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Ok(Message::Binary(_))) => {
                    tracing::warn!(url = self.shown, "passed over a binary frame");
                    continue;
                }
                Some(Ok(Message::Close(frame))) => {
                    (FailureKind::Connect, farewell(frame, &self.secrets))
                }
                // What follows in the connection is the rest of that message,
                // which nobody can skip without reading it (RFC 6455, 7.4.1: 1009).
                Some(Err(Error::Capacity(_))) => {
                    let told = format!("it sent a message of more than {} bytes", self.max);
                    self.phase = Phase::Ending(FailureKind::Protocol, told);
                    return Some(Arrival::TooLarge(self.max));
                }
                Some(Err(Error::Io(error))) => (
                    FailureKind::Connect,
                    format!("the connection broke: {error}"),
                ),
                None
                | Some(Err(
                    Error::ConnectionClosed
                    | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake),
                )) => (FailureKind::Connect, "the connection was closed".to_owned()),
                Some(Err(error)) => (FailureKind::Protocol, error.to_string()),
            };
            self.phase = Phase::Ending(kind, what);
        }
    }
}

fn farewell(frame: Option<CloseFrame>, secrets: &[Box<str>]) -> String {
    let Some(CloseFrame { code, reason }) = frame else {
        return "it closed the connection".to_owned();
    };
    let reason = words(reason.as_bytes(), secrets);
    match reason.is_empty() {
        true => format!("it closed the connection ({code})"),
        false => format!("it closed the connection ({code}: {reason})"),
    }
}

/// Writes what is queued, as much as there is in one go, and asks a silent
/// server for a sign of life. A failed write says only that the connection is
/// gone; why, the reader will find out.
async fn write(
    mut sink: SplitSink<Socket, Message>,
    mut queue: mpsc::Receiver<Bytes>,
    closing: CancellationToken,
) {
    let mut batch = Vec::with_capacity(BATCH);
    let mut ping = interval(PING);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ping.reset();
    loop {
        let written = tokio::select! {
            biased;
            () = closing.cancelled() => break,
            count = queue.recv_many(&mut batch, BATCH) => match count {
                0 => break,
                _ => feed(&mut sink, &mut batch).await,
            },
            _ = ping.tick() => sink.send(Message::Ping(Bytes::new())).await,
        };
        if written.is_err() {
            return;
        }
    }
    // What was queued before is still written: it may be a cancellation.
    queue.close();
    while queue.recv_many(&mut batch, BATCH).await > 0 {
        if feed(&mut sink, &mut batch).await.is_err() {
            break;
        }
    }
    let close = CloseFrame {
        code: CloseCode::Normal,
        reason: Utf8Bytes::default(),
    };
    // Refused where the server was first: it may wait for the echo of its own.
    if sink.send(Message::Close(Some(close))).await.is_err() {
        let _ = sink.close().await;
    }
}

async fn feed(sink: &mut SplitSink<Socket, Message>, batch: &mut Vec<Bytes>) -> Result<(), Error> {
    for message in batch.drain(..) {
        sink.feed(Message::Text(Utf8Bytes::try_from(message)?))
            .await?;
    }
    sink.flush().await
}

#[cfg(test)]
pub(super) mod tests;
