//! WebSocket: a duplex channel with one message per text frame.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::SplitStream;
use futures_util::{SinkExt, StreamExt};
use http::header::{
    CONNECTION, HeaderMap, HeaderValue, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::request::Parts;
use http::{Request, Response};
use http_body::Body as _;
use hyper::body::Incoming as RequestBody;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use narrows_gateway::Principal;
use narrows_upstream::memory::ClientMemory;
use narrows_upstream::websocket::{
    self, MonitoredIo, PeerActivity, PongBudget, SUBPROTOCOL, WriteEnd,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::handshake::server::create_response;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::protocol::frame::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};
use tokio_util::sync::CancellationToken;

use super::body::Body;
use super::intake::{Arriving, Intake, TooSlow};
use super::routes::Target;
use super::{Edge, answer};
use crate::duplex::{Duplex, DuplexClient, DuplexEnd, Input, Source, run_both};
use crate::error::Refused;

/// The buffer size for input discarded after the end.
const REST: usize = 16 * 1024;

/// The time limit for sending the close frame, and for each read while waiting for the client to
/// hang up.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The time after the close frame for which a client that keeps sending is tolerated.
const LINGER: Duration = Duration::from_secs(30);

type WsSocket = WebSocketStream<MonitoredIo<Intake<TokioIo<Upgraded>>>>;

/// Answers an upgrade request that has passed the guard.
pub(super) fn open(
    edge: &Arc<Edge>,
    target: Target<'_>,
    principal: Principal,
    memory: ClientMemory,
    parts: Parts,
    body: &RequestBody,
) -> Response<Body> {
    let mut request = Request::from_parts(parts, ());
    match agree(edge, &target, &request, body) {
        Ok((answer, permit)) => {
            let upgrade = hyper::upgrade::on(&mut request);
            let (edge, target) = (edge.clone(), target.into_owned());
            edge.tasks.clone().spawn(async move {
                serve(&edge, target, principal, memory, upgrade).await;
                drop(permit);
            });
            answer
        }
        Err(refused) => {
            tracing::debug!(?refused, "refused");
            let mut answer = answer::refused(None, &refused);
            if refused == Refused::NoWebSocket {
                let headers = answer.headers_mut();
                headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
                headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
                headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            }
            answer
        }
    }
}

fn agree(
    edge: &Edge,
    target: &Target<'_>,
    request: &Request<()>,
    body: &RequestBody,
) -> Result<(Response<Body>, OwnedSemaphorePermit), Refused> {
    if !edge.gateway.has_entrypoint(target.entrypoint()) {
        return Err(Refused::UnknownEndpoint);
    }
    // The upgrade starts only after the end of the body, which no code would wait for.
    if !body.is_end_stream() {
        return Err(Refused::NoWebSocket);
    }
    let agreed = create_response(request).map_err(|_| Refused::NoWebSocket)?;
    let permit = edge.upgraded.clone().try_acquire_owned();
    let permit = permit.map_err(|_| Refused::TooManyConnections)?;
    let mut answer = agreed.map(|()| Body::empty());
    if offers_mcp(request.headers()) {
        let chosen = HeaderValue::from_static(SUBPROTOCOL);
        answer.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, chosen);
    }
    Ok((answer, permit))
}

fn offers_mcp(headers: &HeaderMap) -> bool {
    let offers = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    let mut offers = offers.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    offers.any(|offer| offer.trim_ascii() == SUBPROTOCOL.as_bytes())
}

async fn serve(
    edge: &Edge,
    target: Target<'static>,
    principal: Principal,
    memory: ClientMemory,
    upgrade: OnUpgrade,
) {
    let upgraded = match upgrade.await {
        Ok(upgraded) => upgraded,
        Err(error) => return tracing::debug!(%error, "a connection ended before its upgrade"),
    };
    let settings = &edge.settings;
    let config = websocket::config(settings.max_message_bytes);
    let grace = settings.body_timeout;
    let (intake, arriving) = Intake::new(TokioIo::new(upgraded), &memory.requests, grace);
    let (line, activity) = MonitoredIo::new(intake);
    let socket = WebSocketStream::from_raw_socket(line, Role::Server, Some(config)).await;
    let (mut sink, stream) = socket.split();
    let mut frames = WsFrames {
        stream,
        activity: activity.clone(),
        pongs: PongBudget::default(),
        arriving,
        close_cause: None,
    };
    let duplex = edge.duplex();
    let (outgoing, queue) = mpsc::channel(duplex.queue);
    let (gateway, stop) = (edge.gateway.clone(), edge.stop.clone());
    let duplex_client = DuplexClient::Remote(principal);
    let responses = memory.responses.clone();
    let entrypoint = target.entrypoint();
    let running = Duplex::new(
        gateway,
        entrypoint,
        duplex_client,
        memory,
        duplex,
        outgoing,
        stop,
    );
    let running = running.run(&mut frames);
    // The loop ends the queue by dropping its sender.
    let never = CancellationToken::new();
    let writing = async {
        // Dropped when writing has ended, which signals the loop.
        let mut queue = queue;
        let beat = settings.keep_alive;
        websocket::write(
            &mut sink,
            &mut queue,
            &activity,
            beat,
            never,
            Some(&responses),
        )
        .await
    };
    let (end, written) = run_both(running, writing, duplex.grace).await;
    tracing::debug!(?end, "a WebSocket client has disconnected");
    let close_frame = match (frames.close_cause, written) {
        (Some(CloseCause::Closed), _) => None,
        // The client is unreachable or does not read.
        (Some(CloseCause::Lost), _) | (_, None | Some(Err(_))) => return,
        (Some(CloseCause::Fault(code, reason)), _) => Some((code, reason)),
        (None, Some(Ok(WriteEnd::PeerSilent))) => {
            Some((CloseCode::Policy, "pings were not answered"))
        }
        (None, Some(Ok(WriteEnd::All))) => Some(match end {
            DuplexEnd::Gone | DuplexEnd::Closed => (CloseCode::Normal, ""),
            DuplexEnd::Stopped => (CloseCode::Away, "the gateway is shutting down"),
            DuplexEnd::NotInitialized => (CloseCode::Policy, "initialize did not arrive in time"),
        }),
    };
    if let Ok(socket) = sink.reunite(frames.stream) {
        close_socket(socket, close_frame).await;
    }
}

