//! Operations for operators at run time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use narrows_policy::Principal;
use narrows_wire::Raw;
use tokio::time::timeout;

use super::active_config::{ActiveConfig, Replacement, difference};
use super::{Applied, Gateway, Inner, SharedLinkHandler};
use crate::call::ViewSource;
use crate::endpoint::{ClientPresets, Endpoint};
use crate::event_bus::GatewayEvent;
use crate::session::{Session, SessionHost};
use crate::settings::{EndpointSettings, Expose, ModelReads, Settings};
use narrows_upstream::{ListKind, SharedNotificationHandler, Upstream, supervise};

/// The maximum time that a replaced instance of a server keeps running for its last calls.
const LONGEST_CALL: Duration = Duration::from_secs(3_600);

/// The maximum length of a program's name in reports. The name comes from the client and may have
/// any length.
const MAX_NAME: usize = 100;

/// A session, for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionReport {
    /// The number of the session. Not secret, unlike the value of `mcp-session-id`.
    pub number: u64,
    /// The name of an endpoint, such as `default` or `lazy`, or the id of a server.
    pub endpoint: String,
    /// True if `endpoint` is the id of a server.
    pub is_server: bool,
    pub client: Option<String>,
    /// The name of the client program, from its `clientInfo`.
    pub program: Option<String>,
    pub revision: &'static str,
    /// The half of a result that the client's model reads, if known.
    pub model_reads: Option<ModelReads>,
    /// The preset that was chosen for this session.
    pub own_preset: Option<String>,
    /// The ids of all presets in force.
    pub presets: Vec<String>,
    pub age: Duration,
    /// The time since the last message from the client.
    pub silence: Duration,
    pub calls_in_flight: usize,
    pub calls: u64,
}

/// An endpoint that joins all servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointReport {
    pub name: String,
    pub preset: Option<String>,
    /// `all`, `lazy` or `search`.
    pub expose: &'static str,
    pub sessions: usize,
    /// The number of tools listed to a client without a preset of its own.
    pub tools: usize,
    pub prompts: usize,
    pub resources: usize,
}

/// The reason why the preset of a session was not switched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SwitchError {
    #[error("there is no session {0}")]
    UnknownSession(u64),
    #[error("there is no preset '{0}'")]
    UnknownPreset(String),
}

impl Gateway {
    /// Applies new settings. Affects only what differs: sessions stay open, and calls in flight
    /// finish on their current servers. Settings that cannot change at run time are left unchanged
    /// and reported.
    pub fn apply(&self, settings: Settings) -> Applied {
        let inner = &self.0;
        let mut built = inner.built.lock();
        let old = inner.config();
        let applied = difference(&old.settings, &settings);
        let lasting = old.settings.clone();
        let settings = Settings {
            initialize_wait: lasting.initialize_wait,
            list_wait: lasting.list_wait,
            list_wait_by_client: lasting.list_wait_by_client,
            limits: lasting.limits,
            guard: lasting.guard,
            subreaper: lasting.subreaper,
            proxy: lasting.proxy,
            recovery: lasting.recovery,
            pruner: lasting.pruner,
            ..settings
        };
        if settings == old.settings {
            return applied;
        }
        let (next, replacements) = old.next(settings, &inner.context);
        inner.activate(&mut built, next, replacements);
        drop(built);
        inner.meter().reloaded(true);
        inner
            .event_bus
            .emit(|| GatewayEvent::SettingsChanged(applied.clone()));
        applied
    }

    /// Reconnects a server. Returns false if the server does not exist or is disabled.
    pub fn restart(&self, server: &str) -> bool {
        let inner = &self.0;
        let mut built = inner.built.lock();
        let Some((next, replacements)) = inner.config().with_restarted(server, &inner.context)
        else {
            return false;
        };
        inner.activate(&mut built, next, replacements);
        true
    }

