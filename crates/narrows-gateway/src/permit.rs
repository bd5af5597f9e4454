//! Whether a caller may use a thing. The one place where that is decided, for
//! every way in: lists, calls, prompts, resources, completion, subscriptions,
//! `inspect` and `exec`, and plain JSON-RPC.
//!
//! What a server lists is judged once, when a view is built ([`listed`]);
//! whatever a client names in another way is judged when it does ([`named`]).
//! [`permit`] makes an error of what was said.

mod uri;

use std::sync::Arc;

use narrows_wire::Raw;

use crate::catalogue::{Target, Template};
use crate::error::{Error, ItemKind};
use crate::events::{self, Tag};
use crate::preset::{Denial, Preset, ServerName, Why};
use crate::upstream::{Item, Offer, Upstream};

/// What a preset says against a thing that its server lists. Without a preset
/// everything is allowed.
pub(crate) fn listed(
    preset: Option<&Preset>,
    kind: ItemKind,
    upstream: &Upstream,
    item: &Item,
) -> Option<Arc<Denial>> {
    let denial = preset?.denial(kind, upstream.names(), &item.key, Some(&item.raw));
    denial.map(Arc::new)
}

/// The same by its server's own name or URI for it, listed or not.
pub(crate) fn named(
    preset: Option<&Preset>,
    kind: ItemKind,
    server: ServerName<'_>,
    offer: &Offer,
    name: &str,
) -> Option<Arc<Denial>> {
    let preset = preset?;
    let denial = match kind {
        ItemKind::Tool => {
            let listed = offer.tools.iter().find(|tool| &*tool.key == name);
            preset.denial(kind, server, name, listed.map(|tool| &tool.raw))
        }
        ItemKind::Resource => resource(preset, server, offer, name),
        ItemKind::Prompt | ItemKind::Server | ItemKind::Method => {
            preset.denial(kind, server, name, None)
        }
    };
    denial.map(Arc::new)
}

/// Refuses what is denied, under the name that the client gave it.
pub(crate) fn permit(kind: ItemKind, name: &str, target: &Target) -> Result<(), Error> {
    match &target.denied {
        None => Ok(()),
        Some(denial) => Err(not_allowed(kind, name, denial)),
    }
}

/// A method of which a preset can say nothing is allowed only without one.
pub(crate) fn method(preset: Option<&Preset>, method: &str) -> Result<(), Error> {
    let unnamed = ServerName { id: "", slug: "" };
    match preset.and_then(|preset| preset.denial(ItemKind::Method, unnamed, method, None)) {
        None => Ok(()),
        Some(denial) => Err(not_allowed(ItemKind::Method, method, &Arc::new(denial))),
    }
}

/// Puts a refusal into the log.
pub(crate) fn tell_denied(tag: Tag, error: &Error) {
    if let Error::NotAllowed { kind, name, denial } = error {
        events::trouble("proxy.tool.denied", tag, || {
            vec![
                ("kind", Raw::string(&kind.to_string())),
                ("name", events::cut(name)),
                ("preset", Raw::string(&denial.preset)),
                ("reason", events::cut(&denial.to_string())),
            ]
        });
    }
}

pub(crate) fn not_allowed(kind: ItemKind, name: &str, denial: &Arc<Denial>) -> Error {
    Error::NotAllowed {
        kind,
        name: name.chars().take(200).collect(),
        denial: denial.clone(),
    }
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
    let plain = uri::plain(uri);
    let listed = is_listed(offer, uri);
    // What is listed is meant with all that stands behind its path.
    let path = match listed {
        true => plain.as_str(),
        false => uri::path(&plain),
    };
    let spellings = [plain.as_str(), path];
    let same =
        |item: &&Item| *item.key != *uri && spellings.contains(&uri::plain(&item.key).as_str());
    let mut others = offer.resources.iter().filter(same);
    let hidden = others.find_map(|item| as_spelled(preset, server, offer, &item.key));
    let forbidden = |spelling: &&str| {
        let denial = preset.denial(ItemKind::Resource, server, spelling, None);
        denial.filter(|denial| matches!(denial.why, Why::Forbidden(_)))
    };
    hidden
        .or_else(|| spellings.iter().find_map(forbidden))
        .or_else(|| match !listed && uri::climbs(uri) {
            true => as_spelled(preset, server, offer, &plain),
            false => None,
        })
        .or_else(|| hidden_template(preset, server, offer, uri, &plain))
}

/// What one template allows may, in its plain spelling, come from another one
/// that is hidden.
fn hidden_template(
    preset: &Preset,
    server: ServerName<'_>,
    offer: &Offer,
    uri: &str,
    plain: &str,
) -> Option<Denial> {
    if !preset.is_silent_on_resource(server, uri) {
        return None;
    }
    let is_of =
        |template: &str| Template::parse(template).is_some_and(|template| template.matches(plain));
    let comes_from = |item: &&Item| is_of(&item.key) || is_of(&uri::plain(&item.key));
    let mut hidden = None;
    for template in offer.templates.iter().filter(comes_from) {
        // One that allows it is enough.
        hidden = Some(preset.denial(ItemKind::Resource, server, &template.key, None)?);
    }
    hidden
}

/// What no entry names, and its server does not list, may come from a template
/// that is allowed.
fn as_spelled(preset: &Preset, server: ServerName<'_>, offer: &Offer, uri: &str) -> Option<Denial> {
    let denial = preset.denial(ItemKind::Resource, server, uri, None)?;
    if is_listed(offer, uri) || !preset.is_silent_on_resource(server, uri) {
        return Some(denial);
    }
    let comes_from = |template: &str| {
        let denied = preset.denial(ItemKind::Resource, server, template, None);
        let template = Template::parse(template).filter(|_| denied.is_none());
        template.is_some_and(|template| template.matches(uri))
    };
    let mut templates = offer.templates.iter();
    let allowed = templates.any(|template| comes_from(&template.key));
    Some(denial).filter(|_| !allowed)
}

fn is_listed(offer: &Offer, uri: &str) -> bool {
    let mut listed = offer.resources.iter().chain(&offer.templates);
    listed.any(|item| &*item.key == uri)
}

#[cfg(test)]
mod tests;
