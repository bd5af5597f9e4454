//! The link against small real servers on loopback. Where time matters it is
//! paused: it then moves only when every task waits, so nothing is raced.

mod answers;
mod calls;
mod openings;
mod server;
mod sessions;
mod streams;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use narrows_wire::Raw;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use self::server::Server;
use super::super::link::{Ears, Failure, LinkError, Origin, Outgoing, ServerHello};
use super::{HttpClient, HttpLink};
use crate::exchange::{Ask, AskKey, Asks, Cancel, ClientHello, EventSink, EventStream, Notice};
use crate::settings::{HttpSettings, ProxySettings};

const MAX: usize = 64 * 1024;
const LONG: Duration = Duration::from_secs(60);

/// Fails instead of hanging.
fn soon<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let limited = Box::pin(tokio::time::timeout(Duration::from_secs(20), future));
    async { limited.await.expect("within 20 s") }
}

fn client() -> HttpClient {
    HttpClient::new(&ProxySettings::default(), Duration::from_secs(5))
}

fn hello() -> ClientHello {
    ClientHello {
        capabilities: Raw::from_static(r#"{"elicitation":{}}"#),
        client_info: Raw::from_static(r#"{"name":"c","version":"0"}"#),
    }
}

/// What belongs to no call, as it was heard.
struct Heard {
    notices: mpsc::UnboundedReceiver<Notice>,
    asks: mpsc::UnboundedReceiver<Ask>,
    withdrawn: mpsc::UnboundedReceiver<AskKey>,
}

struct TestEars(
    mpsc::UnboundedSender<Notice>,
    mpsc::UnboundedSender<Ask>,
    mpsc::UnboundedSender<AskKey>,
);

impl Ears for TestEars {
    fn notice(&self, notice: Notice) {
        let _ = self.0.send(notice);
    }

    fn ask(&self, ask: Ask) {
        let _ = self.1.send(ask);
    }

    fn withdraw(&self, key: AskKey) {
        let _ = self.2.send(key);
    }
}

fn ears() -> (Arc<TestEars>, Heard) {
    let (notice_to, notices) = mpsc::unbounded_channel();
    let (ask_to, asks) = mpsc::unbounded_channel();
    let (withdraw_to, withdrawn) = mpsc::unbounded_channel();
    let heard = Heard {
        notices,
        asks,
        withdrawn,
    };
    (Arc::new(TestEars(notice_to, ask_to, withdraw_to)), heard)
}

async fn try_open(
    client: HttpClient,
    settings: &HttpSettings,
) -> Result<(Arc<HttpLink>, ServerHello, Heard), Failure> {
    let (ears, heard) = ears();
    let ours = hello();
    let opening = HttpLink::open(client, settings, "srv".into(), 7, &ours, ears, MAX, LONG);
    let (link, hello) = opening.await?;
    Ok((link, hello, heard))
}

async fn open(server: &Server) -> (Arc<HttpLink>, Heard) {
    let (link, _, heard) = soon(try_open(client(), &server.settings())).await.unwrap();
    (link, heard)
}

fn raw(value: &Value) -> Raw {
    Raw::parse(Bytes::from(value.to_string())).unwrap()
}

/// A call without anybody behind it.
async fn call(link: &Arc<HttpLink>) -> Result<Raw, LinkError> {
    let params = raw(&json!({"name": "t", "arguments": {}}));
    soon(link.request(Outgoing::own("tools/call", Some(params), LONG))).await
}

/// A client that waits for a call.
struct Behind {
    origin: Origin,
    events: EventStream,
}

fn behind() -> Behind {
    let (sink, events) = EventSink::channel(16);
    let asks = Asks {
        elicitation: true,
        ..Asks::default()
    };
    let origin = Origin {
        session: 1,
        sink,
        asks,
        cancel: Arc::new(Cancel::default()),
    };
    Behind { origin, events }
}

/// A call of that client, with the progress token `"tok"`.
fn outgoing(origin: Origin, timeout: Duration) -> Outgoing<'static> {
    let params = raw(&json!({"name": "t", "_meta": {"progressToken": "tok"}}));
    let token = params.member("_meta").unwrap().member("progressToken");
    Outgoing {
        progress_token: token,
        origin: Some(origin),
        ..Outgoing::own("tools/call", Some(params), timeout)
    }
}
