//! The catalogue: an immutable [`View`] for the clients of one endpoint. It is rebuilt whenever an
//! upstream's offer changes, and the call path only reads it.
//!
//! Lists are rendered here, once; a request copies bytes. Items are looked up by published name.
//! Names that are not found are tried in the other accepted forms, and never guessed beyond that.

mod build;
mod listing;
mod settings;
mod uris;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use narrows_policy::Template;
use narrows_policy::names;
use narrows_policy::permission::{self, Rules};
use narrows_policy::preset::{Preset, ToolFilters};
use narrows_wire::{ItemKind, Raw, Revision, token};

pub(crate) use self::listing::{Entry, Listing};
pub use self::settings::{EndpointSettings, Expose, Uris};
use crate::error::Error;
use crate::facade::Facade;
use crate::permit;
use crate::target::{Target, needs_task, says_repeatable};
use narrows_results::recover_tool;
use narrows_results::shaping::{GOAL_ARGUMENT, Policies, RecoverTool};
use narrows_upstream::{Item, ListKind, Offer, Upstream};

/// The upstreams that an endpoint shows, and the kind of names that it publishes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EndpointScope {
    /// All upstreams, joined.
    Joined(EndpointSettings),
    /// One upstream, by its number, with its own names, URIs, capabilities and instructions.
    Single(usize),
}

/// An upstream with its offer at the time when the view is built.
#[derive(Clone)]
pub(crate) struct ViewPart {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) offer: Arc<Offer>,
}

pub(crate) struct View {
    parts: Vec<ViewPart>,
    preset: Option<Arc<Preset>>,
    filters: Arc<ToolFilters>,
    policies: Arc<Policies>,
    tools: ItemTable,
    prompts: ItemTable,
    resources: ItemTable,
    templates: Listing,
    patterns: Vec<(Template, usize)>,
    /// The result of `initialize` without the revision.
    pub(crate) capabilities: Raw,
    pub(crate) server_info: Raw,
    pub(crate) instructions: Option<String>,
    /// The gateway's own tool for cut texts. `None` if nothing is cut.
    recover: Option<PublishedRecoverTool>,
    /// The tools that replace unlisted tools. `None` if all tools are listed.
    facade: Option<Facade>,
    single: bool,
    /// True if every published URI is wrapped.
    wraps_uris: bool,
    /// URIs that several servers publish, and that are wrapped for this reason.
    shared_uris: HashSet<Box<str>>,
    /// The numbers of the servers whose unwrapped resource links may lead to another server.
    linking: Vec<usize>,
}

/// The route of a URI in a server's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkRoute {
    /// Leads to the server that sent the result.
    Same,
    /// Leads to another server, or is ambiguous.
    Other,
    /// Matches no list and no template.
    Unroutable,
}

/// The tool that recovers cut texts.
#[derive(Debug, Clone)]
pub(crate) struct PublishedRecoverTool {
    /// The name of the tool.
    pub(crate) name: Arc<str>,
    /// The form in which markers in cut texts name the tool.
    pub(crate) tool: RecoverTool,
}

/// The starting servers that a request may wait for.
pub(crate) enum StartingServer {
    /// The server that the name identifies.
    Server(Arc<Upstream>),
    /// Any of the servers that are starting.
    Unknown,
}

/// The items of one kind: their list and their routes.
struct ItemTable {
    listing: Listing,
    routes: HashMap<Box<str>, Target>,
}

/// The inputs of a view that do not change while upstreams start and stop.
#[derive(PartialEq)]
pub(crate) struct ViewPlan {
    pub(crate) scope: EndpointScope,
    pub(crate) preset: Option<Arc<Preset>>,
    /// The tool lists in the server entries of the configuration.
    pub(crate) filters: Arc<ToolFilters>,
    pub(crate) policies: Arc<Policies>,
    /// The maximum length of the joined instructions in characters.
    pub(crate) instructions_max_chars: usize,
}

