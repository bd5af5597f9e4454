//! Fixtures shared by the tests of all transports. Servers are small and real, and listen on
//! loopback. Where timing matters, time is paused and advances only when all tasks are waiting, so
//! there are no races.

pub(crate) mod fronts;
pub(crate) use narrows_testkit::http_server as server;
pub(crate) use narrows_testkit::http_server::listen;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use narrows_wire::Raw;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use crate::channel::{Channel, ChannelEvent};
use crate::duplex::Duplex;
use crate::error::Fault;
use crate::exchange::{Ask, AskKey, ClientHello, Notice};
use crate::failure::Failure;
use crate::handler::NotificationHandler;
use crate::hooks::{BuiltinConnector, ToolChange, UpstreamObserver};
use crate::settings::{Builtin, Era, Limits, ProxySettings, RemoteProtocol, RemoteSettings};
use crate::state::State;
use crate::web::HttpClient;

pub(crate) const MAX: usize = 64 * 1024;
pub(crate) const LIMITS: Limits = Limits {
    max_message_bytes: 16 * 1024 * 1024,
    max_items_per_list: 10_000,
    grace: Duration::from_secs(5),
};
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Fails after 20 s instead of hanging.
pub(crate) fn soon<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let limited = Box::pin(tokio::time::timeout(Duration::from_secs(20), future));
    async { limited.await.expect("within 20 s") }
}

/// Provides the settings for connecting to a test server.
pub(crate) trait Addressed {
    fn settings(&self) -> RemoteSettings;
}

impl Addressed for server::Server {
    fn settings(&self) -> RemoteSettings {
        RemoteSettings {
            protocol: RemoteProtocol::Http,
            url: format!("http://{}/mcp", self.address).parse().unwrap(),
            headers: Vec::new(),
        }
    }
}

/// An observer that ignores all events.
pub(crate) struct NoObserver;

impl UpstreamObserver for NoObserver {
    fn call_ended(&self, _: &str, _: Option<Fault>, _: Duration) {}
    fn state_changed(&self, _: &State) {}
    fn health_check_failed(&self) {}
    fn tool_changed(&self, _: Option<ToolChange>) {}
}

/// A connector without servers.
pub(crate) struct NoBuiltins;

impl BuiltinConnector for NoBuiltins {
    fn open(&self, which: Builtin) -> Channel {
        unreachable!("{which:?} is not part of these tests")
    }
}

pub(crate) fn client() -> HttpClient {
    HttpClient::new(&ProxySettings::default(), Duration::from_secs(5))
}

pub(crate) fn hello() -> ClientHello {
    ClientHello {
        capabilities: Raw::from_static(r#"{"elicitation":{}}"#),
        client_info: Raw::from_static(r#"{"name":"c","version":"0"}"#),
    }
}

pub(crate) fn raw(value: &Value) -> Raw {
    Raw::parse(Bytes::from(value.to_string())).unwrap()
}

/// The messages outside any call, as received by the handler.
pub(crate) struct ReceivedMessages {
    pub(crate) notices: mpsc::UnboundedReceiver<Notice>,
    pub(crate) asks: mpsc::UnboundedReceiver<Ask>,
    pub(crate) withdrawn: mpsc::UnboundedReceiver<AskKey>,
}

pub(crate) struct TestHandler(
    mpsc::UnboundedSender<Notice>,
    mpsc::UnboundedSender<Ask>,
    mpsc::UnboundedSender<AskKey>,
);

impl NotificationHandler for TestHandler {
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

pub(crate) fn handler() -> (Arc<TestHandler>, ReceivedMessages) {
    let (notice_to, notices) = mpsc::unbounded_channel();
    let (ask_to, asks) = mpsc::unbounded_channel();
    let (withdraw_to, withdrawn) = mpsc::unbounded_channel();
    let received = ReceivedMessages {
        notices,
        asks,
        withdrawn,
    };
    (
        Arc::new(TestHandler(notice_to, ask_to, withdraw_to)),
        received,
    )
}

/// Initialises a link over a channel. Returns it with the messages it receives outside any call.
pub(crate) async fn greet(channel: Channel) -> Result<(Arc<Duplex>, ReceivedMessages), Failure> {
    let (handler, received) = handler();
    let (hello, tasks) = (hello(), TaskTracker::new());
    let opening = Duplex::open(
        channel,
        "srv".into(),
        7,
        Default::default(),
        &hello,
        handler,
        LONG,
        Era::Legacy,
        &tasks,
    );
    let (link, _) = opening.await?;
    Ok((link, received))
}

/// Returns everything that arrives on a channel, including its end.
pub(crate) async fn read_out(
    mut channel: Channel,
    describe: impl Fn(&Failure) -> String,
) -> Vec<String> {
    let mut arrived = Vec::new();
    loop {
        match channel.incoming.next().await.expect("an end") {
            ChannelEvent::Message(bytes) => arrived.push(String::from_utf8_lossy(&bytes).into()),
            ChannelEvent::TooLarge(max) => arrived.push(format!("too large: {max}")),
            ChannelEvent::Unsent { id, .. } => panic!("{id} was never sent"),
            ChannelEvent::Ended(failure) => {
                arrived.push(describe(&failure));
                assert!(channel.incoming.next().await.is_none(), "nothing after it");
                return arrived;
            }
        }
    }
}
