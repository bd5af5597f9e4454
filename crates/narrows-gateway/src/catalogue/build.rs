//! Building a view: publishes names and URIs, renders items, creates routes, and joins capabilities
//! and instructions.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use narrows_policy::Template;
use narrows_policy::names;
use narrows_policy::preset::Preset;
use narrows_shape::budget::RecoveryForm;
use narrows_wire::{ItemKind, Raw, token};

use super::settings::{EndpointSettings, Expose, Uris};
use super::uris::PublishedUris;
use super::{
    EndpointScope, Entry, ItemTable, Listing, PublishedRecoverTool, View, ViewPart, ViewPlan,
    lacks_goal,
};
use crate::facade::{Facade, FacadeMode, HiddenTool, ServerTools, TaskOnlyTool, VisibleTool};
use crate::permit;
use crate::target::{Target, needs_task, says_repeatable};
use narrows_results::recover_tool;
use narrows_results::settings::Structured;
use narrows_results::shaping::{
    FIND_ARGUMENT, GOAL_ARGUMENT, Policies, RecoverTool, find_schema, goal_schema,
};
use narrows_upstream::{Item, ListKind, State};

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) fn build(plan: &ViewPlan, parts: &[ViewPart]) -> View {
    match &plan.scope {
        EndpointScope::Joined(settings) => joined(plan, settings, parts),
        EndpointScope::Single(index) => {
            let mut parts = parts.iter();
            match parts.find(|part| part.upstream.index == *index) {
                Some(part) => single(plan, part),
                // The server was removed, and the clients of this view will be disconnected.
                None => joined(plan, &EndpointSettings::named(""), &[]),
            }
        }
    }
}

fn joined(plan: &ViewPlan, settings: &EndpointSettings, parts: &[ViewPart]) -> View {
    let (policies, preset) = (&plan.policies, plan.preset.as_deref());
    let cuts = policies.cuts(parts.iter().map(|part| part.upstream.index));
    let wrapped = settings.uris == Uris::Wrapped;
    let listed = |named: &NamedItem<'_>| {
        let NamedItem { part, item, .. } = named;
        let origin = wrapped.then(|| origin(part, Some(("originalName", item))));
        published_item(item, Some(&named.name), origin)
    };
    let mut tools = named(plan, settings, ListKind::Tools, parts);
    for tool in &mut tools {
        tool.target.needs_task = needs_task(tool.item);
    }
    let facade = facade(plan, settings, parts, &tools, cuts);
    let is_listed = |named: &&NamedItem<'_>| match &facade {
        None => named.target.is_usable(),
        Some(facade) => {
            named.target.is_usable() && facade.is_pinned(&named.part.upstream, &named.item.key)
        }
    };
    let goal = |named: &NamedItem<'_>| {
        let NamedItem { part, item, .. } = named;
        let listed = without_output_schema(part, item, listed(named), policies);
        with_goal(part, item, listed, policies)
    };
    let shown: Vec<Entry> = tools.iter().filter(is_listed).map(goal).collect();
    let routes = routes(tools);
    let recover = cuts.then(|| recover_name(&routes));
    let (own, recover) = match &facade {
        None => (
            recover
                .as_deref()
                .map(recover_tool::tool)
                .into_iter()
                .collect(),
            recover.map(directly),
        ),
        Some(facade) => (
            facade.own_tools(),
            recover.map(|name| match facade.recover_tool() {
                Some(tool) => PublishedRecoverTool { name, tool },
                None => directly(name),
            }),
        ),
    };
    let own: Vec<Raw> = own;
    let own: Vec<Entry> = own.into_iter().map(Entry::from).collect();
    // The tools that find and call others come first, and the recovery tool comes last.
    let shown = match &facade {
        None => [shown, own].concat(),
        Some(_) => [own, shown].concat(),
    };
    let about_cuts = recover.as_ref().map(|recover| long_results(&recover.name));
    let tools = ItemTable::of(ListKind::Tools, shown, routes);
    let prompts = named(plan, settings, ListKind::Prompts, parts);
    let uris = PublishedUris::of(parts);
    let allowed = |named: &&NamedItem<'_>| named.target.denied.is_none();
    let shown = prompts.iter().filter(allowed).map(listed).collect();
    View {
        tools,
        recover,
        prompts: ItemTable::of(ListKind::Prompts, shown, self::routes(prompts)),
        resources: resources(plan, parts, settings.uris, &uris),
        templates: templates(plan, parts, wrapped, cuts),
        patterns: patterns(parts),
        capabilities: capabilities(parts, cuts),
        server_info: Raw::empty_object()
            .with_member("name", &Raw::string("narrows"))
            .with_member("title", &Raw::string("Narrows"))
            .with_member("version", &Raw::string(VERSION)),
        instructions: match &facade {
            None => instructions(parts, preset, about_cuts, plan.instructions_max_chars),
            Some(facade) => Some(facade.instructions()),
        },
        facade,
        parts: parts.to_vec(),
        preset: plan.preset.clone(),
        filters: plan.filters.clone(),
        policies: plan.policies.clone(),
        single: false,
        wraps_uris: wrapped,
        shared_uris: uris.shared(),
        linking: linking(parts, wrapped),
    }
}