impl ViewPlan {
    /// Returns the rules for a server, by its number.
    pub(crate) fn rules(&self, upstream: usize) -> Rules<'_> {
        Rules {
            preset: self.preset.as_deref(),
            filter: self.filters.of(upstream),
        }
    }
}

impl View {
    pub(crate) fn build(plan: &ViewPlan, parts: &[ViewPart]) -> View {
        build::build(plan, parts)
    }

    pub(crate) fn listing(&self, kind: ListKind) -> &Listing {
        match kind {
            ListKind::Tools => &self.tools.listing,
            ListKind::Prompts => &self.prompts.listing,
            ListKind::Resources => &self.resources.listing,
            ListKind::Templates => &self.templates,
        }
    }

    pub(crate) fn tool(&self, name: &str) -> Result<Target, Error> {
        match self.tools.routes.get(name) {
            Some(target) => Ok(target.clone()),
            None => self.named(ItemKind::Tool, ListKind::Tools, &self.tools, name),
        }
    }

    /// Returns the input schema of a listed tool, as its server published it.
    pub(crate) fn tool_schema(&self, name: &str) -> Option<Raw> {
        let target = self.tools.routes.get(name)?;
        let own = target.name.as_text()?;
        let index = target.upstream.index;
        let part = self
            .parts
            .iter()
            .find(|part| part.upstream.index == index)?;
        let tool = part.offer.tools.iter().find(|tool| *tool.key == *own)?;
        tool.raw.member("inputSchema")
    }

    /// Returns the content of the result of `server/discover`.
    pub(crate) fn discovery(&self) -> Raw {
        let versions = Revision::ALL.into_iter().rev().map(Revision::as_str);
        let versions: Vec<&str> = versions.collect();
        // Tasks of the legacy era do not exist in the modern one.
        let capabilities = self.capabilities.without_member("tasks");
        let result = Raw::empty_object()
            .with_member("supportedVersions", &Raw::from_serialize(&versions))
            .with_member("capabilities", &capabilities);
        match &self.instructions {
            Some(instructions) => result.with_member("instructions", &Raw::string(instructions)),
            None => result,
        }
    }

    pub(crate) fn prompt(&self, name: &str) -> Result<Target, Error> {
        if let Some(target) = self.prompts.routes.get(name) {
            return Ok(target.clone());
        }
        // A bare name is sufficient if only one server has a permitted prompt of this name.
        let has = |part: &&ViewPart| part.offer.prompts.iter().any(|item| &*item.key == name);
        let of = |part: &ViewPart| self.target(part, ItemKind::Prompt, name);
        let bare: Vec<Target> = self.parts.iter().filter(has).map(of).collect();
        let (mut allowed, denied): (Vec<_>, Vec<_>) =
            bare.into_iter().partition(|target| target.denied.is_none());
        match (allowed.len(), denied.len()) {
            (1, _) => return Ok(allowed.remove(0)),
            (0, 1) => return Ok(denied[0].clone()),
            _ => {}
        }
        self.named(ItemKind::Prompt, ListKind::Prompts, &self.prompts, name)
    }

    /// Returns the target of a resource. Looks for the published URI, then for a wrapped URI, then
    /// for a matching template, and falls back to the only server that has resources.
    pub(crate) fn resource(&self, uri: &str) -> Result<Target, Error> {
        self.find_resource(uri)?
            .ok_or_else(|| self.unknown_resource(uri))
    }

    pub(crate) fn unknown_resource(&self, uri: &str) -> Error {
        Error::Unknown {
            kind: ItemKind::Resource,
            name: shortened(uri),
            nearest: self.resources.nearest(uri, &[]),
        }
    }

    /// Returns the target of a resource, by the server's number and its own URI.
    pub(crate) fn resource_of(&self, upstream: usize, uri: &str) -> Option<Target> {
        let mut parts = self.parts.iter();
        let part = parts.find(|part| part.upstream.index == upstream)?;
        Some(self.target(part, ItemKind::Resource, uri))
    }

    /// Returns true if links in the server's results may need a route.
    pub(crate) fn routes_links_of(&self, upstream: &Upstream) -> bool {
        self.linking.contains(&upstream.index)
    }

