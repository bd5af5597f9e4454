//! What a server speaks that does not speak what it is configured for: asked
//! after an attempt has failed that way, until it is known, and told with each
//! that does, so that people read the right word instead of a riddle.

use std::sync::Arc;
use std::time::Duration;

use narrows_wire::Raw;

use super::Upstream;
use super::connect::Connected;
use crate::exchange::{Ask, AskKey, ClientHello, Notice, Refusal};
use crate::failure::{Failure, FailureKind};
use crate::handler::Ears;
use crate::settings::{RemoteSettings, Transport, UpstreamKind};

/// For each kind that is tried.
const PATIENCE: Duration = Duration::from_secs(3);

impl Upstream {
    /// Adds to `failure` what the server speaks instead, if that can be found out.
    pub(super) async fn explain(self: &Arc<Self>, mut failure: Failure) -> Failure {
        if failure.kind == FailureKind::WrongTransport {
            failure.speaks = match self.speaks.get() {
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
        // One after the other: many small servers can keep one client only.
        for other in others.filter(|transport| !remote.manner.tries(*transport)) {
            if self.try_out(remote, other).await {
                return Some(*self.speaks.get_or_init(|| other));
            }
        }
        None
    }

    async fn try_out(self: &Arc<Self>, remote: &RemoteSettings, transport: Transport) -> bool {
        let hello = ClientHello {
            capabilities: Raw::empty_object(),
            client_info: Raw::from_static(r#"{"name":"narrows-probe","version":"0"}"#),
        };
        let ears = Arc::new(Deaf);
        let connected = self.connect_to(remote, transport, &hello, ears, PATIENCE);
        match connected.await {
            Ok(Connected { link, .. }) => {
                link.close().await;
                true
            }
            Err(_) => false,
        }
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
