//! The configuration in force: servers, endpoints and presets. An immutable snapshot that is
//! replaced by the next one.

use std::collections::HashMap;
use std::sync::Arc;

use narrows_policy::Principal;
use narrows_policy::names;
use narrows_policy::preset::{Preset, Presets};

use super::{Applied, Entrypoint};
use crate::catalogue::{EndpointScope, ViewPart, ViewPlan};
use crate::endpoint::{ClientPresets, Endpoint, PresetView};
use crate::event_bus::EventBus;
use crate::meter::Meter;
use crate::plain::{PlainOnly, PlainRoutes, PlainServices};
use crate::server_observer::ServerObserver;
use crate::settings::{
    ClientSettings, EndpointSettings, RpcServer, ServerSettings, Settings, UpstreamKind,
    UpstreamSettings,
};
use narrows_results::shaping::{Policies, Shaping};
use narrows_upstream::{Upstream, UpstreamContext, UpstreamObserver};

pub(crate) struct ActiveConfig {
    pub(crate) settings: Settings,
    /// All servers, in the order of the settings.
    pub(crate) upstreams: Vec<Arc<Upstream>>,
    /// The endpoints that join all upstreams.
    pub(crate) endpoints: Vec<Arc<Endpoint>>,
    /// The endpoints of single upstreams, in the order of the upstreams.
    pub(crate) singles: Vec<Arc<Endpoint>>,
    pub(crate) presets: Presets,
    pub(crate) plain_routes: PlainRoutes,
}

/// The inputs of configurations that outlive each of them.
pub(crate) struct ConfigContext {
    pub(crate) upstream_context: Arc<UpstreamContext>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) event_bus: Arc<EventBus>,
    pub(super) shaping: Arc<Shaping>,
    pub(super) plain: Arc<PlainServices>,
}

impl ConfigContext {
    /// Returns the observer of a server, by the server's id.
    pub(crate) fn observer(&self, id: &str) -> Arc<dyn UpstreamObserver> {
        Arc::new(ServerObserver::new(id, &self.meter, &self.event_bus))
    }
}

impl ConfigContext {
    /// Creates a server that is reachable only by plain JSON-RPC.
    fn plain_only(&self, own: &RpcServer) -> PlainOnly {
        let around = self.upstream_context.clone();
        let index = around.numbers.of(&own.id);
        let kind = UpstreamKind::Remote(own.remote.clone());
        let settings = UpstreamSettings::new(&own.id, kind);
        let observer = self.observer(&own.id);
        PlainOnly {
            upstream: Arc::new(Upstream::new(index, &own.id, settings, around, observer)),
            mask: own.mask,
            timeout: own.timeout,
        }
    }
}

/// A server that is started, replaced or stopped.
pub(super) struct Replacement {
    pub(super) old: Option<Arc<Upstream>>,
    pub(super) new: Option<Arc<Upstream>>,
}

impl ActiveConfig {
    pub(super) fn first(settings: Settings, context: &ConfigContext) -> ActiveConfig {
        let slugs = slugs(&settings);
        let upstreams = settings.upstreams.iter().zip(slugs).map(|(own, slug)| {
            let around = context.upstream_context.clone();
            let index = around.numbers.of(&own.upstream.id);
            let observer = context.observer(&own.upstream.id);
            let settings = own.upstream.clone();
            Arc::new(Upstream::new(index, &slug, settings, around, observer))
        });
        let upstreams = upstreams.collect();
        ActiveConfig::of(settings, upstreams, context, None)
    }