    /// Returns the route of a URI in a result of the server `from`.
    pub(crate) fn link_route(&self, from: &Upstream, uri: &str) -> LinkRoute {
        if self.wraps_uris || (recover_tool::is_receipt(uri) && self.recover.is_some()) {
            return LinkRoute::Other;
        }
        match self.find_resource(uri) {
            Ok(Some(target)) if target.upstream.index == from.index => LinkRoute::Same,
            Ok(None) => LinkRoute::Unroutable,
            Ok(Some(_)) | Err(_) => LinkRoute::Other,
        }
    }

    /// Like [`resource`](Self::resource), but returns `None` if the URI is unknown.
    pub(crate) fn find_resource(&self, uri: &str) -> Result<Option<Target>, Error> {
        if let Some(target) = self.resources.routes.get(uri) {
            return Ok(Some(target.clone()));
        }
        if let Some((server, own)) = token::unwrap_uri(uri)
            && let Some(part) = self.part(&server)
        {
            return part
                .up()
                .map(|part| Some(self.target(part, ItemKind::Resource, &own)));
        }
        // Other listed URIs are published unwrapped and were found above.
        let is_wrapped = self.wraps_uris || self.shared_uris.contains(uri);
        let lists = |part: &ViewPart| {
            is_wrapped && part.offer.resources.iter().any(|item| &*item.key == uri)
        };
        let of = |part: &ViewPart| self.target(part, ItemKind::Resource, uri);
        // Each server is checked only once, however many of its templates match.
        let mut asked: Vec<bool> = self.parts.iter().map(lists).collect();
        let listed = self.parts.iter().zip(&asked);
        let listed = listed
            .filter(|(_, lists)| **lists)
            .map(|(part, _)| of(part));
        let (allowed, mut denied): (Vec<_>, Vec<_>) =
            listed.partition(|target| target.denied.is_none());
        match &allowed[..] {
            [target] => return Ok(Some(target.clone())),
            [] => {}
            _ => {
                let ids = allowed
                    .iter()
                    .map(|target| target.upstream.settings.id.as_str());
                return Err(Error::BadParams(format!(
                    "The servers {} all publish {uri}. Use the URI from resources/list for the server you want",
                    ids.collect::<Vec<_>>().join(", ")
                )));
            }
        }
        for (template, part) in &self.patterns {
            if asked[*part] || !template.matches(uri) {
                continue;
            }
            asked[*part] = true;
            let target = of(&self.parts[*part]);
            match target.denied {
                None => return Ok(Some(target)),
                Some(_) => denied.push(target),
            }
        }
        if let Some(target) = denied.into_iter().next() {
            return Ok(Some(target));
        }
        let mut able = self.parts.iter().filter(|part| part.offer.has("resources"));
        Ok(match (able.next(), able.next()) {
            (Some(part), None) => Some(of(part)),
            _ => None,
        })
    }

    /// Returns the server of a template, for completion. Prefers a server on which the template is
    /// permitted. Falls back to the server of a resource.
    pub(crate) fn template(&self, uri: &str) -> Result<Target, Error> {
        let has = |part: &&ViewPart| part.offer.templates.iter().any(|item| &*item.key == uri);
        let of = |part: &ViewPart| self.target(part, ItemKind::Resource, uri);
        let mut denied = None;
        for target in self.parts.iter().filter(has).map(of) {
            match target.denied {
                None => return Ok(target),
                Some(_) => denied = denied.or(Some(target)),
            }
        }
        match denied {
            Some(target) => Ok(target),
            None => self.resource(uri),
        }
    }

