//! The transport of a session: sends and receives one message at a time.

mod http;
mod sse;
mod ws;

use std::fmt;
use std::net::ToSocketAddrs;

use bytes::Bytes;
use clap::ValueEnum;
use http_body_util::Full;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{HOST, HeaderValue};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::Fault;
use crate::listen::dial;

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Transport {
    /// Streamable HTTP
    Http,
    /// HTTP+SSE of 2024-11-05
    Sse,
    /// WebSocket
    Ws,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transport::Http => "http",
            Transport::Sse => "sse",
            Transport::Ws => "ws",
        })
    }
}

pub(super) enum Channel {
    Http(http::Http),
    Sse(sse::Sse),
    Ws(ws::Ws),
}

impl Channel {
    pub(super) async fn open(transport: Transport, url: &Uri) -> Result<Channel, Fault> {
        Ok(match transport {
            Transport::Http => Channel::Http(http::Http::open(url).await?),
            Transport::Sse => Channel::Sse(sse::Sse::open(url).await?),
            Transport::Ws => Channel::Ws(ws::Ws::open(url).await?),
        })
    }

    /// Sets the negotiated revision, which all later messages use.
    pub(super) fn agree(&mut self, revision: &str) -> Result<(), Fault> {
        match self {
            Channel::Http(http) => http.agree(revision),
            Channel::Sse(_) | Channel::Ws(_) => Ok(()),
        }
    }

    pub(super) async fn send(&mut self, message: String) -> Result<(), Fault> {
        match self {
            Channel::Http(http) => http.send(message).await,
            Channel::Sse(sse) => sse.send(message).await,
            Channel::Ws(ws) => ws.send(message).await,
        }
    }

    pub(super) async fn receive(&mut self) -> Result<Bytes, Fault> {
        match self {
            Channel::Http(http) => http.receive().await,
            Channel::Sse(sse) => sse.receive().await,
            Channel::Ws(ws) => ws.receive().await,
        }
    }

    pub(super) async fn close(self) -> Result<(), Fault> {
        match self {
            Channel::Http(http) => http.close().await,
            // Dropping the stream notifies the server.
            Channel::Sse(_) => Ok(()),
            Channel::Ws(ws) => ws.close().await,
        }
    }
}

type Sender = SendRequest<Full<Bytes>>;

async fn connect(url: &Uri) -> Result<TcpStream, Fault> {
    let host = url.host().ok_or("the url has no host")?;
    let port = url.port_u16().unwrap_or(80);
    let address = (host.trim_matches(['[', ']']), port)
        .to_socket_addrs()?
        .next();
    dial(address.ok_or("the host has no address")?).await
}

async fn connect_http(url: &Uri) -> Result<Sender, Fault> {
    let (sender, connection) = handshake(TokioIo::new(connect(url).await?)).await?;
    tokio::task::spawn_local(connection);
    Ok(sender)
}

/// Builds a request for this path on the host of `url`.
fn request(
    url: &Uri,
    method: Method,
    path: &str,
    body: String,
) -> Result<Request<Full<Bytes>>, Fault> {
    let site = url.authority().ok_or("the url has no host")?;
    let mut request = Request::new(Full::from(body));
    *request.method_mut() = method;
    *request.uri_mut() = path.parse()?;
    let host = HeaderValue::from_str(site.as_str())?;
    request.headers_mut().insert(HOST, host);
    Ok(request)
}