fn single(plan: &ViewPlan, part: &ViewPart) -> View {
    let (policies, preset) = (&plan.policies, plan.preset.as_deref());
    let cuts = policies.cuts(std::iter::once(part.upstream.index));
    let routes = |kind: ListKind| {
        let list = part.offer.list(kind).iter();
        list.map(|item| (item.key.clone(), target(plan, part, kind, item)))
            .collect::<HashMap<_, _>>()
    };
    let shown = |kind: ListKind| {
        let items = part.offer.list(kind).iter();
        items.filter(move |item| target(plan, part, kind, item).denied.is_none())
    };
    let own = |kind: ListKind| {
        let items = shown(kind).map(|item| listed(item, item.raw.clone()));
        ItemTable::of(kind, items.collect(), routes(kind))
    };
    let tools = shown(ListKind::Tools);
    let tools = tools.map(|item| {
        let unchanged = listed(item, item.raw.clone());
        let listed = without_output_schema(part, item, unchanged, policies);
        with_goal(part, item, listed, policies)
    });
    let routes = routes(ListKind::Tools);
    let recover = cuts.then(|| recover_name(&routes));
    let repairs = recover.as_deref().map(recover_tool::tool).map(Entry::from);
    let tools = tools.chain(repairs).collect();
    let recover = recover.map(directly);
    let parts = std::slice::from_ref(part);
    let hello = part.offer.hello.as_ref();
    View {
        tools: ItemTable::of(ListKind::Tools, tools, routes),
        recover,
        prompts: own(ListKind::Prompts),
        resources: own(ListKind::Resources),
        templates: templates(plan, parts, false, cuts),
        patterns: patterns(parts),
        capabilities: match hello {
            None => capabilities(parts, cuts),
            Some(hello) => hello.capabilities.clone(),
        },
        server_info: match hello {
            // The server's own `serverInfo` is known after it has started.
            None => Raw::empty_object()
                .with_member("name", &Raw::string(&part.upstream.settings.id))
                .with_member("version", &Raw::string("unknown")),
            Some(hello) => hello.server_info.clone(),
        },
        instructions: hello
            .filter(|_| part.is_usable(preset))
            .and_then(|hello| hello.instructions.clone()),
        parts: parts.to_vec(),
        preset: plan.preset.clone(),
        filters: plan.filters.clone(),
        policies: plan.policies.clone(),
        facade: None,
        single: true,
        wraps_uris: false,
        shared_uris: HashSet::new(),
        linking: Vec::new(),
    }
}

/// A tool or prompt under its published name.
struct NamedItem<'a> {
    part: &'a ViewPart,
    item: &'a Item,
    name: String,
    target: Target,
}

fn named<'a>(
    plan: &ViewPlan,
    settings: &EndpointSettings,
    kind: ListKind,
    parts: &'a [ViewPart],
) -> Vec<NamedItem<'a>> {
    let of = |part: &'a ViewPart| {
        let list = part.offer.list(kind);
        // Hidden items get names too, so that a preset does not change the names of the others.
        let own: Vec<&str> = list.iter().map(|item| &*item.key).collect();
        let slug = &part.upstream.slug;
        let names = names::publish(slug, &own, &settings.separator, settings.name_max);
        let named = list.iter().zip(names).map(|(item, name)| NamedItem {
            part,
            item,
            name,
            target: target(plan, part, kind, item),
        });
        named.collect::<Vec<_>>()
    };
    parts.iter().flat_map(of).collect()
}

