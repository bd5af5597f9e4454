//! The transport of a link. Only this module knows all of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::Upstream;
use super::starts::StartSlot;
use crate::carrier::Carrier;
use crate::channel::Channel;
use crate::duplex::{Duplex, MessageQuoter};
use crate::exchange::ClientHello;
use crate::failure::{Failure, FailureKind, Found};
use crate::handler::NotificationHandler;
use crate::handshake::ServerHello;
use crate::http::{HttpLink, HttpProtocol};
use crate::link::Link;
use crate::modern::{Modern, StreamHandler};
use crate::settings::{Era, RemoteProtocol, RemoteSettings, Transport, UpstreamKind};
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
        match transport {
            Transport::Http => {
                return Box::pin(self.connect_http(remote, hello, handler, limit)).await;
            }
            Transport::Rpc => {}
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
            Transport::Stdio | Transport::Builtin => {
                unreachable!("stdio and built-in servers have no URL")
            }
        }
        let (link, hello) = self
            .open_http(remote, HttpProtocol::Rpc, hello, handler, limit)
            .await?;
        Ok(Connected {
            link: Link::legacy(Carrier::Http(link)),
            hello,
            found: Found::configured(transport),
        })
    }

    /// Opens a link over HTTP that starts with `initialize`.
    pub(super) async fn open_http(
        &self,
        remote: &RemoteSettings,
        protocol: HttpProtocol,
        hello: &ClientHello,
        handler: Arc<dyn NotificationHandler>,
        limit: Duration,
    ) -> Result<(Arc<HttpLink>, ServerHello), Failure> {
        HttpLink::open(
            self.context.http.clone(),
            remote,
            protocol,
            self.slug.clone(),
            self.next_serial(),
            hello,
            handler,
            self.context.limits.max_message_bytes,
            limit,
        )
        .await
    }

    /// Opens a link over HTTP to a server of the modern era.
    pub(super) async fn open_modern_http(
        &self,
        remote: &RemoteSettings,
        hello: &ClientHello,
        handler: Arc<dyn NotificationHandler>,
        limit: Duration,
    ) -> Result<Connected, Failure> {
        let handler = StreamHandler::new(handler);
        let serial = self.next_serial();
        let link = HttpLink::new(
            self.context.http.clone(),
            remote,
            HttpProtocol::Modern,
            self.slug.clone(),
            serial,
            hello,
            handler.clone(),
            self.context.limits.max_message_bytes,
            limit,
        )?;
        let server = link.discover().await?;
        let carrier = Carrier::Http(link);
        let link = self.modern_link(carrier, serial, hello, &server, handler);
        Ok(Connected {
            link,
            hello: server,
            found: Found::configured(Transport::Http),
        })
    }

    fn modern_link(
        &self,
        carrier: Carrier,
        serial: u64,
        client: &ClientHello,
        server: &ServerHello,
        handler: Arc<StreamHandler>,
    ) -> Link {
        let params = self.connection.param_headers.clone();
        let slug = self.slug.clone();
        let modern = Modern::new(&carrier, slug, serial, client, server, params, handler);
        Link::modern(carrier, Arc::new(modern))
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
        // Custom transports keep their sessions.
        let era = match transport {
            Transport::Stdio => self.era(),
            _ => Era::Legacy,
        };
        let handler = StreamHandler::new(handler);
        let opening = Duplex::open(
            channel,
            slug,
            serial,
            quoter,
            hello,
            handler.clone(),
            limit,
            era,
            tasks,
        );
        let (link, server) = match opening.await {
            Err(failure) => {
                self.doubt_era(&failure);
                return Err(failure);
            }
            Ok(opened) => opened,
        };
        let mut found = Found::configured(transport);
        let carrier = Carrier::Duplex(link);
        if server.revision.is_legacy() {
            return Ok(Connected {
                link: Link::legacy(carrier),
                hello: server,
                found,
            });
        }
        found.era = match self.settings.era {
            Era::Auto => Some(self.remember(Era::Modern, "it refuses initialize")),
            _ => None,
        };
        Ok(Connected {
            link: self.modern_link(carrier, serial, hello, &server, handler),
            hello: server,
            found,
        })
    }

    fn next_serial(&self) -> u64 {
        self.context.links.fetch_add(1, Ordering::Relaxed)
    }
}
