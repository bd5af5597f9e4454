//! Opening of sessions, and eviction when there are too many.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use narrows_policy::Principal;
use narrows_wire::{ItemKind, Raw, Revision};
use tokio::time::Instant;

use super::{Entrypoint, Gateway, Inner, Opened};
use crate::caller::Caller;
use crate::catalogue::View;
use crate::endpoint::{Endpoint, PresetView};
use crate::error::Error;
use crate::gateway_client::GatewayClient;
use crate::known_clients;
use crate::meter::{Evicted, RefusedFor};
use crate::observer::RequestObserver;
use crate::permit;
use crate::session::{Lifetime, NewSession, Session, SessionHost, SessionTimes};
use narrows_upstream::exchange::{ClientHello, EventSink};
use narrows_upstream::memory::ClientMemory;

/// The maximum size of a client's `initialize` data, which is kept as long as its session.
const MAX_HELLO: usize = 64 * 1024;

/// The time without a call, a stream or a message after which a session may be evicted to make room
/// for a new one.
const ABANDONED: Duration = Duration::from_secs(60);

impl Gateway {
    /// Opens a session for `initialize`. Waits for upstreams that are still starting, at most
    /// `initialize_wait`. Returns `None` if the entry point does not exist or the client may not
    /// use it.
    pub async fn open(
        &self,
        entrypoint: Entrypoint<'_>,
        principal: Principal,
        lifetime: Lifetime,
        revision: Revision,
        client: ClientHello,
    ) -> Option<Result<Opened, Error>> {
        let memory = self.memory_of(&principal).unwrap_or_else(|| self.memory());
        self.open_with(entrypoint, principal, lifetime, revision, client, memory)
            .await
    }

    /// Opens a session for a client that already has a memory account, for its connection or its
    /// token.
    pub async fn open_with(
        &self,
        entrypoint: Entrypoint<'_>,
        principal: Principal,
        lifetime: Lifetime,
        revision: Revision,
        client: ClientHello,
        memory: ClientMemory,
    ) -> Option<Result<Opened, Error>> {
        let began = Instant::now();
        let config = self.0.config();
        let endpoint = config.endpoint(entrypoint)?.clone();
        if self.is_draining() {
            return Some(Err(Error::ShuttingDown));
        }
        if let Principal::Client(_) = &principal {
            if !self.0.may_enter(&principal, entrypoint) {
                return None;
            }
            if let Err(refused) = self.0.services.clients.pass(&principal) {
                return Some(Err(refused));
            }
        }
        if client.capabilities.len() + client.client_info.len() > MAX_HELLO {
            let message = format!("capabilities and clientInfo are longer than {MAX_HELLO} bytes");
            return Some(Err(Error::BadParams(message)));
        }
        let client = ClientHello {
            capabilities: client.capabilities.detached(),
            client_info: client.client_info.detached(),
        };
        let lists_by = began + known_clients::list_wait(&config.settings, &client);
        let initialize_by = began + known_clients::initialize_wait(&config.settings, &client);
        let result_traits = known_clients::results(&config.settings, &client);
        drop(config);
        self.0.wait_until_ready(&endpoint, initialize_by).await;
        let caller = Caller {
            endpoint: endpoint.name.clone(),
            principal,
            revision,
            asks: client.asks(),
            result_traits,
            gateway: GatewayClient::of(&client, self.mark()),
            client,
        };
        let times = SessionTimes { began, lists_by };
        Some(self.0.admit(caller, lifetime, endpoint, times, memory))
    }
}

