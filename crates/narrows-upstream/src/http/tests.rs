//! Tests of the link against small real servers.

mod answers;
mod calls;
mod openings;
mod rpc;
mod sessions;
mod streams;
mod transport;

use crate::testing::Addressed;
use std::sync::Arc;
use std::time::Duration;

use narrows_wire::Raw;
use serde_json::json;

use self::server::Server;
use super::{HttpLink, HttpProtocol};
use crate::exchange::{Asks, Cancel, EventSink, EventStream};
use crate::failure::{Failure, LinkError};
use crate::handshake::ServerHello;
use crate::request::{Origin, Outgoing};
use crate::settings::RemoteSettings;
use crate::testing::{
    LONG, MAX, ReceivedMessages, client, fronts, handler, hello, raw, server, soon,
};
use crate::web::HttpClient;

async fn try_open(
    client: HttpClient,
    settings: &RemoteSettings,
) -> Result<(Arc<HttpLink>, ServerHello, ReceivedMessages), Failure> {
    try_open_as(HttpProtocol::Streamable, client, settings).await
}

async fn try_open_as(
    protocol: HttpProtocol,
    client: HttpClient,
    settings: &RemoteSettings,
) -> Result<(Arc<HttpLink>, ServerHello, ReceivedMessages), Failure> {
    let (handler, received) = handler();
    let ours = hello();
    let opening = HttpLink::open(
        client,
        settings,
        protocol,
        "srv".into(),
        7,
        &ours,
        handler,
        MAX,
        LONG,
    );
    let (link, hello) = opening.await?;
    Ok((link, hello, received))
}

async fn open(server: &Server) -> (Arc<HttpLink>, ReceivedMessages) {
    let (link, _, received) = soon(try_open(client(), &server.settings())).await.unwrap();
    (link, received)
}

/// Makes a call that belongs to no client.
async fn call(link: &Arc<HttpLink>) -> Result<Raw, LinkError> {
    let params = raw(&json!({"name": "t", "arguments": {}}));
    soon(link.request(Outgoing::own("tools/call", Some(params), LONG))).await
}

/// A client that waits for the result of a call.
pub(super) struct WaitingClient {
    pub(super) origin: Origin,
    events: EventStream,
}

pub(super) fn waiting_client() -> WaitingClient {
    let (sink, events) = EventSink::channel(16);
    let asks = Asks {
        elicitation: true,
        ..Asks::default()
    };
    let origin = Origin {
        session: 1,
        sink,
        memory: None,
        asks,
        cancel: Arc::new(Cancel::default()),
    };
    WaitingClient { origin, events }
}

/// Creates a call of that client, with the progress token `"tok"`.
pub(super) fn outgoing(origin: Origin, timeout: Duration) -> Outgoing<'static> {
    let params = raw(&json!({"name": "t", "_meta": {"progressToken": "tok"}}));
    let token = params.member("_meta").unwrap().member("progressToken");
    Outgoing {
        progress_token: token,
        origin: Some(origin),
        ..Outgoing::own("tools/call", Some(params), timeout)
    }
}
