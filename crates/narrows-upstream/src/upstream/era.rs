//! The era of a server: legacy, with `initialize`, or modern, without.
//!
//! A server that speaks both is used in the legacy era if that one has sessions there, because
//! without a session a legacy server cannot ask its client anything. Otherwise it is used in the
//! modern era. What was found is remembered until the server refuses it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Upstream;
use super::connect::Connected;
use crate::carrier::Carrier;
use crate::exchange::ClientHello;
use crate::failure::{Failure, FailureKind, Found};
use crate::handler::NotificationHandler;
use crate::http::HttpProtocol;
use crate::link::Link;
use crate::settings::{Era, RemoteSettings, Transport};

/// The time that a legacy server without sessions has to answer `server/discover`.
const DISCOVER_TIMEOUT: Duration = Duration::from_secs(3);

/// The era in which a server was found to be used.
#[derive(Clone)]
pub(super) struct KnownEra {
    era: Era,
    /// One line for people that says how the era was detected.
    how: &'static str,
}

impl Upstream {
    /// Returns the era in which the server is called, as far as it is known.
    pub(super) fn era(&self) -> Era {
        match self.settings.era {
            Era::Auto => {
                let known = self.connection.era.lock();
                known.as_ref().map_or(Era::Auto, |known| known.era)
            }
            configured => configured,
        }
    }

    /// Remembers the era of the server. Returns the reason for people.
    pub(super) fn remember(&self, era: Era, how: &'static str) -> String {
        let mut known = self.connection.era.lock();
        match &*known {
            // The first reason is better than that it was known.
            Some(known) if known.era == era => known.how.to_owned(),
            _ => {
                *known = Some(KnownEra { era, how });
                how.to_owned()
            }
        }
    }

    /// Forgets the era if the server refuses it.
    pub(super) fn doubt_era(&self, failure: &Failure) {
        if failure.kind.is_refusal() {
            *self.connection.era.lock() = None;
        }
    }

    /// Opens a link over Streamable HTTP in the era of the server.
    pub(super) async fn connect_http(
        self: &Arc<Self>,
        remote: &RemoteSettings,
        hello: &ClientHello,
        handler: Arc<dyn NotificationHandler>,
        limit: Duration,
    ) -> Result<Connected, Failure> {
        let deadline = Instant::now() + limit;
        let left = || deadline.saturating_duration_since(Instant::now());
        match self.settings.era {
            Era::Legacy => {
                let opened = self.connect_legacy(remote, hello, handler, limit).await;
                return match opened {
                    Ok((connected, _)) => Ok(connected),
                    Err(mut failure) => {
                        if failure.kind == FailureKind::UnsupportedRevision {
                            failure.detail += ", but \"era\" is \"legacy\"";
                        }
                        Err(failure)
                    }
                };
            }
            Era::Modern => return self.open_modern_http(remote, hello, handler, limit).await,
            Era::Auto => {}
        }
        if self.era() == Era::Modern {
            let opened = self.open_modern_http(remote, hello, handler.clone(), limit);
            match opened.await {
                Err(failure) if failure.kind.is_refusal() => self.doubt_era(&failure),
                settled => return settled.map(|connected| self.found_modern(connected, "")),
            }
        }
        let (mut legacy, has_session) = match self
            .connect_legacy(remote, hello, handler.clone(), left())
            .await
        {
            Ok(opened) => opened,
            Err(refused) if refused.is_answer => {
                let opened = self.open_modern_http(remote, hello, handler, left()).await;
                return match opened {
                    Ok(modern) => Ok(self.found_modern(modern, "it refuses initialize")),
                    // The server speaks a revision without initialize, but not ours.
                    Err(failure) if failure.kind == FailureKind::UnsupportedRevision => {
                        Err(failure)
                    }
                    Err(_) => Err(refused),
                };
            }
            Err(failure) => return Err(failure),
        };
        if has_session {
            let how = "initialize opens a session";
            legacy.found.era = Some(self.remember(Era::Legacy, how));
            return Ok(legacy);
        }
        if self.era() == Era::Legacy {
            legacy.found.era = Some(self.remember(Era::Legacy, ""));
            return Ok(legacy);
        }
        let limit = left().min(DISCOVER_TIMEOUT);
        match self.open_modern_http(remote, hello, handler, limit).await {
            Ok(modern) => {
                legacy.link.close().await;
                let how = "initialize opens no session, and server/discover works";
                Ok(self.found_modern(modern, how))
            }
            Err(_) => {
                let how = "initialize opens no session, but server/discover does not work";
                legacy.found.era = Some(self.remember(Era::Legacy, how));
                Ok(legacy)
            }
        }
    }

    /// Opens a link with `initialize`. Returns it, and true if the server opened a session.
    async fn connect_legacy(
        &self,
        remote: &RemoteSettings,
        hello: &ClientHello,
        handler: Arc<dyn NotificationHandler>,
        limit: Duration,
    ) -> Result<(Connected, bool), Failure> {
        let protocol = HttpProtocol::Streamable;
        let (link, hello) = self
            .open_http(remote, protocol, hello, handler, limit)
            .await?;
        let has_session = link.has_session();
        let connected = Connected {
            link: Link::legacy(Carrier::Http(link)),
            hello,
            found: Found::configured(Transport::Http),
        };
        Ok((connected, has_session))
    }

    fn found_modern(&self, mut connected: Connected, how: &'static str) -> Connected {
        connected.found.era = Some(self.remember(Era::Modern, how));
        connected
    }
}