fn routes(named: Vec<NamedItem<'_>>) -> HashMap<Box<str>, Target> {
    let route = |named: NamedItem<'_>| (named.name.into(), named.target);
    named.into_iter().map(route).collect()
}

/// Returns the facade for these tools, or `None` if the endpoint lists all tools.
fn facade(
    plan: &ViewPlan,
    settings: &EndpointSettings,
    parts: &[ViewPart],
    tools: &[NamedItem<'_>],
    cuts: bool,
) -> Option<Facade> {
    let mode = match settings.expose {
        Expose::All => return None,
        Expose::Lazy => FacadeMode::Lazy,
        Expose::Search => FacadeMode::Search,
    };
    let (mut tools_by_server, mut down) = (Vec::new(), Vec::new());
    // Tools of the same part are adjacent.
    let groups = tools.chunk_by(|one, other| std::ptr::eq(one.part, other.part));
    let groups = groups.map(|group| (group[0].part.upstream.index, group));
    let groups: HashMap<usize, &[NamedItem<'_>]> = groups.collect();
    for part in parts {
        let server = permit::server_name(&part.upstream);
        let rules = plan.rules(part.upstream.index);
        let denied = permit::named(rules, ItemKind::Server, server, &part.offer, server.id);
        let Some(hello) = &part.offer.hello else {
            if denied.is_none() {
                down.push(part.upstream.clone());
            }
            continue;
        };
        let mut server_tools = ServerTools {
            upstream: part.upstream.clone(),
            server_info: hello.server_info.clone(),
            instructions: hello.instructions.clone().filter(|_| denied.is_none()),
            denied,
            tools: Vec::new(),
            hidden: Vec::new(),
            task_only: Vec::new(),
        };
        let own = groups.get(&part.upstream.index).copied();
        for named in own.unwrap_or_default() {
            let published = named.name.as_str().into();
            match &named.target.denied {
                None if named.target.needs_task => server_tools.task_only.push(TaskOnlyTool {
                    name: named.item.key.clone(),
                    published,
                }),
                None => server_tools.tools.push(VisibleTool {
                    item: named.item.clone(),
                    published,
                    target: named.target.clone(),
                }),
                Some(denial) => server_tools.hidden.push(HiddenTool {
                    name: named.item.key.clone(),
                    published,
                    denial: denial.clone(),
                }),
            }
        }
        tools_by_server.push(server_tools);
    }
    Some(Facade::new(
        mode,
        settings.facade.clone(),
        tools_by_server,
        down,
        &plan.policies,
        cuts,
    ))
}

impl ItemTable {
    fn of(kind: ListKind, items: Vec<Entry>, routes: HashMap<Box<str>, Target>) -> ItemTable {
        ItemTable {
            listing: Listing::render(kind.member(), items.into_iter()),
            routes,
        }
    }
}

/// Returns a name for the gateway's recovery tool that no server's tool has.
fn recover_name(tools: &HashMap<Box<str>, Target>) -> Arc<str> {
    let mut free = recover_tool::names().filter(|name| !tools.contains_key(name.as_str()));
    free.next().expect("there are more names than tools").into()
}

/// Returns the recovery tool for endpoints that list it.
fn directly(name: Arc<str>) -> PublishedRecoverTool {
    let tool = RecoverTool {
        name: name.clone(),
        form: RecoveryForm::Direct,
    };
    PublishedRecoverTool { name, tool }
}

/// Returns a listed tool, without its output schema if its results may be cut, because clients
/// would validate them against the schema.
fn without_output_schema(
    part: &ViewPart,
    item: &Item,
    listed: Entry,
    policies: &Policies,
) -> Entry {
    let is_cut = policies.tool(part.upstream.index, &item.place).is_some();
    let drops = match policies.structured {
        Structured::Keep => false,
        Structured::Auto => is_cut,
        Structured::Drop => true,
    };
    match drops {
        true => Entry {
            raw: listed.raw.without_member("outputSchema"),
            via: listed.via,
        },
        false => listed,
    }
}

/// Returns a listed tool, with the arguments `goal` and `find` if the endpoint adds them. Both are
/// removed before the tool is called.
fn with_goal(part: &ViewPart, item: &Item, listed: Entry, policies: &Policies) -> Entry {
    let policy = policies.tool(part.upstream.index, &item.place);
    if !policy.is_some_and(|policy| policy.goal_param) || !lacks_goal(item) {
        return listed;
    }
    let object = |raw: Option<Raw>| {
        let object = raw.filter(|raw| raw.kind() == narrows_wire::Kind::Object);
        object.unwrap_or_else(Raw::empty_object)
    };
    let Entry { raw, via } = listed;
    let schema = match raw.member("inputSchema") {
        Some(schema) => object(Some(schema)),
        None => Raw::from_static(r#"{"type":"object"}"#),
    };
    let properties = object(schema.member("properties"))
        .with_member(GOAL_ARGUMENT, &goal_schema())
        .with_member(FIND_ARGUMENT, &find_schema());
    let schema = schema.with_member("properties", &properties);
    Entry {
        raw: raw.with_member("inputSchema", &schema),
        via,
    }
}

/// Returns the servers whose unwrapped links may refer to another server: all servers with
/// resources, unless there is only one.
fn linking(parts: &[ViewPart], wrapped: bool) -> Vec<usize> {
    let able = parts.iter().filter(|part| part.offer.has("resources"));
    let able: Vec<usize> = able.map(|part| part.upstream.index).collect();
    match wrapped || able.len() > 1 {
        true => able,
        false => Vec::new(),
    }
}

fn resources(
    plan: &ViewPlan,
    parts: &[ViewPart],
    uris: Uris,
    published: &PublishedUris<'_>,
) -> ItemTable {
    let mut items = Vec::new();
    let mut routes = HashMap::new();
    for part in parts {
        for item in &part.offer.resources {
            let wrap = uris == Uris::Wrapped || published.is_wrapped(item);
            let uri = wrap.then(|| token::wrap_uri(&part.upstream.slug, &item.key));
            let origin = (uris == Uris::Wrapped).then(|| origin(part, Some(("originalUri", item))));
            let target = target(plan, part, ListKind::Resources, item);
            if target.denied.is_none() {
                items.push(published_item(item, uri.as_deref(), origin));
            }
            let uri = uri.map_or_else(|| item.key.clone(), String::into_boxed_str);
            routes.insert(uri, target);
        }
    }
    ItemTable::of(ListKind::Resources, items, routes)
}

fn templates(plan: &ViewPlan, parts: &[ViewPart], wrapped: bool, cuts: bool) -> Listing {
    let items = parts.iter().flat_map(|part| {
        let shown = part.offer.templates.iter().filter(move |item| {
            let target = target(plan, part, ListKind::Templates, item);
            target.denied.is_none()
        });
        shown.map(move |item| {
            let origin = wrapped.then(|| origin(part, None));
            published_item(item, None, origin)
        })
    });
    let own = cuts.then(|| Raw::from_static(recover_tool::TEMPLATE).into());
    Listing::render(ListKind::Templates.member(), items.chain(own))
}

fn patterns(parts: &[ViewPart]) -> Vec<(Template, usize)> {
    let of = |(index, part): (usize, &ViewPart)| {
        let templates = part
            .offer
            .templates
            .iter()
            .filter_map(|item| Template::parse(&item.key));
        templates
            .map(|template| (template, index))
            .collect::<Vec<_>>()
    };
    parts.iter().enumerate().flat_map(of).collect()
}

fn target(plan: &ViewPlan, part: &ViewPart, list: ListKind, item: &Item) -> Target {
    let index = part.upstream.index;
    let rules = plan.rules(index);
    Target {
        upstream: part.upstream.clone(),
        name: item.place.clone(),
        denied: permit::listed(rules, list.item(), &part.upstream, item),
        is_judged: rules.bind(),
        policy: match list {
            // Clients validate the results against that schema.
            ListKind::Tools if keeps_whole(&plan.policies, item) => None,
            ListKind::Tools => plan.policies.tool(index, &item.place),
            _ => plan.policies.server(index),
        },
        has_app: list == ListKind::Tools && has_app(&item.raw),
        is_repeatable: list == ListKind::Tools && says_repeatable(&item.raw),
        // Set by the endpoint afterwards.
        needs_task: false,
    }
}

/// Returns true if the structured content of a tool's results must stay whole.
pub(super) fn keeps_whole(policies: &Policies, item: &Item) -> bool {
    policies.structured == Structured::Keep && item.raw.member("outputSchema").is_some()
}

/// Returns true if a tool declares a user interface for its results.
pub(super) fn has_app(tool: &Raw) -> bool {
    let Some(meta) = tool.member("_meta") else {
        return false;
    };
    let nested = meta.member("ui").and_then(|ui| ui.member("resourceUri"));
    let others = ["ui/resourceUri", "openai/outputTemplate"];
    nested.is_some() || others.iter().any(|name| meta.member(name).is_some())
}

/// Returns an item as a list entry of the endpoint.
fn listed(item: &Item, raw: Raw) -> Entry {
    let via = item.via.clone();
    Entry { raw, via }
}

/// Returns the item as its server listed it, with its published key and its origin.
fn published_item(item: &Item, key: Option<&str>, origin: Option<Raw>) -> Entry {
    let mut edit = item.raw.edit();
    if let Some(key) = key {
        edit = edit.replace(&item.place, Raw::string(key));
    }
    match (origin, item.raw.member("metadata")) {
        (None, _) => {}
        (Some(origin), Some(metadata)) if metadata.kind() == narrows_wire::Kind::Object => {
            edit = edit.replace(&metadata, metadata.with_member("proxy", &origin));
        }
        (Some(origin), Some(metadata)) => {
            edit = edit.replace(&metadata, Raw::empty_object().with_member("proxy", &origin));
        }
        (Some(origin), None) => {
            edit = edit.insert(
                &item.raw,
                "metadata",
                Raw::empty_object().with_member("proxy", &origin),
            );
        }
    }
    listed(item, edit.finish())
}

fn origin(part: &ViewPart, own: Option<(&str, &Item)>) -> Raw {
    let server = Raw::empty_object().with_member("server", &Raw::string(&part.upstream.slug));
    match own {
        Some((member, item)) => server.with_member(member, &item.place),
        None => server,
    }
}

/// Returns the joined capabilities. A capability is included if at least one upstream has it. While
/// an upstream is still starting, all are included, because capabilities are sent only once, in
/// `initialize`.
fn capabilities(parts: &[ViewPart], cuts: bool) -> Raw {
    let starting = parts
        .iter()
        .any(|part| matches!(part.upstream.state(), State::Starting));
    let any = |capability: &str| starting || parts.iter().any(|part| part.offer.has(capability));
    let mut all = Raw::empty_object();
    for (name, value) in [
        ("tools", r#"{"listChanged":true}"#),
        ("prompts", r#"{"listChanged":true}"#),
        ("resources", r#"{"subscribe":true,"listChanged":true}"#),
        ("completions", "{}"),
        ("logging", "{}"),
    ] {
        // `tools` is always included, so that clients can list them even while there are none. Cut
        // texts can be read as resources.
        if name == "tools" || (name == "resources" && cuts) || any(name) {
            all = all.with_member(name, &Raw::from_static(value));
        }
    }
    all
}

/// Returns the instructions for reading long results, for endpoints that list tools.
fn long_results(recover: &str) -> String {
    format!(
        "Long results are cut to a digest, ⟦narrows: …⟧ says how. Query the full text with \
         {recover}(prune_id, query): lines with all words, a \"phrase\" or /regex/; where, \
         aggregate, sort for rows; ranges, head, tail, diff_with. Get exact text with it before \
         you edit a file."
    )
}

/// Returns the instructions of the gateway and of all servers with permitted items, with a heading
/// for each server.
fn instructions(
    parts: &[ViewPart],
    preset: Option<&Preset>,
    own: Option<String>,
    max_chars: usize,
) -> Option<String> {
    let mut text = own.unwrap_or_default();
    for part in parts.iter().filter(|part| part.is_usable(preset)) {
        let own = part
            .offer
            .hello
            .as_ref()
            .and_then(|hello| hello.instructions.as_deref())
            .map(str::trim);
        if let Some(own) = own.filter(|own| !own.is_empty()) {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&format!("## {}\n{own}", part.upstream.settings.id));
        }
    }
    if let Some((cut, _)) = text.char_indices().nth(max_chars) {
        text.truncate(cut);
        if let Some((cut, _)) = text.char_indices().rev().nth(2) {
            text.truncate(cut);
            text.push_str("...");
        }
    }
    (!text.is_empty()).then_some(text)
}