    /// Returns the next configuration, and the servers that have to be started, replaced or stopped
    /// for it.
    pub(super) fn next(
        &self,
        settings: Settings,
        context: &ConfigContext,
    ) -> (ActiveConfig, Vec<Replacement>) {
        let mut replacements = Vec::new();
        let slugs = slugs(&settings);
        let mut upstreams = Vec::new();
        for (server, slug) in settings.upstreams.iter().zip(slugs) {
            let own = &server.upstream;
            let old = self.upstream(&own.id);
            let upstream = match old {
                Some(old) if old.can_keep_running(own, &slug) => old.clone(),
                Some(old) => Arc::new(old.successor(own.clone(), &slug)),
                None => {
                    let around = context.upstream_context.clone();
                    let index = around.numbers.of(&own.id);
                    let observer = context.observer(&own.id);
                    let settings = own.clone();
                    Arc::new(Upstream::new(index, &slug, settings, around, observer))
                }
            };
            if !old.is_some_and(|old| Arc::ptr_eq(old, &upstream)) {
                replacements.push(Replacement {
                    old: old.cloned(),
                    new: Some(upstream.clone()),
                });
            }
            upstreams.push(upstream);
        }
        let is_gone = |old: &&Arc<Upstream>| {
            let mut ids = settings.upstreams.iter().map(|own| &own.upstream.id);
            !ids.any(|id| *id == old.settings.id)
        };
        replacements.extend(
            self.upstreams
                .iter()
                .filter(is_gone)
                .map(|old| Replacement {
                    old: Some(old.clone()),
                    new: None,
                }),
        );
        let next = ActiveConfig::of(settings, upstreams, context, Some(self));
        (next, replacements)
    }

    /// Returns the configuration with one server restarted, or `None` if the server does not exist
    /// or is disabled.
    pub(super) fn with_restarted(
        &self,
        id: &str,
        context: &ConfigContext,
    ) -> Option<(ActiveConfig, Vec<Replacement>)> {
        let found = |upstream: &&Arc<Upstream>| upstream.settings.id == id;
        let old = self.upstreams.iter().find(found)?;
        if !old.settings.enabled {
            return None;
        }
        // Taken from the configuration, because the instance's own settings may be out of date.
        let mut all = self.settings.upstreams.iter();
        let settings = all.find(|own| own.upstream.id == id)?;
        let new = Arc::new(old.successor(settings.upstream.clone(), &old.slug));
        let one = |upstream: &Arc<Upstream>| match Arc::ptr_eq(upstream, old) {
            true => new.clone(),
            false => upstream.clone(),
        };
        let upstreams = self.upstreams.iter().map(one).collect();
        let next = ActiveConfig::of(self.settings.clone(), upstreams, context, Some(self));
        let replacement = Replacement {
            old: Some(old.clone()),
            new: Some(new),
        };
        Some((next, vec![replacement]))
    }

    fn of(
        settings: Settings,
        upstreams: Vec<Arc<Upstream>>,
        context: &ConfigContext,
        before: Option<&ActiveConfig>,
    ) -> ActiveConfig {
        let mut endpoints = settings.endpoints.iter();
        let default = endpoints.find(|endpoint| endpoint.name == "default");
        let default = default.and_then(|endpoint| endpoint.preset.as_deref());
        let presets = Presets::new(&settings.presets, default);
        let endpoint = |name: &str, single: bool| {
            let existing = before.and_then(|before| before.named(name, single));
            let new = || Arc::new(Endpoint::new(name, single, context.shaping.clone()));
            existing.cloned().unwrap_or_else(new)
        };
        let endpoints = settings.endpoints.iter();
        let endpoints = endpoints.map(|own| endpoint(&own.name, false)).collect();
        let singles = settings.upstreams.iter();
        let singles = singles
            .map(|own| endpoint(&own.upstream.id, true))
            .collect();
        let servers: Vec<_> = upstreams.iter().zip(&settings.upstreams).collect();
        let others = settings
            .rpc_servers
            .iter()
            .map(|own| context.plain_only(own));
        let services = context.plain.clone();
        let plain_routes = PlainRoutes::new(&servers, others.collect(), &presets, services);
        let config = ActiveConfig {
            endpoints,
            singles,
            plain_routes,
            presets,
            upstreams,
            settings,
        };
        // Built even without clients, because operators see these views too.
        for endpoint in config.entrypoints() {
            config.preset_view(endpoint, &ClientPresets::default());
        }
        config
    }

    pub(crate) fn endpoint(&self, entrypoint: Entrypoint<'_>) -> Option<&Arc<Endpoint>> {
        match entrypoint {
            Entrypoint::Endpoint(name) => self.named(name, false),
            Entrypoint::Server(id) => {
                let by_slug = || {
                    let mut all = self.upstreams.iter();
                    all.find(|upstream| &*upstream.slug == id)
                };
                let upstream = self.upstream(id).or_else(by_slug)?;
                self.named(&upstream.settings.id, true)
            }
        }
    }

