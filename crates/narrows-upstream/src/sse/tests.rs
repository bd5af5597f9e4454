//! Tests the channel, and a link over it, against a server that controls every byte.

mod messages;
mod openings;
mod order;
mod posts;
mod server;

use std::sync::Arc;

use narrows_wire::Raw;
use serde_json::json;
use tokio::task::JoinHandle;

use self::server::{SseStream, SseTestServer};
use crate::duplex::Duplex;
use crate::failure::{Failure, LinkError};
use crate::request::Outgoing;
use crate::settings::RemoteSettings;
use crate::testing::{LONG, MAX, ReceivedMessages, client, greet, raw, read_out, soon};

async fn connect(settings: RemoteSettings) -> Result<(Arc<Duplex>, ReceivedMessages), Failure> {
    greet(super::open(&client(), &settings, "srv".into(), MAX).await?).await
}

/// An open link and the server side of it.
struct OpenSseLink {
    link: Arc<Duplex>,
    received: ReceivedMessages,
    server: SseTestServer,
    stream: SseStream,
}

async fn open() -> OpenSseLink {
    let mut server = SseTestServer::start().await;
    let settings = server.settings();
    let serving = async {
        let stream = server.greet().await;
        server.saw("notifications/initialized").await.accept().await;
        stream
    };
    let (connected, stream) = soon(async { tokio::join!(connect(settings), serving) }).await;
    let (link, received) = connected.expect("it opens");
    OpenSseLink {
        link,
        received,
        server,
        stream,
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
async fn outcome(call: JoinHandle<Result<Raw, LinkError>>, server: &SseTestServer) -> String {
    let reported = match soon(call).await.expect("no panic") {
        Ok(result) => format!("result {}", result.as_str()),
        Err(LinkError::Answered(error)) => format!("answered {}", error.as_str()),
        Err(LinkError::Invalid(reason)) => format!("invalid: {reason}"),
        Err(LinkError::TooLarge(max)) => format!("too large: {max}"),
        Err(LinkError::Timeout(_)) => "timeout".to_owned(),
        Err(LinkError::Closed { failure, .. }) => describe(&failure),
    };
    server.hide(&reported)
}

fn describe(failure: &Failure) -> String {
    format!("{:?}: {}", failure.kind, failure.detail)
}
