//! The state of the gateway, for health checks and operators.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use narrows_policy::preset::{Denial, Preset};
use narrows_wire::{ItemKind, Raw};

use super::{Entrypoint, Gateway, Inner};
use crate::catalogue::View;
use crate::endpoint::ClientPresets;
use crate::error::NEEDS_TASK;
use crate::permit;
use crate::session::SessionHost;
use crate::settings::Transport;
use narrows_upstream::{ListKind, State};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    pub up: usize,
    pub starting: usize,
    pub down: usize,
    pub uptime: Duration,
    /// True if every enabled upstream is up or has failed, or `list_wait` has passed since the
    /// start, and the gateway is not shutting down.
    pub ready: bool,
}

#[derive(Debug, Clone)]
pub struct UpstreamReport {
    pub id: String,
    /// The form of the id in published names.
    pub slug: String,
    /// The transport in use, or the configured one if the server is not up.
    pub transport: Transport,
    pub state: State,
    pub tools: Vec<ToolReport>,
    pub prompts: usize,
    pub resources: usize,
    pub templates: usize,
    /// The last lines that the server's process wrote to stderr, with secrets removed.
    pub stderr: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct ToolReport {
    /// The server's own name.
    pub name: String,
    /// The name on the first endpoint, which is usually the default endpoint.
    pub published: String,
    /// The tool as its server listed it.
    pub raw: Raw,
    /// The rule that denies the tool on that endpoint. `None` if the tool is allowed.
    pub denied: Option<Arc<Denial>>,
    /// True if the tool is hidden on that endpoint because it runs only as a task.
    pub needs_task: bool,
}

impl ToolReport {
    /// Returns true if clients of that endpoint may use the tool.
    pub fn is_usable(&self) -> bool {
        self.denied.is_none() && !self.needs_task
    }

    /// Returns the reason why clients may not use the tool.
    pub fn hidden_because(&self) -> Option<String> {
        match &self.denied {
            Some(denial) => Some(denial.to_string()),
            None => self.needs_task.then(|| format!("it {NEEDS_TASK}")),
        }
    }
}

/// A tool as listed by an endpoint.
#[derive(Debug, Clone)]
pub struct ListedTool {
    pub name: String,
    /// The id of the server, or `None` for the gateway's own tools.
    pub server: Option<String>,
    /// The tool in the form that clients receive.
    pub raw: Raw,
}

impl Gateway {
    pub fn health(&self) -> Health {
        Health {
            up: self.0.count(|state| matches!(state, State::Up { .. })),
            starting: self.0.count(|state| matches!(state, State::Starting)),
            down: self.0.count(|state| matches!(state, State::Down { .. })),
            uptime: self.0.started.elapsed(),
            ready: self.0.all_settled() && !self.is_draining(),
        }
    }

    /// Returns the state of every upstream, in the order of the configuration.
    pub fn report(&self) -> Vec<UpstreamReport> {
        self.0.refresh_views();
        let config = self.0.config();
        let face = (config.endpoints.first())
            .map(|endpoint| config.preset_view(endpoint, &ClientPresets::default()));
        let view = face.as_ref().map(|face| face.view());
        let published: HashMap<(usize, String), String> = view
            .iter()
            .flat_map(|view| view.published(ListKind::Tools))
            .collect();
        let report = |upstream: &Arc<narrows_upstream::Upstream>| {
            let offer = upstream.offer();
            let rules = face.as_ref().map(|face| face.plan().rules(upstream.index));
            let tool = |item: &narrows_upstream::Item| ToolReport {
                name: item.key.to_string(),
                published: published
                    .get(&(upstream.index, item.key.to_string()))
                    .cloned()
                    .unwrap_or_default(),
                raw: item.raw.clone(),
                denied: rules
                    .and_then(|rules| permit::listed(rules, ItemKind::Tool, upstream, item)),
                needs_task: crate::target::needs_task(item),
            };
            let state = upstream.state();
            UpstreamReport {
                id: upstream.settings.id.clone(),
                slug: upstream.slug.to_string(),
                transport: match &state {
                    State::Up { found, .. } => found.transport,
                    _ => upstream.settings.kind.transport(),
                },
                state,
                tools: offer.tools.iter().map(tool).collect(),
                prompts: offer.prompts.len(),
                resources: offer.resources.len(),
                templates: offer.templates.len(),
                stderr: upstream.stderr(),
            }
        };
        config.upstreams.iter().map(report).collect()
    }

    /// Returns the tools that an endpoint currently lists to its clients, including the gateway's
    /// own. Returns `None` for an unknown endpoint.
    pub fn listed(&self, endpoint: &str) -> Option<Vec<Raw>> {
        self.0.refresh_views();
        let view = self.0.default_view(endpoint)?;
        let page = view.listing(ListKind::Tools).page(None).ok()?;
        let tools = page.member(ListKind::Tools.member())?;
        Some(tools.elements().collect())
    }

    /// Like [`Gateway::listed`], with the server of each tool.
    pub fn catalogue(&self, endpoint: &str) -> Option<Vec<ListedTool>> {
        let listed = self.listed(endpoint)?;
        let view = self.0.default_view(endpoint)?;
        let config = self.0.config();
        let published = view.published(ListKind::Tools).into_iter();
        let servers: HashMap<String, usize> = published
            .map(|((upstream, _), name)| (name, upstream))
            .collect();
        let tool = |raw: Raw| {
            let name = raw.member("name");
            let name = name.as_ref().and_then(Raw::as_text).unwrap_or_default();
            let upstream = servers.get(&*name).and_then(|at| config.numbered(*at));
            ListedTool {
                server: upstream.map(|upstream| upstream.settings.id.clone()),
                name: name.into_owned(),
                raw,
            }
        };
        Some(listed.into_iter().map(tool).collect())
    }

    /// Returns the presets that endpoints, servers, clients and sessions can refer to.
    pub fn presets(&self) -> Vec<Arc<Preset>> {
        self.0.config().presets.all().to_vec()
    }

    /// Returns the name of the gateway's recovery tool on an endpoint, or `None` if nothing is cut.
    pub fn recover_tool(&self, endpoint: &str) -> Option<Arc<str>> {
        let view = self.0.default_view(endpoint)?;
        view.recover().map(|recover| recover.name.clone())
    }
}

impl Inner {
    /// Returns the view of an endpoint for clients without a preset of their own.
    pub(super) fn default_view(&self, endpoint: &str) -> Option<Arc<View>> {
        let config = self.config();
        let endpoint = config.endpoint(Entrypoint::Endpoint(endpoint))?;
        Some(
            config
                .preset_view(endpoint, &ClientPresets::default())
                .view(),
        )
    }
}