    /// Returns the starting server that an unknown name or URI may belong to.
    pub(crate) fn starting(&self, name: &str) -> Option<StartingServer> {
        let is_starting = |part: &&ViewPart| {
            part.offer.hello.is_none()
                && !part.upstream.is_settled()
                && part.is_usable(self.preset.as_deref())
        };
        let mut starting = self.parts.iter().filter(is_starting);
        let first = starting.next()?;
        if self.single {
            return Some(StartingServer::Server(first.upstream.clone()));
        }
        let unwrapped = token::unwrap_uri(name);
        let wrapped = unwrapped.iter().map(|(server, _)| &**server);
        let mut named = names::readings(name).map(|(server, _)| server);
        let meant = |server: &str| self.part(server).filter(is_starting);
        Some(match wrapped.chain(&mut named).find_map(meant) {
            Some(part) => StartingServer::Server(part.upstream.clone()),
            None => StartingServer::Unknown,
        })
    }

    /// Returns the server of this name if it was not up when the view was built.
    pub(crate) fn absent_server(&self, server: &str) -> Option<Arc<Upstream>> {
        let part = self.part(server)?;
        (part.offer.hello.is_none()).then(|| part.upstream.clone())
    }

    pub(crate) fn preset(&self) -> Option<&Preset> {
        self.preset.as_deref()
    }

    /// Returns the result budgets.
    pub(crate) fn policies(&self) -> &Policies {
        &self.policies
    }

    /// Returns the gateway's own tool for cut texts.
    pub(crate) fn recover(&self) -> Option<&PublishedRecoverTool> {
        self.recover.as_ref()
    }

    /// Returns the tools that replace unlisted tools.
    pub(crate) fn facade(&self) -> Option<&Facade> {
        self.facade.as_ref()
    }

    /// Returns true if the tool has no `goal` argument of its own.
    pub(crate) fn lacks_goal(&self, target: &Target) -> bool {
        self.item(target).is_none_or(lacks_goal)
    }

    /// Returns the usable upstreams that are up and declare this capability.
    pub(crate) fn with_capability<'a>(
        &'a self,
        capability: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Upstream>> {
        self.usable()
            .filter(move |part| part.offer.has(capability))
            .map(|part| &part.upstream)
    }

    /// Returns the upstreams that have at least one permitted item.
    pub(crate) fn upstreams(&self) -> impl Iterator<Item = &Arc<Upstream>> {
        self.usable().map(|part| &part.upstream)
    }

    /// Returns the upstream of an endpoint that shows only one.
    pub(crate) fn only(&self) -> Option<&Arc<Upstream>> {
        self.parts
            .first()
            .filter(|_| self.single)
            .map(|part| &part.upstream)
    }

    /// Returns the published name of each item, keyed by the upstream's number and its own name.
    pub(crate) fn published(&self, kind: ListKind) -> Vec<((usize, String), String)> {
        let routes = match kind {
            ListKind::Tools => &self.tools.routes,
            ListKind::Prompts => &self.prompts.routes,
            ListKind::Resources => &self.resources.routes,
            ListKind::Templates => return Vec::new(),
        };
        let own = |target: &Target| target.name.as_text().unwrap_or_default().into_owned();
        routes
            .iter()
            .map(|(name, target)| ((target.upstream.index, own(target)), name.to_string()))
            .collect()
    }

    /// Resolves a name in one of the forms that are accepted in addition to the published one.
    fn named(
        &self,
        kind: ItemKind,
        list: ListKind,
        published: &ItemTable,
        name: &str,
    ) -> Result<Target, Error> {
        let mut found: Option<Target> = None;
        let mut down = None;
        for (server, own) in names::readings(name) {
            let Some(part) = self.part(server) else {
                continue;
            };
            if part.offer.hello.is_none() {
                down = Some(part);
            } else if part.offer.list(list).iter().any(|item| &*item.key == own) {
                let same = |other: &Target| {
                    other.upstream.index == part.upstream.index
                        && other.name.as_text().as_deref() == Some(own)
                };
                if found.as_ref().is_some_and(|other| !same(other)) {
                    return Err(Error::BadParams(format!(
                        "The name {name} is ambiguous: it matches more than one {kind}. Use a listed name"
                    )));
                }
                found = Some(self.target(part, kind, own));
            }
        }
        if let Some(target) = found {
            return Ok(target);
        }
        if let Some(part) = down {
            return Err(part.upstream.down().into());
        }
        Err(Error::Unknown {
            kind,
            name: shortened(name),
            nearest: match kind {
                ItemKind::Tool => published.nearest(name, &self.own_tools()),
                _ => published.nearest(name, &[]),
            },
        })
    }