impl Inner {
    fn admit(
        self: &Arc<Self>,
        caller: Caller,
        lifetime: Lifetime,
        endpoint: Arc<Endpoint>,
        times: SessionTimes,
        memory: ClientMemory,
    ) -> Result<Opened, Error> {
        // Holding `built` keeps views and configuration unchanged: a concurrent change happens
        // before or after this session is added, and in either case includes it.
        let unchanged = self.built.lock();
        let config = self.config();
        let entrypoint = endpoint.entrypoint();
        if !config.has(&endpoint) || !self.may_enter(&caller.principal, entrypoint) {
            return Err(Error::SessionClosed);
        }
        let max = self.services.limits.max_sessions;
        let session_permit = self
            .services
            .clients
            .session_permit(&caller.principal, max)
            .or_else(|refused| {
                let abandoned = self.end_abandoned(Some(&caller.principal));
                let retry = || self.services.clients.session_permit(&caller.principal, max);
                abandoned.map_or(Err(refused), |()| retry())
            })?;
        let preset_view = config.preset_view(&endpoint, &config.bound(&caller.principal, None));
        let view = preset_view.view();
        self.check_server(&preset_view, &view)?;
        let revision = caller.revision;
        let mut sessions = self.sessions.lock();
        if sessions.len() >= max {
            // Released because ending a session takes this lock.
            drop(sessions);
            self.end_abandoned(None);
            sessions = self.sessions.lock();
        }
        // Checked under the lock that protects the insertion, so that a later shutdown finds this
        // session.
        if self.services.stop.is_cancelled() {
            return Err(Error::SessionClosed);
        }
        if self.drain.has_begun() {
            return Err(Error::ShuttingDown);
        }
        if sessions.len() >= max {
            self.meter().refused(RefusedFor::Sessions);
            return Err(Error::TooManySessions(max));
        }
        let (outbox, stream) = EventSink::channel(self.services.limits.client_queue);
        let serial = self.last_session.fetch_add(1, Ordering::Relaxed) + 1;
        let (meter, event_bus) = (self.meter(), &self.event_bus);
        let label = endpoint.label();
        let observer = RequestObserver::open(meter, event_bus, serial, label, &caller.principal);
        let host: Arc<dyn SessionHost> = self.clone();
        let session = Arc::new(Session::new(NewSession {
            serial,
            caller,
            lifetime,
            times,
            endpoint,
            preset_view,
            host: Arc::downgrade(&host),
            services: self.services.clone(),
            outbox,
            memory,
            session_permit,
            observer,
        }));
        sessions.insert(serial, session.clone());
        drop(sessions);
        drop(unchanged);
        session.survey();
        Ok(Opened {
            session,
            result: hello(&view, revision),
            outbox: stream,
        })
    }

    /// Checks that the only server of an endpoint is permitted and has not failed.
    fn check_server(&self, preset_view: &PresetView, view: &View) -> Result<(), Error> {
        let Some(only) = view.only() else {
            return Ok(());
        };
        let rules = preset_view.plan().rules(only.index);
        let (server, offer) = (permit::server_name(only), only.offer());
        let denial = permit::named(rules, ItemKind::Server, server, &offer, server.id);
        if let Some(denial) = denial {
            self.meter().denied(ItemKind::Server);
            return Err(permit::not_allowed(ItemKind::Server, server.id, &denial));
        }
        // The endpoint of a failed server cannot show anything. If the server is still starting,
        // its lists are announced later.
        if only.is_settled() {
            only.shared_link()?;
        }
        Ok(())
    }

    /// Evicts a session to make room for another. Chooses among the idle sessions of this client,
    /// or of the client with the most sessions, the one that has been silent for longest.
    fn end_abandoned(&self, of: Option<&Principal>) -> Option<()> {
        let mut held: HashMap<Option<Arc<str>>, usize> = HashMap::new();
        let mut abandoned = Vec::new();
        for session in self.all_sessions() {
            let client = match &session.caller().principal {
                Principal::Client(known) => Some(known.name.clone()),
                Principal::Local | Principal::Anonymous => None,
            };
            *held.entry(client.clone()).or_default() += 1;
            let fits = of.is_none_or(|of| session.caller().principal == *of);
            if fits && session.idle(ABANDONED) {
                abandoned.push((client, session));
            }
        }
        let rank = |(client, session): &(Option<Arc<str>>, Arc<Session>)| {
            (held.get(client).copied(), session.silence())
        };
        let (_, session) = abandoned.into_iter().max_by_key(rank)?;
        tracing::info!(
            session = session.serial(),
            "closing the longest idle session: max_sessions is reached"
        );
        session.close();
        self.meter().evicted(Evicted::Session);
        Some(())
    }
}

fn hello(view: &View, revision: Revision) -> Raw {
    let hello = Raw::empty_object()
        .with_member("protocolVersion", &Raw::string(revision.as_str()))
        .with_member("capabilities", &view.capabilities)
        .with_member("serverInfo", &view.server_info);
    match &view.instructions {
        Some(instructions) => hello.with_member("instructions", &Raw::string(instructions)),
        None => hello,
    }
}
