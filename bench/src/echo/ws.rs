//! WebSocket: one message per text frame.

use std::rc::Rc;

use futures_util::{FutureExt, SinkExt, StreamExt};
use hyper::body::Incoming;
use hyper::header::{HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::server::Server;
use crate::Fault;

pub(super) fn upgrade(
    server: Rc<Server>,
    mut request: Request<Incoming>,
) -> Result<Response<()>, Fault> {
    let upgrade = hyper::upgrade::on(&mut request);
    let mut answer = create_response_with_body(&request, || ())?;
    if request.headers().contains_key(SEC_WEBSOCKET_PROTOCOL) {
        let mcp = HeaderValue::from_static("mcp");
        answer.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, mcp);
    }
    tokio::task::spawn_local(async move {
        // A client that disconnects is not an error.
        let _ = serve(&server, upgrade).await;
    });
    Ok(answer)
}

async fn serve(server: &Server, upgrade: OnUpgrade) -> Result<(), Fault> {
    let upgraded = TokioIo::new(upgrade.await?);
    let mut socket = WebSocketStream::from_raw_socket(upgraded, Role::Server, None).await;
    while let Some(first) = socket.next().await {
        let mut frame = Some(first);
        // Messages that have already arrived are answered in the same write.
        while let Some(heard) = frame.take() {
            if let Message::Text(text) = heard?
                && let Some(text) = server.handle(text.as_bytes()).text()
            {
                socket.feed(Message::text(text)).await?;
            }
            frame = socket.next().now_or_never().flatten();
        }
        socket.flush().await?;
    }
    Ok(())
}