    /// Returns true if the endpoint belongs to this configuration.
    pub(super) fn has(&self, endpoint: &Arc<Endpoint>) -> bool {
        let mut all = self.entrypoints();
        all.any(|other| Arc::ptr_eq(other, endpoint))
    }

    pub(super) fn entrypoints(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        self.endpoints.iter().chain(&self.singles)
    }

    /// Returns a server by its id.
    pub(crate) fn upstream(&self, id: &str) -> Option<&Arc<Upstream>> {
        let mut all = self.upstreams.iter();
        all.find(|upstream| upstream.settings.id == id)
    }

    /// Returns the servers of an endpoint: all servers, or its only one.
    pub(super) fn behind(&self, endpoint: &Endpoint) -> impl Iterator<Item = &Arc<Upstream>> {
        let (single, name) = (endpoint.single, endpoint.name.clone());
        let all = self.upstreams.iter();
        all.filter(move |upstream| !single || *upstream.settings.id == *name)
    }

    /// Returns true if the configuration has a server of this id, for MCP or plain JSON-RPC.
    pub(super) fn serves(&self, id: &str) -> bool {
        let mut plain = self.settings.rpc_servers.iter();
        self.upstream(id).is_some() || plain.any(|own| own.id == id)
    }

    /// Returns a server by the number of its id.
    pub(crate) fn numbered(&self, index: usize) -> Option<&Arc<Upstream>> {
        let mut all = self.upstreams.iter();
        all.find(|upstream| upstream.index == index)
    }

    pub(crate) fn parts(&self) -> Vec<ViewPart> {
        let part = |upstream: &Arc<Upstream>| ViewPart {
            upstream: upstream.clone(),
            offer: upstream.offer(),
        };
        self.upstreams.iter().map(part).collect()
    }

    /// Returns the view of an endpoint for clients under these presets.
    pub(super) fn preset_view(
        &self,
        endpoint: &Endpoint,
        presets: &ClientPresets,
    ) -> Arc<PresetView> {
        endpoint.preset_view(presets, || {
            PresetView::new(self.plan(endpoint, presets), &self.parts())
        })
    }

    /// Returns the plan for the views of an endpoint under these presets. The views of a removed
    /// endpoint are empty.
    pub(super) fn plan(&self, endpoint: &Endpoint, bound: &ClientPresets) -> ViewPlan {
        let servers = || {
            let numbers = self.upstreams.iter().map(|upstream| upstream.index);
            numbers.zip(&self.settings.upstreams)
        };
        let shapes = || servers().map(|(number, own)| (number, own.server_shape()));
        let top = self.settings.shape;
        let (scope, policies, own) = match endpoint.single {
            true => {
                let server = servers().find(|(_, own)| *own.upstream.id == *endpoint.name);
                let (index, shape, own) = match server {
                    Some((index, own)) => (index, own.shape, self.presets.direct(&own.preset)),
                    None => (usize::MAX, top, Some(Arc::new(Preset::nothing("")))),
                };
                let policies = Policies::single(top, shape, shapes());
                (EndpointScope::Single(index), policies, own)
            }
            false => {
                let mut all = self.settings.endpoints.iter();
                let settings = all.find(|own| *own.name == *endpoint.name).cloned();
                let settings = settings.unwrap_or_else(|| gone(&endpoint.name));
                let policies = Policies::joined(top, settings.shape, shapes())
                    .with_structured(settings.structured);
                let own = settings.preset.as_deref().map(|id| self.presets.get(id));
                (EndpointScope::Joined(settings), policies, own)
            }
        };
        let filters = servers().map(|(number, own)| (number, &own.tool_filter));
        let named = |id: &Option<String>| id.as_deref().map(|id| self.presets.get(id));
        let own = named(&bound.instead).or(own);
        ViewPlan {
            scope,
            preset: Preset::both(own, named(&bound.additional)),
            filters: Arc::new(filters.collect()),
            policies: Arc::new(policies),
            instructions_max_chars: self.settings.instructions_max_chars,
        }
    }

    /// Returns the presets that bind a client.
    pub(super) fn bound(&self, principal: &Principal, instead: Option<String>) -> ClientPresets {
        ClientPresets {
            instead,
            additional: self.client(principal).and_then(|own| own.preset.clone()),
        }
    }

