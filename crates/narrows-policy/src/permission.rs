//! Permission decisions: which items a caller may use. They apply to lists, calls, prompts,
//! resources, completion, subscriptions, `inspect`, `exec` and plain JSON-RPC.
//!
//! [`listed`] decides on the items of a server's lists, [`named`] on items that a client names in
//! any other way.

use std::sync::Arc;

use narrows_wire::{ItemKind, Raw};

use crate::preset::{Denial, Preset, ServerName, ToolFilter};
use crate::resources::ResourceIndex;
use crate::uri;

/// The rules in force for one server. An item must be allowed by each of them. Without rules,
/// everything is allowed.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// The preset in force.
    pub preset: Option<&'a Preset>,
    /// The tool lists in the server's own configuration entry.
    pub filter: Option<&'a ToolFilter>,
}

impl Rules<'_> {
    /// Returns true if any rule is in force.
    pub fn bind(&self) -> bool {
        self.preset.is_some() || self.filter.is_some()
    }

    fn filtered(&self, kind: ItemKind, name: &str) -> Option<Denial> {
        let filter = self.filter.filter(|_| kind == ItemKind::Tool)?;
        filter.denies(name)
    }
}

/// The lists of one server that permission decisions need.
pub trait ServerLists {
    /// Returns the tool definition as the server listed it.
    fn tool(&self, name: &str) -> Option<&Raw>;
    fn resources(&self) -> &ResourceIndex;
}

/// Returns the rule that denies an item listed by its server under `key`.
pub fn listed(
    rules: Rules<'_>,
    kind: ItemKind,
    server: ServerName<'_>,
    key: &str,
    item: &Raw,
) -> Option<Arc<Denial>> {
    let mut presets = rules.preset.into_iter().flat_map(Preset::each);
    let denial = presets.find_map(|preset| match kind {
        ItemKind::Tool => preset.denies_tool(server, key, Some(item)),
        ItemKind::Prompt => preset.denies_prompt(server, key),
        ItemKind::Resource => listed_resource(preset, server, key),
        ItemKind::Server => preset.denies_server(server),
        ItemKind::Method => Some(preset.denies_unknowable()),
    });
    let denial = denial.or_else(|| rules.filtered(kind, key));
    denial.map(Arc::new)
}

/// Returns the rule that denies an item with this name or URI on its server, listed or not.
pub fn named(
    rules: Rules<'_>,
    kind: ItemKind,
    server: ServerName<'_>,
    lists: &impl ServerLists,
    name: &str,
) -> Option<Arc<Denial>> {
    let mut presets = rules.preset.into_iter().flat_map(Preset::each);
    let denial = presets.find_map(|preset| match kind {
        ItemKind::Tool => preset.denies_tool(server, name, lists.tool(name)),
        ItemKind::Prompt => preset.denies_prompt(server, name),
        ItemKind::Resource => resource(preset, server, lists.resources(), name),
        ItemKind::Server => preset.denies_server(server),
        ItemKind::Method => Some(preset.denies_unknowable()),
    });
    let denial = denial.or_else(|| rules.filtered(kind, name));
    denial.map(Arc::new)
}

/// Returns true if any item of a server may be used.
pub fn uses(preset: Option<&Preset>, server: ServerName<'_>) -> bool {
    let allows = |preset: &Preset| preset.denies_server(server).is_none();
    preset.is_none_or(|preset| preset.each().all(allows))
}

/// Checks a listed URI, which is used exactly as listed, except that an entry may also forbid its
/// normalised spelling.
fn listed_resource(preset: &Preset, server: ServerName<'_>, key: &str) -> Option<Denial> {
    preset.denies_resource(server, key).or_else(|| {
        let plain = preset.chooses_resources().then(|| uri::plain(key))?;
        preset.forbids_plain(server, &plain)
    })
}

/// Checks a URI in all its spellings. Servers may interpret any of them, so a URI that is denied in
/// one spelling is denied in all.
fn resource(
    preset: &Preset,
    server: ServerName<'_>,
    index: &ResourceIndex,
    uri: &str,
) -> Option<Denial> {
    if let Some(denial) = as_spelled(preset, server, index, uri) {
        return Some(denial);
    }
    if !preset.chooses_resources() {
        return None;
    }
    if index.lists(uri) {
        return as_read(preset, server, index, uri, &uri::plain(uri));
    }
    // The interpretation by the server is unpredictable.
    if uri::has_ignored_characters(uri) {
        return Some(preset.denies_unknowable());
    }
    let (has_parent_segments, silent) = (
        uri::has_parent_segments(uri),
        preset.is_silent_on_resource(server, uri),
    );
    uri::readings(uri).iter().find_map(|reading| {
        as_read(preset, server, index, uri, reading)
            .or_else(|| match has_parent_segments {
                true => as_spelled(preset, server, index, reading),
                false => None,
            })
            .or_else(|| match silent {
                true => hidden_template(preset, server, index, reading),
                false => forbidden_template(preset, server, index, uri, reading),
            })
    })
}

/// Checks one possible reading of a URI.
fn as_read(
    preset: &Preset,
    server: ServerName<'_>,
    index: &ResourceIndex,
    uri: &str,
    reading: &str,
) -> Option<Denial> {
    let listed = index.resources(reading);
    let mut others = listed.filter(|key| *key != uri);
    let hidden = others.find_map(|key| preset.denies_resource(server, key));
    hidden.or_else(|| preset.forbids_plain(server, reading))
}

/// Denies a URI that an allowed template matches, but whose normalised spelling matches only hidden
/// templates.
fn hidden_template(
    preset: &Preset,
    server: ServerName<'_>,
    index: &ResourceIndex,
    plain: &str,
) -> Option<Denial> {
    let mut hidden = None;
    for template in index.templates_of_plain(plain) {
        // One template that allows the URI is enough.
        hidden = Some(listed_resource(preset, server, &template.key)?);
    }
    hidden
}

/// Denies a URI that a forbidden template may expand to.
fn forbidden_template(
    preset: &Preset,
    server: ServerName<'_>,
    index: &ResourceIndex,
    uri: &str,
    plain: &str,
) -> Option<Denial> {
    let mut templates = index.templates_of_plain(plain);
    templates.find_map(|template| preset.forbids_template(server, &template.key, uri))
}

/// Checks a URI in its literal spelling. A URI that no entry names and its server does not list may
/// come from an allowed template.
fn as_spelled(
    preset: &Preset,
    server: ServerName<'_>,
    index: &ResourceIndex,
    uri: &str,
) -> Option<Denial> {
    let denial = preset.denies_resource(server, uri)?;
    if index.lists(uri) || !preset.is_silent_on_resource(server, uri) {
        return Some(denial);
    }
    let mut templates = index.templates(uri);
    let allowed = templates.any(|one| listed_resource(preset, server, &one.key).is_none());
    Some(denial).filter(|_| !allowed)
}
