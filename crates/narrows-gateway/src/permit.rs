//! Whether a caller may use a thing. The one place where that is decided, for
//! every way in: lists, calls, prompts, resources, completion, subscriptions,
//! `inspect` and `exec`, and plain JSON-RPC.
//!
//! What a server lists is judged once, when a view is built ([`listed`]);
//! whatever a client names in another way is judged when it does ([`named`]).
//! [`permit`] makes an error of what was said.

mod known;
pub(crate) mod uri;

use std::sync::Arc;

use narrows_wire::ItemKind;

pub(crate) use self::known::KnownUris;
use crate::catalogue::Target;
use crate::error::Error;
use crate::events::{self, Tag};
use crate::preset::{Denial, Preset, ServerName, ToolFilter};
use crate::upstream::{Item, Offer, Upstream};

/// As much of a name as is told: it may be anything, and of any length.
const NAME_TOLD: usize = 200;

/// The rules that bind on one server. Each of them must allow a thing; without
/// any, everything is allowed.
#[derive(Clone, Copy)]
pub(crate) struct Rules<'a> {
    /// The preset in force.
    pub(crate) preset: Option<&'a Preset>,
    /// The lists of tools in the server's own entry.
    pub(crate) filter: Option<&'a ToolFilter>,
}

impl Rules<'_> {
    /// Returns true if any rule is in force.
    pub(crate) fn bind(&self) -> bool {
        self.preset.is_some() || self.filter.is_some()
    }

    fn filtered(&self, kind: ItemKind, name: &str) -> Option<Denial> {
        let filter = self.filter.filter(|_| kind == ItemKind::Tool)?;
        filter.denies(name)
    }
}

/// Returns the rule that denies an item which its server lists.
pub(crate) fn listed(
    rules: Rules<'_>,
    kind: ItemKind,
    upstream: &Upstream,
    item: &Item,
) -> Option<Arc<Denial>> {
    let server = upstream.names();
    let mut presets = rules.preset.into_iter().flat_map(Preset::each);
    let denial = presets.find_map(|preset| match kind {
        ItemKind::Tool => preset.denies_tool(server, &item.key, Some(&item.raw)),
        ItemKind::Prompt => preset.denies_prompt(server, &item.key),
        ItemKind::Resource => listed_resource(preset, server, &item.key),
        ItemKind::Server => preset.denies_server(server),
        ItemKind::Method => Some(preset.denies_unknowable()),
    });
    let denial = denial.or_else(|| rules.filtered(kind, &item.key));
    denial.map(Arc::new)
}

/// The same by its server's own name or URI for it, listed or not.
pub(crate) fn named(
    rules: Rules<'_>,
    kind: ItemKind,
    server: ServerName<'_>,
    offer: &Offer,
    name: &str,
) -> Option<Arc<Denial>> {
    let mut presets = rules.preset.into_iter().flat_map(Preset::each);
    let denial = presets.find_map(|preset| match kind {
        ItemKind::Tool => {
            let listed = offer.tools.iter().find(|tool| &*tool.key == name);
            preset.denies_tool(server, name, listed.map(|tool| &tool.raw))
        }
        ItemKind::Prompt => preset.denies_prompt(server, name),
        ItemKind::Resource => resource(preset, server, offer, name),
        ItemKind::Server => preset.denies_server(server),
        ItemKind::Method => Some(preset.denies_unknowable()),
    });
    let denial = denial.or_else(|| rules.filtered(kind, name));
    denial.map(Arc::new)
}

/// Returns true if a tool runs only as a task (MCP 2025-11-25, tasks, tool-level
/// negotiation).
pub(crate) fn needs_task(tool: &Item) -> bool {
    let execution = tool.raw.member("execution");
    let support = execution.and_then(|execution| execution.member("taskSupport"));
    support.is_some_and(|support| support.as_text().as_deref() == Some("required"))
}

/// Returns true if anything of a server may be used.
pub(crate) fn uses(preset: Option<&Preset>, server: ServerName<'_>) -> bool {
    let allows = |preset: &Preset| preset.denies_server(server).is_none();
    preset.is_none_or(|preset| preset.each().all(allows))
}

/// Refuses what is denied, under the name that the client gave it.
pub(crate) fn permit(kind: ItemKind, name: &str, target: &Target) -> Result<(), Error> {
    match &target.denied {
        None if target.needs_task => {
            let server = &target.upstream.settings.id;
            Err(Error::needs_task(name, server))
        }
        None => Ok(()),
        Some(denial) => Err(not_allowed(kind, name, denial)),
    }
}