    /// Returns all sessions, the oldest first.
    pub fn sessions(&self) -> Vec<SessionReport> {
        let mut sessions = self.0.all_sessions();
        sessions.sort_by_key(|session| session.serial());
        sessions.iter().map(report).collect()
    }

    /// Returns all endpoints that join all servers.
    pub fn endpoints(&self) -> Vec<EndpointReport> {
        self.0.refresh_views();
        let config = self.0.config();
        let sessions = self.0.all_sessions();
        let report = |(endpoint, settings): (&Arc<Endpoint>, &EndpointSettings)| {
            let view = config
                .preset_view(endpoint, &ClientPresets::default())
                .view();
            let count = |kind: ListKind| view.listing(kind).len();
            let here = |session: &&Arc<Session>| Arc::ptr_eq(session.endpoint(), endpoint);
            EndpointReport {
                name: settings.name.clone(),
                preset: settings.preset.clone(),
                expose: match settings.expose {
                    Expose::All => "all",
                    Expose::Lazy => "lazy",
                    Expose::Search => "search",
                },
                sessions: sessions.iter().filter(here).count(),
                tools: count(ListKind::Tools),
                prompts: count(ListKind::Prompts),
                resources: count(ListKind::Resources),
            }
        };
        let endpoints = config.endpoints.iter().zip(&config.settings.endpoints);
        endpoints.map(report).collect()
    }

    /// Replaces the endpoint's preset for one session. `None` restores the endpoint's preset.
    pub fn switch_session(&self, session: u64, preset: Option<&str>) -> Result<(), SwitchError> {
        let inner = &self.0;
        let _unchanged = inner.built.lock();
        let config = inner.config();
        if let Some(id) = preset
            && !config.presets.has(id)
        {
            return Err(SwitchError::UnknownPreset(id.to_owned()));
        }
        let found = inner.sessions.lock().get(&session).cloned();
        let found = found.ok_or(SwitchError::UnknownSession(session))?;
        let old = found.view();
        found.choose_preset(preset);
        inner.update_presets(&found, &config);
        let endpoint = found.endpoint().label();
        inner.notify_changed_sessions(vec![(found, old)], &config.parts());
        inner
            .event_bus
            .emit(|| GatewayEvent::ListsChanged { endpoint });
        inner.event_bus.emit(|| GatewayEvent::PresetSwitched {
            session,
            preset: preset.map(str::to_owned),
        });
        Ok(())
    }

    /// Ends a session. Returns false if there is no session of this number.
    pub fn end_session(&self, session: u64) -> bool {
        let found = self.0.sessions.lock().get(&session).cloned();
        found.inspect(|session| session.close()).is_some()
    }
}

impl Inner {
    /// Replaces the configuration. The caller holds the lock of `built`, so that no other task
    /// builds views or opens sessions at the same time.
    fn activate(
        self: &Arc<Self>,
        built: &mut u64,
        next: ActiveConfig,
        replacements: Vec<Replacement>,
    ) {
        let count = self.upstream_context.changes.count();
        let seen = self.seen();
        for endpoint in next.entrypoints() {
            if endpoint.renew(&next.parts(), |presets| next.plan(endpoint, presets)) {
                self.event_bus.emit(|| GatewayEvent::ListsChanged {
                    endpoint: endpoint.label(),
                });
            }
        }
        let next = Arc::new(next);
        self.config.store(next.clone());
        *built = count;
        self.services.clients.replace(&next.settings.clients);
        let mut staying = Vec::new();
        for (session, view) in seen {
            // A connection must not outlive the token that opened it.
            let principal = &session.caller().principal;
            let stays = next.has(session.endpoint())
                && self.may_enter(principal, session.endpoint().entrypoint());
            match stays {
                true => {
                    self.update_presets(&session, &next);
                    staying.push((session, view));
                }
                false => session.close(),
            }
        }
        self.notify_changed_sessions(staying, &next.parts());
        self.meter().retain(
            |id| next.serves(id),
            |entrypoint| next.entrypoints().any(|own| *own.label() == *entrypoint),
        );
        for Replacement { old, new } in replacements {
            if let Some(old) = &old {
                old.retire(new.clone());
            }
            if let Some(new) = &new {
                new.observer().state_changed(&new.state());
            }
            let inner = self.clone();
            self.services
                .tasks
                .spawn(async move { inner.replace_instance(old, new).await });
        }
    }

