//! Tests of links to servers of the modern era.

mod inputs;
mod listening;
mod requests;

use std::sync::Arc;
use std::time::Duration;

use narrows_wire::Raw;
use serde_json::{Value, json};

use super::ParamHeaders;
use super::{Modern, StreamHandler};
use crate::carrier::Carrier;
use crate::exchange::{Asks, Cancel, EventSink, EventStream};
use crate::failure::{Failure, LinkError};
use crate::http::{HttpLink, HttpProtocol};
use crate::link::Link;
use crate::request::{Origin, Outgoing};
use crate::testing::server::{Reply, Seen, Server, event, events, json_reply, reply};
use crate::testing::{Addressed, LONG, MAX, ReceivedMessages, client, handler, hello, raw, soon};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Starts a server that handles `server/discover`; `respond` answers all other requests.
async fn serve<F, R>(capabilities: Value, respond: F) -> Server
where
    F: Fn(Seen) -> R + Send + Sync + 'static,
    R: Future<Output = Reply> + Send + 'static,
{
    Server::bare(move |seen| {
        let discovered =
            (seen.what() == "server/discover").then(|| discovery(&seen, &capabilities));
        let answered = discovered.is_none().then(|| respond(seen));
        async move {
            match answered {
                Some(answered) => answered.await,
                None => discovered.expect("one of the two"),
            }
        }
    })
    .await
}

fn discovery(seen: &Seen, capabilities: &Value) -> Reply {
    json_reply(&seen.result(json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": capabilities,
        "ttlMs": 0,
        "cacheScope": "private",
        "instructions": "hi",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "m", "version": "1"}},
    })))
}

fn error(code: u16, seen: &Seen, number: i64) -> Reply {
    let error = json!({"code": number, "message": "no"});
    let body = json!({"jsonrpc": "2.0", "id": seen.body["id"], "error": error});
    reply(code, "application/json", &body.to_string())
}

async fn try_open(server: &Server) -> Result<(Link, ReceivedMessages), Failure> {
    let (handler, received) = handler();
    let handler = StreamHandler::new(handler);
    let ours = hello();
    let link = HttpLink::new(
        client(),
        &server.settings(),
        HttpProtocol::Modern,
        "srv".into(),
        7,
        &ours,
        handler.clone(),
        MAX,
        LONG,
    )?;
    let theirs = soon(link.discover()).await?;
    let carrier = Carrier::Http(link);
    let params = Arc::new(ParamHeaders::default());
    let modern = Modern::new(&carrier, "srv".into(), 7, &ours, &theirs, params, handler);
    Ok((Link::modern(carrier, Arc::new(modern)), received))
}

async fn open(server: &Server) -> (Link, ReceivedMessages) {
    try_open(server).await.expect("it opens")
}

/// Makes a call that belongs to no client.
async fn call(link: &Link, method: &str, params: Value) -> Result<Raw, LinkError> {
    soon(link.request(Outgoing::own(method, Some(raw(&params)), LONG))).await
}

fn origin() -> (Origin, EventStream) {
    let (sink, events) = EventSink::channel(64);
    let asks = Asks {
        elicitation: true,
        sampling: true,
        roots: true,
    };
    let origin = Origin {
        session: 1,
        sink,
        memory: None,
        asks,
        cancel: Arc::new(Cancel::default()),
    };
    (origin, events)
}

fn of_client(origin: Origin, timeout: Duration) -> Outgoing<'static> {
    let params = raw(&json!({"name": "t", "arguments": {}}));
    Outgoing {
        origin: Some(origin),
        ..Outgoing::own("tools/call", Some(params), timeout)
    }
}
