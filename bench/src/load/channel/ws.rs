//! WebSocket: one message per text frame.

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use hyper::Uri;
use hyper::header::{HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::connect;
use crate::Fault;

pub(in crate::load) struct Ws {
    socket: WebSocketStream<TcpStream>,
}

impl Ws {
    pub(super) async fn open(url: &Uri) -> Result<Ws, Fault> {
        let mut request = url.clone().into_client_request()?;
        let mcp = HeaderValue::from_static("mcp");
        request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, mcp);
        let (socket, _) = client_async(request, connect(url).await?).await?;
        Ok(Ws { socket })
    }

    pub(super) async fn send(&mut self, message: String) -> Result<(), Fault> {
        Ok(self.socket.send(Message::text(message)).await?)
    }

    pub(super) async fn receive(&mut self) -> Result<Bytes, Fault> {
        loop {
            match self.socket.next().await.ok_or("the socket was closed")?? {
                Message::Text(text) => return Ok(text.into()),
                Message::Close(_) => return Err("the socket was closed".into()),
                _ => {}
            }
        }
    }

    pub(super) async fn close(mut self) -> Result<(), Fault> {
        self.socket.close(None).await?;
        while self.socket.next().await.is_some_and(|frame| frame.is_ok()) {}
        Ok(())
    }
}