    /// Returns the client's own preset.
    pub(super) fn preset_of(&self, principal: &Principal) -> Option<Arc<Preset>> {
        let id = self.client(principal)?.preset.as_deref()?;
        Some(self.presets.get(id))
    }

    fn client(&self, principal: &Principal) -> Option<&ClientSettings> {
        let Principal::Client(known) = principal else {
            return None;
        };
        let mut all = self.settings.clients.iter();
        all.find(|own| *own.name == *known.name)
    }

    fn named(&self, name: &str, single: bool) -> Option<&Arc<Endpoint>> {
        let mut all = match single {
            true => self.singles.iter(),
            false => self.endpoints.iter(),
        };
        all.find(|endpoint| *endpoint.name == *name)
    }
}

/// Returns settings for an endpoint that was removed.
fn gone(name: &str) -> EndpointSettings {
    let mut settings = EndpointSettings::named(name);
    // An unknown preset allows nothing.
    settings.preset = Some(String::new());
    settings
}

fn slugs(settings: &Settings) -> Vec<String> {
    let ids = settings
        .upstreams
        .iter()
        .map(|own| own.upstream.id.as_str());
    names::slugs(&ids.collect::<Vec<_>>())
}

/// Returns the names of everything that differs between two settings.
pub(super) fn difference(old: &Settings, new: &Settings) -> Applied {
    let mut applied = Applied::default();
    let by_id = |all: &[ServerSettings]| -> HashMap<String, ServerSettings> {
        let one = |own: &ServerSettings| (own.upstream.id.clone(), own.clone());
        all.iter().map(one).collect()
    };
    let before = by_id(&old.upstreams);
    for own in &new.upstreams {
        let upstream = &own.upstream;
        let list = match before.get(&upstream.id) {
            None => &mut applied.added,
            Some(before) if before == own => continue,
            Some(before) if before.upstream.enabled != upstream.enabled => match upstream.enabled {
                true => &mut applied.enabled,
                false => &mut applied.disabled,
            },
            Some(before) if before.upstream == *upstream => &mut applied.adjusted,
            Some(_) => &mut applied.restarted,
        };
        list.push(upstream.id.clone());
    }
    let after = by_id(&new.upstreams);
    let gone = old.upstreams.iter().map(|own| own.upstream.id.clone());
    applied
        .removed
        .extend(gone.filter(|id| !after.contains_key(id)));
    applied.endpoints = changed(&old.endpoints, &new.endpoints, |own| &own.name);
    applied.presets = changed(&old.presets, &new.presets, |preset| &**preset.id());
    applied.clients = changed(&old.clients, &new.clients, |client| &client.name);
    let mut everywhere = |what: &str, differs: bool| {
        if differs {
            applied.settings.push(what.to_owned());
        }
    };
    everywhere("shape", old.shape != new.shape);
    let differs = old.model_reads_by_client != new.model_reads_by_client;
    everywhere("model_reads_by_client", differs);
    let (before, after) = (old.instructions_max_chars, new.instructions_max_chars);
    everywhere("instructions_max_chars", before != after);
    everywhere("rpc_servers", old.rpc_servers != new.rpc_servers);
    let mut later = |what: &str, differs: bool| {
        if differs {
            applied.at_next_start.push(what.to_owned());
        }
    };
    later("limits", old.limits != new.limits);
    later("recovery", old.recovery != new.recovery);
    later("proxy", old.proxy != new.proxy);
    let differs = old.initialize_wait != new.initialize_wait;
    later("initialize_wait_s", differs);
    later("list_wait_s", old.list_wait != new.list_wait);
    let differs = old.list_wait_by_client != new.list_wait_by_client;
    later("list_wait_by_client", differs);
    applied
}

/// Returns the names of all items that were added, removed or changed.
fn changed<'a, T: PartialEq>(
    old: &'a [T],
    new: &'a [T],
    name: impl Fn(&'a T) -> &'a str,
) -> Vec<String> {
    let find = |all: &'a [T], wanted: &str| all.iter().find(|one| name(one) == wanted);
    let differs = new
        .iter()
        .filter(|one| find(old, name(one)) != Some(*one))
        .chain(old.iter().filter(|one| find(new, name(one)).is_none()));
    differs.map(|one| name(one).to_owned()).collect()
}
