//! Tests the channel, and a link over it, against a server that controls every byte.

mod ends;
mod frames;
mod handshakes;
pub(crate) mod server;
mod transport;

use std::sync::Arc;

use narrows_wire::Raw;
use serde_json::json;
use tokio::task::JoinHandle;

use self::server::{Peer, WsTestServer};
use crate::duplex::Duplex;
use crate::failure::{Failure, LinkError};
use crate::request::Outgoing;
use crate::settings::RemoteSettings;
use crate::testing::{LONG, MAX, ReceivedMessages, client, greet, raw, read_out, soon};
use crate::web::HttpClient;

async fn connect(
    client: HttpClient,
    settings: RemoteSettings,
) -> Result<(Arc<Duplex>, ReceivedMessages), Failure> {
    greet(super::open(&client, &settings, MAX).await?).await
}

/// An open link and the server side of it.
struct OpenWsLink {
    link: Arc<Duplex>,
    received: ReceivedMessages,
    peer: Peer,
}

async fn open() -> OpenWsLink {
    let server = WsTestServer::start().await;
    let serving = async {
        let mut peer = server.accept().await.accept_upgrade("mcp").await;
        peer.greet().await;
        peer
    };
    let connecting = connect(client(), server.settings());
    let (connected, peer) = soon(async { tokio::join!(connecting, serving) }).await;
    let (link, received) = connected.expect("it opens");
    OpenWsLink {
        link,
        received,
        peer,
    }
}

/// Starts a call.
fn call(link: &Arc<Duplex>) -> JoinHandle<Result<Raw, LinkError>> {
    let link = link.clone();
    tokio::spawn(async move {
        let params = raw(&json!({"name": "t"}));
        let call = Outgoing::own("tools/call", Some(params), LONG);
        link.request(call).await
    })
}

/// Returns the outcome of a call in one line.
async fn outcome(call: JoinHandle<Result<Raw, LinkError>>) -> String {
    match soon(call).await.expect("no panic") {
        Ok(result) => format!("result {}", result.as_str()),
        Err(LinkError::TooLarge(max)) => format!("too large: {max}"),
        Err(LinkError::Closed { failure, .. }) => describe(&failure),
        Err(error) => panic!("{error:?}"),
    }
}

/// Describes a failure without the parts that differ in every run.
fn describe(failure: &Failure) -> String {
    let Failure { kind, detail, .. } = failure;
    match detail.split_once("127.0.0.1:") {
        Some((start, rest)) => {
            let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{kind:?}: {start}HOST{rest}")
        }
        None => format!("{kind:?}: {detail}"),
    }
}
