//! The transport of a link. Only this module knows all of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::Upstream;
use super::starts::StartSlot;
use crate::channel::Channel;
use crate::duplex::{Duplex, MessageQuoter};
use crate::exchange::ClientHello;
use crate::failure::{Failure, FailureKind, Found};
use crate::handler::NotificationHandler;
use crate::handshake::ServerHello;
use crate::http::{HttpLink, HttpProtocol};
use crate::link::{Link, LinkTransport};
use crate::settings::{RemoteProtocol, RemoteSettings, Transport, UpstreamKind};
use crate::stdio::StderrHistory;
use crate::{sse, stdio, ws};

/// A new connection.
pub(super) struct Connected {
    pub(super) link: Link,
    pub(super) hello: ServerHello,
    pub(super) found: Found,
}

impl Connected {
    fn found_by(mut self, how: String) -> Connected {
        self.found.how = Some(how);
        self
    }
}

impl Upstream {
    /// Waits for a slot to start a child process. Returns `None` immediately for servers without
    /// one.
    pub(super) async fn start_slot(&self) -> Option<StartSlot> {
        match self.settings.kind {
            UpstreamKind::Stdio(_) => Some(self.context.starts.acquire().await),
            UpstreamKind::Remote(_) | UpstreamKind::Builtin(_) => None,
        }
    }

    /// Waits for a start slot, then opens and initialises a connection.
    pub(super) async fn connect(
        self: &Arc<Self>,
        hello: &ClientHello,
        handler: Arc<dyn NotificationHandler>,
    ) -> Result<Connected, Failure> {
        let slot = self.start_slot().await;
        self.connect_in(slot, hello, handler, None).await
    }

    /// Opens and initialises a connection. `history` contains the stderr of earlier processes of
    /// the server.
    pub(super) async fn connect_in(
        self: &Arc<Self>,
        slot: Option<StartSlot>,
        hello: &ClientHello,
        handler: Arc<dyn NotificationHandler>,
        history: Option<&Arc<StderrHistory>>,
    ) -> Result<Connected, Failure> {
        let context = &self.context;
        let max = context.limits.max_message_bytes;
        let channel = match &self.settings.kind {
            UpstreamKind::Remote(remote) if remote.protocol == RemoteProtocol::HttpOrSse => {
                return self.connect_auto(remote, hello, handler).await;
            }
            UpstreamKind::Remote(remote) => {
                let (transport, limit) =
                    (remote.protocol.transport(), self.settings.startup_timeout);
                return self
                    .connect_to(remote, transport, hello, handler, limit)
                    .await;
            }
            UpstreamKind::Stdio(settings) => stdio::open(
                settings,
                self.slug.clone(),
                &context.guard,
                &context.chain,
                history,
                max,
                context.limits.grace,
            )?,
            UpstreamKind::Builtin(which) => context.builtins.open(*which),
        };
        let startup = self.settings.startup_timeout;
        let transport = self.settings.kind.transport();
        let greeting = self.greet(channel, transport, hello, handler, startup);
        match slot {
            Some(slot) => slot.hold(greeting).await,
            None => greeting.await,
        }
    }

    /// Tries Streamable HTTP, then the older HTTP+SSE (MCP 2025-03-26, transports, backwards
    /// compatibility: a refused POST, then a GET).
    async fn connect_auto(
        self: &Arc<Self>,
        remote: &RemoteSettings,
        hello: &ClientHello,
        handler: Arc<dyn NotificationHandler>,
    ) -> Result<Connected, Failure> {
        let deadline = Instant::now() + self.settings.startup_timeout;
        let left = || deadline.saturating_duration_since(Instant::now());
        // The server used HTTP+SSE last time and most likely still does.
        let known = self.connection.sse_reason.lock().clone();
        if let Some(how) = known {
            let older = self.connect_to(remote, Transport::Sse, hello, handler.clone(), left());
            match older.await {
                Err(failure) if failure.kind == FailureKind::WrongTransport => {
                    *self.connection.sse_reason.lock() = None;
                }
                settled => return settled.map(|connected| connected.found_by(how)),
            }
        }
        let present = self.connect_to(remote, Transport::Http, hello, handler.clone(), left());
        let refused = match present.await {
            Err(failure) if failure.kind == FailureKind::WrongTransport => failure,
            settled => return settled,
        };
        let older = self.connect_to(remote, Transport::Sse, hello, handler, left());
        match older.await {
            Ok(connected) => {
                *self.connection.sse_reason.lock() = Some(refused.detail.clone());
                Ok(connected.found_by(refused.detail))
            }
            // The server speaks neither transport. The response over Streamable HTTP is more
            // informative.
            Err(Failure {
                kind: FailureKind::WrongTransport | FailureKind::TimedOut,
                ..
            }) => Err(refused),
            Err(failure) => Err(failure),
        }
    }

    /// Opens and initialises a connection over `transport`, ignoring the configured one.
    pub(super) async fn connect_to(
        self: &Arc<Self>,
        remote: &RemoteSettings,
        transport: Transport,
        hello: &ClientHello,
        handler: Arc<dyn NotificationHandler>,
        limit: Duration,
    ) -> Result<Connected, Failure> {
        let context = &self.context;
        let max = context.limits.max_message_bytes;
        let protocol = match transport {
            Transport::Rpc => HttpProtocol::Rpc,
            Transport::Sse | Transport::WebSocket => {
                let began = Instant::now();
                let opening = async {
                    match transport {
                        Transport::WebSocket => ws::open(&context.http, remote, max).await,
                        _ => sse::open(&context.http, remote, self.slug.clone(), max).await,
                    }
                };
                let late = |_| {
                    let detail = format!("not connected within {:.1} s", limit.as_secs_f64());
                    Failure::new(FailureKind::TimedOut, detail)
                };
                let opened = tokio::time::timeout(limit, Box::pin(opening)).await;
                let channel = opened.map_err(late)??;
                let left = limit.saturating_sub(began.elapsed());
                return self.greet(channel, transport, hello, handler, left).await;
            }
            Transport::Http => HttpProtocol::Streamable,
            Transport::Stdio | Transport::Builtin => {
                unreachable!("stdio and built-in servers have no URL")
            }
        };
        let (link, hello) = HttpLink::open(
            context.http.clone(),
            remote,
            protocol,
            self.slug.clone(),
            self.next_serial(),
            hello,
            handler,
            max,
            limit,
        )
        .await?;
        Ok(Connected {
            link: Link(LinkTransport::Http(link)),
            hello,
            found: Found::configured(transport),
        })
    }

    async fn greet(
        &self,
        channel: Channel,
        transport: Transport,
        hello: &ClientHello,
        handler: Arc<dyn NotificationHandler>,
        limit: Duration,
    ) -> Result<Connected, Failure> {
        let (slug, tasks) = (self.slug.clone(), &self.context.tasks);
        let serial = self.next_serial();
        let quoter = MessageQuoter {
            secrets: self.secrets.clone(),
            is_stdout: transport == Transport::Stdio,
        };
        let opened =
            Duplex::open(channel, slug, serial, quoter, hello, handler, limit, tasks).await;
        opened.map(|(link, hello)| Connected {
            link: Link(LinkTransport::Duplex(link)),
            hello,
            found: Found::configured(transport),
        })
    }

    fn next_serial(&self) -> u64 {
        self.context.links.fetch_add(1, Ordering::Relaxed)
    }
}