    /// Returns the target for a server's own name or URI.
    fn target(&self, part: &ViewPart, kind: ItemKind, own: &str) -> Target {
        let ViewPart { upstream, offer } = part;
        let name = Raw::string(own);
        let is_tool = kind == ItemKind::Tool;
        let tool = || offer.tools.iter().find(|item| &*item.key == own);
        let rules = Rules {
            preset: self.preset.as_deref(),
            filter: self.filters.of(upstream.index),
        };
        Target {
            denied: permit::named(rules, kind, permit::server_name(upstream), offer, own),
            is_judged: rules.bind(),
            policy: match is_tool {
                true if tool().is_some_and(|item| build::keeps_whole(&self.policies, item)) => None,
                true => self.policies.tool(upstream.index, &name),
                false => self.policies.server(upstream.index),
            },
            has_app: is_tool && tool().is_some_and(|item| build::has_app(&item.raw)),
            is_repeatable: is_tool && tool().is_some_and(|item| says_repeatable(&item.raw)),
            needs_task: is_tool && !self.single && tool().is_some_and(needs_task),
            upstream: upstream.clone(),
            name,
        }
    }

    /// Returns the names of the gateway's own tools on this endpoint.
    fn own_tools(&self) -> Vec<&str> {
        let recover = self.recover.iter().map(|recover| &*recover.name);
        let mut names: Vec<&str> = recover.collect();
        for name in self.facade.iter().flat_map(Facade::own_names) {
            names.push(name);
        }
        names
    }

    fn usable(&self) -> impl Iterator<Item = &ViewPart> {
        let preset = self.preset.as_deref();
        self.parts.iter().filter(move |part| part.is_usable(preset))
    }

    /// Returns a tool as its server listed it.
    fn item(&self, target: &Target) -> Option<&Item> {
        let name = target.name.as_text()?;
        let index = target.upstream.index;
        let part = (self.parts.iter()).find(|part| part.upstream.index == index)?;
        part.offer.tools.iter().find(|item| *item.key == *name)
    }

    fn part(&self, server: &str) -> Option<&ViewPart> {
        self.parts
            .iter()
            .find(|part| &*part.upstream.slug == server || part.upstream.settings.id == server)
    }
}

impl ItemTable {
    /// Returns the published names nearest to an unknown name, among the permitted items and the
    /// gateway's `own` tools.
    fn nearest(&self, name: &str, own: &[&str]) -> Vec<String> {
        let shown = self.routes.iter().filter(|(_, to)| to.is_usable());
        let shown = shown.map(|(name, to)| (&**name, to.name.as_text().unwrap_or_default()));
        let own = own.iter().map(|name| (*name, Cow::Borrowed(*name)));
        names::nearest_published(name, own.chain(shown))
    }
}

impl ViewPart {
    /// Returns true if the preset permits anything of this server.
    fn is_usable(&self, preset: Option<&Preset>) -> bool {
        permission::uses(preset, permit::server_name(&self.upstream))
    }

    fn up(&self) -> Result<&ViewPart, Error> {
        if self.offer.hello.is_some() {
            Ok(self)
        } else {
            Err(self.upstream.down().into())
        }
    }
}

fn lacks_goal(tool: &Item) -> bool {
    let schema = tool.raw.member("inputSchema");
    let properties = schema.and_then(|schema| schema.member("properties"));
    properties.is_none_or(|properties| properties.member(GOAL_ARGUMENT).is_none())
}

/// Limits the length of an unknown name, which comes from the client and is shown in messages.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// Returns the lists that differ between two views.
pub(crate) fn changes(old: &View, new: &View) -> Vec<ListKind> {
    let differs = |kind: &ListKind| old.listing(*kind) != new.listing(*kind);
    ListKind::ALL.into_iter().filter(differs).collect()
}

#[cfg(test)]
mod tests;
