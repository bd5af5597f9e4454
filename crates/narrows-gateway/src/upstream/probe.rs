//! What a server speaks that does not speak what it is configured for. Asked
//! once, after the first attempt has failed that way, and told with each that
//! does, so that people read the right word instead of a riddle.

use std::sync::Arc;
use std::time::Duration;

use narrows_wire::Raw;

use super::Upstream;
use super::connect::Connected;
use super::link::{Ears, Failure, FailureKind};
use crate::exchange::{Ask, AskKey, ClientHello, Notice, Refusal};
use crate::settings::{Transport, UpstreamKind};

/// For each kind that is tried.
const PATIENCE: Duration = Duration::from_secs(3);

impl Upstream {
    /// Adds to `failure` what the server speaks instead, if that can be found out.
    pub(super) async fn explain(self: &Arc<Self>, mut failure: Failure) -> Failure {
        if failure.kind == FailureKind::WrongTransport {
            failure.speaks = *self.speaks.get_or_init(|| Box::pin(self.probe())).await;
        }
        failure
    }

    async fn probe(self: &Arc<Self>) -> Option<Transport> {
        let UpstreamKind::Remote(remote) = &self.settings.kind else {
            return None;
        };
        let hello = ClientHello {
            capabilities: Raw::empty_object(),
            client_info: Raw::from_static(r#"{"name":"narrows-probe","version":"0"}"#),
        };
        let all = [
            Transport::Http,
            Transport::Sse,
            Transport::WebSocket,
            Transport::Rpc,
        ];
        for transport in all {
            if remote.manner.tries(transport) {
                continue;
            }
            let trying = self.connect_to(remote, transport, &hello, Arc::new(Deaf));
            if let Ok(Ok(Connected { link, .. })) = tokio::time::timeout(PATIENCE, trying).await {
                link.close().await;
                return Some(transport);
            }
        }
        None
    }
}

struct Deaf;

impl Ears for Deaf {
    fn notice(&self, _: Notice) {}

    fn ask(&self, ask: Ask) {
        ask.reply.answer(Err(Refusal::NotSupported.error()));
    }

    fn withdraw(&self, _: AskKey) {}
}