/// The source of incoming frames.
struct WsFrames {
    stream: SplitStream<WsSocket>,
    activity: Arc<PeerActivity>,
    pongs: PongBudget,
    arriving: Arriving,
    close_cause: Option<CloseCause>,
}

/// The reason why no more frames arrive.
#[derive(Debug, Clone, Copy)]
enum CloseCause {
    /// The client sent a close frame.
    Closed,
    /// The client violated the protocol or a limit.
    Fault(CloseCode, &'static str),
    /// The connection broke.
    Lost,
}

impl Source for &mut WsFrames {
    // Cancel-safe: a partial message stays in the socket.
    async fn next(&mut self) -> Option<Input> {
        while self.close_cause.is_none() {
            match self.arriving.within_time(self.stream.next()).await {
                Ok(Some(Ok(Message::Text(text)))) => {
                    return Some(Input::Frame(self.arriving.message(text.into())));
                }
                Ok(Some(Ok(message))) => {
                    self.arriving.passed(&message);
                    self.close_cause = self.handle_frame(&message);
                }
                Ok(Some(Err(_))) if self.arriving.is_full() => {
                    let reason = "request memory is full \
                                  (limits.max_request_bytes_total); reconnect later";
                    self.close_cause = Some(CloseCause::Fault(CloseCode::Again, reason));
                }
                Ok(Some(Err(error))) => {
                    tracing::debug!(%error, "a WebSocket client sent an invalid frame");
                    self.close_cause = Some(CloseCause::by(&error));
                }
                Ok(None) => self.close_cause = Some(CloseCause::Lost),
                Err(TooSlow) => {
                    let reason = "the message arrived at less than 16 KiB per second";
                    self.close_cause = Some(CloseCause::Fault(CloseCode::Policy, reason));
                }
            }
        }
        None
    }
}

impl WsFrames {
    fn handle_frame(&mut self, message: &Message) -> Option<CloseCause> {
        match message {
            Message::Close(_) => Some(CloseCause::Closed),
            Message::Binary(_) => Some(CloseCause::Fault(
                CloseCode::Unsupported,
                "messages must be text frames",
            )),
            Message::Ping(payload) if !self.pongs.add(payload, &self.activity) => {
                Some(CloseCause::Fault(CloseCode::Policy, "too many pings"))
            }
            Message::Text(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => None,
        }
    }
}

impl CloseCause {
    fn by(error: &Error) -> CloseCause {
        match error {
            Error::Capacity(_) => CloseCause::Fault(CloseCode::Size, "message too large"),
            Error::Utf8(_) => CloseCause::Fault(CloseCode::Invalid, "text is not UTF-8"),
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => CloseCause::Lost,
            Error::Protocol(_) | Error::AttackAttempt => {
                CloseCause::Fault(CloseCode::Protocol, "violation of RFC 6455")
            }
            _ => CloseCause::Lost,
        }
    }
}

/// Sends a close frame, or the answer to the client's, and waits for the client to read it. Closing
/// a connection with unread input would reset it and discard the last frames.
async fn close_socket(mut socket: WsSocket, close_frame: Option<(CloseCode, &'static str)>) {
    let said = match close_frame {
        Some((code, reason)) => {
            let reason = Utf8Bytes::from_static(reason);
            timeout(
                CLOSE_TIMEOUT,
                socket.close(Some(CloseFrame { code, reason })),
            )
            .await
        }
        // The answer to the close frame is queued but not written yet.
        None => timeout(CLOSE_TIMEOUT, socket.flush()).await,
    };
    let line = socket.get_mut();
    if !matches!(said, Ok(Ok(()))) || line.shutdown().await.is_err() {
        return;
    }
    let mut rest = vec![0; REST];
    let rest =
        async { while let Ok(Ok(1..)) = timeout(CLOSE_TIMEOUT, line.read(&mut rest)).await {} };
    let _ = timeout(LINGER, rest).await;
}