/// A method of which a preset can say nothing is allowed only without one.
pub(crate) fn method(preset: Option<&Preset>, method: &str) -> Result<(), Error> {
    match preset.map(Preset::denies_unknowable) {
        None => Ok(()),
        Some(denial) => Err(not_allowed(ItemKind::Method, method, &Arc::new(denial))),
    }
}

/// Puts a refusal into the log.
pub(crate) fn tell_denied(tag: Tag, error: &Error) {
    if let Error::NotAllowed { kind, name, denial } = error {
        events::trouble("proxy.tool.denied", tag, || {
            let (key, source) = denial.source.named();
            vec![
                ("kind", events::cut(&kind.to_string())),
                ("name", events::cut(name)),
                (key, events::cut(source)),
                ("reason", events::cut(&denial.to_string())),
            ]
        });
    }
}

pub(crate) fn not_allowed(kind: ItemKind, name: &str, denial: &Arc<Denial>) -> Error {
    Error::NotAllowed {
        kind,
        name: name.chars().take(NAME_TOLD).collect(),
        denial: denial.clone(),
    }
}

/// What a server lists is meant as it stands there, but for what an entry
/// forbids in the plain spelling.
fn listed_resource(preset: &Preset, server: ServerName<'_>, key: &str) -> Option<Denial> {
    preset.denies_resource(server, key).or_else(|| {
        let plain = preset.chooses_resources().then(|| uri::plain(key))?;
        preset.forbids_plain(server, &plain)
    })
}

/// A URI may be spelled in more than one way, and servers may take any of
/// them: what is denied in one spelling is denied in all.
fn resource(preset: &Preset, server: ServerName<'_>, offer: &Offer, uri: &str) -> Option<Denial> {
    if let Some(denial) = as_spelled(preset, server, offer, uri) {
        return Some(denial);
    }
    if !preset.chooses_resources() {
        return None;
    }
    if is_listed(offer, uri) {
        return as_read(preset, server, offer, uri, &uri::plain(uri));
    }
    // Nobody can say what a server makes of it.
    if uri::is_odd(uri) {
        return Some(preset.denies_unknowable());
    }
    let (climbs, silent) = (uri::climbs(uri), preset.is_silent_on_resource(server, uri));
    uri::readings(uri).iter().find_map(|reading| {
        as_read(preset, server, offer, uri, reading)
            .or_else(|| match climbs {
                true => as_spelled(preset, server, offer, reading),
                false => None,
            })
            .or_else(|| match silent {
                true => hidden_template(preset, server, offer, reading),
                false => forbidden_template(preset, server, offer, uri, reading),
            })
    })
}

/// What is said against one of the things that a URI may be read as.
fn as_read(
    preset: &Preset,
    server: ServerName<'_>,
    offer: &Offer,
    uri: &str,
    reading: &str,
) -> Option<Denial> {
    let listed = offer.uris.of(offer).resources(offer, reading);
    let mut others = listed.filter(|key| *key != uri);
    let hidden = others.find_map(|key| preset.denies_resource(server, key));
    hidden.or_else(|| preset.forbids_plain(server, reading))
}

/// What one template allows may, in its plain spelling, come from another one
/// that is hidden.
fn hidden_template(
    preset: &Preset,
    server: ServerName<'_>,
    offer: &Offer,
    plain: &str,
) -> Option<Denial> {
    let mut hidden = None;
    for template in offer.uris.of(offer).templates_of_plain(plain) {
        // One that allows it is enough.
        hidden = Some(listed_resource(preset, server, &template.key)?);
    }
    hidden
}

/// An entry that forbids a template means what comes from it.
fn forbidden_template(
    preset: &Preset,
    server: ServerName<'_>,
    offer: &Offer,
    uri: &str,
    plain: &str,
) -> Option<Denial> {
    let mut templates = offer.uris.of(offer).templates_of_plain(plain);
    templates.find_map(|template| preset.forbids_template(server, &template.key, uri))
}

/// What no entry names, and its server does not list, may come from a template
/// that is allowed.
fn as_spelled(preset: &Preset, server: ServerName<'_>, offer: &Offer, uri: &str) -> Option<Denial> {
    let denial = preset.denies_resource(server, uri)?;
    if is_listed(offer, uri) || !preset.is_silent_on_resource(server, uri) {
        return Some(denial);
    }
    let mut templates = offer.uris.of(offer).templates(uri);
    let allowed = templates.any(|one| listed_resource(preset, server, &one.key).is_none());
    Some(denial).filter(|_| !allowed)
}

fn is_listed(offer: &Offer, uri: &str) -> bool {
    let mut listed = offer.resources.iter().chain(&offer.templates);
    listed.any(|item| &*item.key == uri)
}

#[cfg(test)]
mod tests;
