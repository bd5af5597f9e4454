//! Refusals of items that a client may not use, for all entry points.

use std::sync::Arc;

use narrows_policy::ResourceIndex;
use narrows_policy::permission::{self, Rules, ServerLists};
use narrows_policy::preset::{Denial, Preset, ServerName};
use narrows_wire::{ItemKind, Raw};

use crate::error::Error;
use narrows_upstream::{Item, Offer, Upstream};

/// The maximum length of a name in an error, in characters. Clients may send names of any length.
const MAX_NAME: usize = 200;

/// The lists of a server, for lookups by permissions.
struct OfferLookup<'a>(&'a Offer);

impl ServerLists for OfferLookup<'_> {
    fn tool(&self, name: &str) -> Option<&Raw> {
        let listed = self.0.tools.iter().find(|tool| &*tool.key == name);
        listed.map(|tool| &tool.raw)
    }

    fn resources(&self) -> &ResourceIndex {
        self.0.derived.get_or_init(|| {
            ResourceIndex::new(
                self.0.resources.iter().map(|item| &*item.key),
                self.0.templates.iter().map(|item| &*item.key),
            )
        })
    }
}

/// Returns the names by which presets refer to a server.
pub(crate) fn server_name(upstream: &Upstream) -> ServerName<'_> {
    ServerName {
        id: &upstream.settings.id,
        slug: &upstream.slug,
    }
}

/// Returns the rule that denies a listed item.
pub(crate) fn listed(
    rules: Rules<'_>,
    kind: ItemKind,
    upstream: &Upstream,
    item: &Item,
) -> Option<Arc<Denial>> {
    permission::listed(rules, kind, server_name(upstream), &item.key, &item.raw)
}

/// Returns the rule that denies an item, by the server's own name or URI. The item need not be
/// listed.
pub(crate) fn named(
    rules: Rules<'_>,
    kind: ItemKind,
    server: ServerName<'_>,
    offer: &Offer,
    name: &str,
) -> Option<Arc<Denial>> {
    permission::named(rules, kind, server, &OfferLookup(offer), name)
}

/// Refuses a method that presets cannot describe, if a preset is in force.
pub(crate) fn method(preset: Option<&Preset>, method: &str) -> Result<(), Error> {
    match preset.map(Preset::denies_unknowable) {
        None => Ok(()),
        Some(denial) => Err(not_allowed(ItemKind::Method, method, &Arc::new(denial))),
    }
}

pub(crate) fn not_allowed(kind: ItemKind, name: &str, denial: &Arc<Denial>) -> Error {
    Error::NotAllowed {
        kind,
        name: name.chars().take(MAX_NAME).collect(),
        denial: denial.clone(),
    }
}

#[cfg(test)]
mod tests;
