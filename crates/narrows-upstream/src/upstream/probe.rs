//! Detects the transport of a server that does not speak the configured one. The result is added to
//! failures of the kind `WrongTransport`.

use std::sync::Arc;
use std::time::Duration;

use narrows_wire::Raw;

use super::Upstream;
use super::connect::Connected;
use crate::exchange::{Ask, AskKey, ClientHello, Notice, Refusal};
use crate::failure::{Failure, FailureKind};
use crate::handler::NotificationHandler;
use crate::settings::{RemoteSettings, Transport, UpstreamKind};

/// The time limit for each transport.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

impl Upstream {
    /// Adds the detected transport to `failure`, if there is one.
    pub(super) async fn explain(self: &Arc<Self>, mut failure: Failure) -> Failure {
        if failure.kind == FailureKind::WrongTransport {
            failure.speaks = match self.connection.detected.get() {
                Some(speaks) => Some(*speaks),
                None => Box::pin(self.probe()).await,
            };
        }
        failure
    }

    async fn probe(self: &Arc<Self>) -> Option<Transport> {
        let UpstreamKind::Remote(remote) = &self.settings.kind else {
            return None;
        };
        let others = Transport::REMOTE.into_iter();
        // Tried one after the other, because many small servers accept only one client at a time.
        for other in others.filter(|transport| !remote.protocol.tries(*transport)) {
            if self.try_transport(remote, other).await {
                return Some(*self.connection.detected.get_or_init(|| other));
            }
        }
        None
    }

    async fn try_transport(
        self: &Arc<Self>,
        remote: &RemoteSettings,
        transport: Transport,
    ) -> bool {
        let hello = ClientHello {
            capabilities: Raw::empty_object(),
            client_info: Raw::from_static(r#"{"name":"narrows-probe","version":"0"}"#),
        };
        let handler = Arc::new(RefusingHandler);
        let connected = self.connect_to(remote, transport, &hello, handler, PROBE_TIMEOUT);
        match connected.await {
            Ok(Connected { link, .. }) => {
                link.close().await;
                true
            }
            Err(_) => false,
        }
    }
}

struct RefusingHandler;

impl NotificationHandler for RefusingHandler {
    fn notice(&self, _: Notice) {}

    fn ask(&self, ask: Ask) {
        ask.reply.answer(Err(Refusal::NotSupported.error()));
    }

    fn withdraw(&self, _: AskKey) {}
}