    /// Switches a session to the view under the presets that now bind it.
    fn update_presets(&self, session: &Session, config: &ActiveConfig) {
        let bound = config.bound(&session.caller().principal, session.own_preset());
        session.set_preset_view(config.preset_view(session.endpoint(), &bound));
    }

    /// Ends one instance of a server and starts the next. Both run at the same time only while
    /// calls are in flight, which must not be lost. Otherwise the old instance ends first, because
    /// the server may need exclusive resources.
    async fn replace_instance(
        self: Arc<Self>,
        old: Option<Arc<Upstream>>,
        new: Option<Arc<Upstream>>,
    ) {
        let busy = match &old {
            Some(old) if old.calls_in_flight() > 0 => true,
            Some(old) => {
                self.end(old).await;
                false
            }
            None => false,
        };
        if let Some(new) = &new {
            self.begin(new);
        }
        if let Some(old) = old.filter(|_| busy) {
            tokio::select! {
                _ = timeout(LONGEST_CALL, old.drained()) => {}
                () = self.services.stop.cancelled() => {}
            }
            self.end(&old).await;
        }
    }

    async fn end(&self, old: &Arc<Upstream>) {
        let sessions = self.all_sessions();
        let links = sessions.iter().filter_map(|own| own.give_up_link(old));
        let links: Vec<_> = links.collect();
        old.end();
        join_all(links.iter().map(|link| link.close())).await;
        // The end of a server has its own limits. This is a safeguard.
        let limit = self.services.limits.grace + Duration::from_secs(5);
        if timeout(limit, old.gone()).await.is_err() {
            tracing::warn!(server = %old.settings.id, "the server did not stop in time");
        }
        // The server may have been added again with a new instance.
        if self.config().numbered(old.index).is_none() {
            self.upstream_context.definitions.forget(old.index);
        }
    }

    /// Starts the supervision of a server instance, unless the instance has been retired.
    pub(super) fn begin(self: &Arc<Self>, upstream: &Arc<Upstream>) {
        if upstream.is_retired() || !upstream.settings.enabled {
            return upstream.mark_gone();
        }
        let ears: Arc<dyn SharedNotificationHandler> =
            Arc::new(SharedLinkHandler(Arc::downgrade(self)));
        let upstream = upstream.clone();
        self.services.tasks.spawn(async move {
            supervise(upstream.clone(), upstream.ending(), ears).await;
            upstream.mark_gone();
        });
    }

    pub(super) fn all_sessions(&self) -> Vec<Arc<Session>> {
        self.sessions.lock().values().cloned().collect()
    }
}

fn report(session: &Arc<Session>) -> SessionReport {
    let caller = session.caller();
    let face = session.preset_view();
    let presets = face.plan().preset.iter().flat_map(|preset| preset.each());
    let name = caller.client.client_info.member("name");
    let name = name.as_ref().and_then(Raw::as_text);
    SessionReport {
        number: session.serial(),
        endpoint: caller.endpoint.to_string(),
        is_server: session.endpoint().single,
        client: match &caller.principal {
            Principal::Client(known) => Some(known.name.to_string()),
            Principal::Local | Principal::Anonymous => None,
        },
        program: name.map(|name| name.chars().take(MAX_NAME).collect()),
        revision: caller.revision.as_str(),
        model_reads: session.result_traits().reads,
        own_preset: session.own_preset(),
        presets: presets.map(|preset| preset.id().to_string()).collect(),
        age: session.age(),
        silence: session.silence(),
        calls_in_flight: session.calls_in_flight(),
        calls: session.request_count(),
    }
}
