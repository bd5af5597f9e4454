//! A WebSocket server, with one message per text frame in both directions.
//!
//! This module creates the [`Channel`]. Start reading at [`open`].

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::http::header::{
    CONNECTION, HOST, PROXY_AUTHORIZATION, SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use ::http::{HeaderName, HeaderValue, StatusCode, Uri};
use bytes::Bytes;
use futures_util::stream::{self, SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::{Error, ProtocolError, SubProtocolError, UrlError};
use tokio_tungstenite::tungstenite::protocol::Message;
use tokio_tungstenite::tungstenite::protocol::frame::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use tokio_util::sync::CancellationToken;

use crate::channel::{Channel, ChannelEvent, ends_writer};
use crate::failure::{Failure, FailureKind};
use crate::settings::RemoteSettings;
use crate::web::{Address, ByteStream, HttpClient, WebOrigin, summary};
use crate::websocket::{self, MonitoredIo, PeerActivity, PongBudget, SUBPROTOCOL, WriteEnd};

/// The maximum number of messages that wait to be written.
const QUEUE: usize = 256;
/// The interval of pings to a silent server. A busy server may miss two.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// The limit for closing a connection to a server that does not read.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Headers that the configuration cannot change, and the proxy credentials, which have already been
/// sent to the proxy.
const NOT_CONFIGURED: [HeaderName; 6] = [
    CONNECTION,
    UPGRADE,
    SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION,
    SEC_WEBSOCKET_EXTENSIONS,
    PROXY_AUTHORIZATION,
];

type WsSocket = WebSocketStream<MonitoredIo<TokioIo<Box<dyn ByteStream>>>>;

/// The state about the end of the connection that reader and writer share.
#[derive(Clone, Default)]
struct CloseSignals {
    /// Cancelled when the gateway closes the connection.
    closing: CancellationToken,
    /// Cancelled when the server has not responded to pings.
    silent: CancellationToken,
    /// The server's protocol violation, reported in the close frame.
    fault: Arc<OnceLock<(CloseCode, &'static str)>>,
}

/// Opens a connection. The caller sets the time limit.
///
/// Must be called inside a tokio runtime.
pub(crate) async fn open(
    client: &HttpClient,
    settings: &RemoteSettings,
    max_message_bytes: usize,
) -> Result<Channel, Failure> {
    let mut address = Address::new(client, settings, "")?;
    // Shown with the scheme `wss` instead of `https`.
    address.shown = address.shown.replacen("http", "ws", 1);
    let shaken = match shake_hands(client, settings, &address, true, max_message_bytes).await {
        // The server does not support the subprotocol, so the handshake is repeated without it.
        Err(Error::Protocol(ProtocolError::SecWebSocketSubProtocolError(
            SubProtocolError::NoSubProtocol,
        ))) => shake_hands(client, settings, &address, false, max_message_bytes).await,
        shaken => shaken,
    };
    let (socket, activity) = shaken.map_err(|error| explain(error, &address))?;
    let (sink, stream) = socket.split();

    let (outgoing, queue) = mpsc::channel(QUEUE);
    let close_signals = CloseSignals::default();
    let closing = close_signals.closing.clone();
    let writer = tokio::spawn(write(sink, queue, activity.clone(), close_signals.clone()));
    let reader = WsReader {
        stream,
        shown: address.shown,
        secrets: address.secrets,
        max: max_message_bytes,
        activity,
        pongs: PongBudget::default(),
        close_signals,
        phase: WsPhase::Reading,
    };
    let incoming = stream::unfold(reader, async |mut reader| {
        Some((reader.next().await?, reader))
    });
    Ok(Channel {
        outgoing,
        incoming: incoming.boxed(),
        closer: ends_writer(writer, closing, CLOSE_TIMEOUT),
    })
}

async fn shake_hands(
    client: &HttpClient,
    settings: &RemoteSettings,
    address: &Address,
    subprotocol: bool,
    max: usize,
) -> Result<(WsSocket, Arc<PeerActivity>), Error> {
    let mut request = websocket_url(&settings.url)?.into_client_request()?;
    let headers = request.headers_mut();
    headers.remove(HOST);
    for (name, value) in &address.headers {
        if !NOT_CONFIGURED.contains(name) {
            headers.append(name, value.clone());
        }
    }
    if subprotocol {
        let mcp = HeaderValue::from_static(SUBPROTOCOL);
        headers.entry(SEC_WEBSOCKET_PROTOCOL).or_insert(mcp);
    } else {
        headers.remove(SEC_WEBSOCKET_PROTOCOL);
    }
    let origin = WebOrigin::of(&settings.url).ok_or(Error::Url(UrlError::UnsupportedUrlScheme))?;
    let stream = client.dial(&origin).await;
    let stream = stream.map_err(|reason| Error::Io(io::Error::other(reason)))?;
    let (line, activity) = MonitoredIo::new(TokioIo::new(stream));
    let config = websocket::config(max);
    let (socket, _) = client_async_with_config(request, line, Some(config)).await?;
    Ok((socket, activity))
}

/// Returns the WebSocket URL for a configured URL, which may have an `http` scheme. User info is
/// omitted, because it is sent in a header.
fn websocket_url(url: &Uri) -> Result<Uri, Error> {
    let origin = WebOrigin::of(url).ok_or(Error::Url(UrlError::UnsupportedUrlScheme))?;
    let scheme = if origin.is_https() { "wss" } else { "ws" };
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let built = Uri::builder()
        .scheme(scheme)
        .authority(origin.authority().clone());
    Ok(built.path_and_query(path).build()?)
}

fn explain(error: Error, address: &Address) -> Failure {
    let shown = &address.shown;
    match error {
        Error::Io(error) => {
            let detail = format!("no connection to {shown}: {error}");
            Failure::new(FailureKind::Connect, detail)
        }
        Error::Http(response) => {
            let status = response.status();
            if status == StatusCode::LOOP_DETECTED {
                return Failure::recursion(shown);
            }
            let kind = match status.as_u16() {
                401 | 403 => FailureKind::SignIn,
                429 | 500.. => FailureKind::Refused,
                _ => FailureKind::WrongTransport,
            };
            let detail = format!("{shown} answered HTTP {status} instead of opening a WebSocket");
            Failure::new(kind, detail)
        }
        error => {
            let detail = format!("{shown} did not open a WebSocket: {error}");
            Failure::new(FailureKind::WrongTransport, detail)
        }
    }
}

struct WsReader {
    stream: SplitStream<WsSocket>,
    shown: String,
    secrets: Vec<String>,
    max: usize,
    activity: Arc<PeerActivity>,
    pongs: PongBudget,
    close_signals: CloseSignals,
    phase: WsPhase,
}

enum WsPhase {
    Reading,
    /// The connection has ended for this reason, which has not been reported yet.
    Ending(FailureKind, String),
    Over,
}

impl WsReader {
    async fn next(&mut self) -> Option<ChannelEvent> {
        loop {
            match std::mem::replace(&mut self.phase, WsPhase::Over) {
                WsPhase::Reading => self.phase = WsPhase::Reading,
                WsPhase::Ending(kind, what) => {
                    let detail = format!("{}: {what}", self.shown);
                    return Some(ChannelEvent::Ended(Failure::new(kind, detail)));
                }
                WsPhase::Over => return None,
            }
            let frame = tokio::select! {
                biased;
                frame = self.stream.next() => frame,
                () = self.close_signals.silent.cancelled() => {
                    let detail = "it did not respond to pings".to_owned();
                    self.phase = WsPhase::Ending(FailureKind::Connect, detail);
                    continue;
                }
            };
            let (kind, what) = match frame {
                Some(Ok(Message::Text(text))) => return Some(ChannelEvent::Message(text.into())),
                Some(Ok(Message::Ping(payload))) => {
                    match self.pongs.add(&payload, &self.activity) {
                        true => continue,
                        false => self.protocol_error(
                            CloseCode::Policy,
                            "it sends pings without reading the pongs",
                        ),
                    }
                }
                Some(Ok(Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Ok(Message::Binary(_))) => {
                    self.protocol_error(CloseCode::Unsupported, "it sent a binary frame")
                }
                Some(Ok(Message::Close(frame))) => {
                    (FailureKind::Connect, describe_close(frame, &self.secrets))
                }
                // The rest of the message follows on the connection and cannot be skipped without
                // reading it (RFC 6455, 7.4.1: 1009).
                Some(Err(Error::Capacity(_))) => {
                    let (kind, _) = self.protocol_error(CloseCode::Size, "message too large");
                    let detail = format!("it sent a message of more than {} bytes", self.max);
                    self.phase = WsPhase::Ending(kind, detail);
                    return Some(ChannelEvent::TooLarge(self.max));
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
            self.phase = WsPhase::Ending(kind, what);
        }
    }
}

impl WsReader {
    /// Records a protocol violation of the server for the close frame.
    fn protocol_error(&self, code: CloseCode, what: &'static str) -> (FailureKind, String) {
        self.close_signals.fault.get_or_init(|| (code, what));
        (FailureKind::Protocol, what.to_owned())
    }
}

fn describe_close(frame: Option<CloseFrame>, secrets: &[String]) -> String {
    let Some(CloseFrame { code, reason }) = frame else {
        return "it closed the connection".to_owned();
    };
    let reason = summary(reason.as_bytes(), secrets);
    match reason.is_empty() {
        true => format!("it closed the connection ({code})"),
        false => format!("it closed the connection ({code}: {reason})"),
    }
}

/// Writes until the gateway closes the connection, or it is lost or silent. A failed write only
/// shows that the connection is lost; the reader determines the reason.
async fn write(
    mut sink: SplitSink<WsSocket, Message>,
    mut queue: mpsc::Receiver<Bytes>,
    activity: Arc<PeerActivity>,
    close_signals: CloseSignals,
) {
    let writing = websocket::write(
        &mut sink,
        &mut queue,
        &activity,
        PING_INTERVAL,
        close_signals.closing,
        None,
    );
    match writing.await {
        Ok(WriteEnd::All) => {}
        Ok(WriteEnd::PeerSilent) => return close_signals.silent.cancel(),
        Err(_) => return,
    }
    let (code, reason) = close_signals
        .fault
        .get()
        .copied()
        .unwrap_or((CloseCode::Normal, ""));
    let reason = Utf8Bytes::from_static(reason);
    // Fails if the server has already sent a close frame. In that case the echo of that frame must
    // still be written.
    let close = Message::Close(Some(CloseFrame { code, reason }));
    if sink.send(close).await.is_err() {
        let _ = sink.close().await;
    }
}

#[cfg(test)]
pub(crate) mod tests;
