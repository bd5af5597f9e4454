//! Resource links inside results. Each link is left unchanged, wrapped, or remembered, so that the
//! client can read it from the server that sent it.

use std::sync::Arc;

use narrows_wire::{Kind, Raw, token};

use super::{MAX_NAME, ViewSource};
use crate::catalogue::{LinkRoute, View};
use narrows_upstream::Upstream;

/// The number of links in one result that are processed. Further links are left unchanged.
const MAX_LINKS: usize = 1_024;

/// The kinds of results that contain links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkForm {
    /// `content` of `tools/call`.
    Tool,
    /// `messages` of `prompts/get`.
    Prompt,
    /// `contents` of `resources/read`.
    Resource,
}

/// Makes the links in a server's result readable for the client. Leaves results without links and
/// all bytes around links unchanged.
pub(super) fn readable(
    views: &dyn ViewSource,
    upstream: &Arc<Upstream>,
    form: LinkForm,
    result: Raw,
) -> Raw {
    let view = views.view();
    if !view.routes_links_of(upstream) || !may_hold_links(&result, form) {
        return result;
    }
    let places = places(&result, form);
    if places.is_empty() {
        return result;
    }
    let mut edit = result.edit();
    for place in places {
        if let Some(wrapped) = wrapped(views, &view, upstream, &place) {
            edit = edit.replace(&place, Raw::string(&wrapped));
        }
    }
    edit.finish()
}

/// Returns true if the result may contain links. Both kinds of links contain `resource` in their
/// `type`.
fn may_hold_links(result: &Raw, form: LinkForm) -> bool {
    form == LinkForm::Resource || memchr::memmem::find(result.as_bytes(), b"resource").is_some()
}

/// Returns the wrapped form of the URI at this place, or `None` if the client can read the URI as
/// it is.
fn wrapped(
    views: &dyn ViewSource,
    view: &View,
    upstream: &Arc<Upstream>,
    place: &Raw,
) -> Option<String> {
    if place.len() > MAX_NAME {
        return None;
    }
    let uri = place.as_text()?;
    let is_readable = match view.link_route(upstream, &uri) {
        LinkRoute::Same => true,
        LinkRoute::Other => false,
        LinkRoute::Unroutable => views.remember_link(&uri, upstream.index),
    };
    if is_readable {
        return None;
    }
    let wrapped = token::wrap_uri(&upstream.slug, &uri);
    // A longer name would be refused when the client sends it.
    (wrapped.len() + 2 <= MAX_NAME).then_some(wrapped)
}

/// Returns the URIs in a result, as slices of the result.
fn places(result: &Raw, form: LinkForm) -> Vec<Raw> {
    let array = |name: &str| {
        let found = result.pick([name]).ok();
        let [list] = found.unwrap_or_default();
        list.filter(|list| list.kind() == Kind::Array)
    };
    let mut places = Vec::new();
    match form {
        LinkForm::Tool => {
            let content = array("content");
            let items = content.iter().flat_map(Raw::elements);
            places.extend(items.filter_map(|item| linked(&item)).take(MAX_LINKS));
        }
        LinkForm::Prompt => {
            let messages = array("messages");
            for message in messages.iter().flat_map(Raw::elements) {
                let Ok([Some(content)]) = message.pick(["content"]) else {
                    continue;
                };
                let left = MAX_LINKS - places.len();
                match content.kind() {
                    Kind::Array => {
                        let items = content.elements();
                        places.extend(items.filter_map(|item| linked(&item)).take(left));
                    }
                    _ => places.extend(linked(&content).into_iter().take(left)),
                }
            }
        }
        LinkForm::Resource => {
            let contents = array("contents");
            let items = contents.iter().flat_map(Raw::elements);
            places.extend(items.filter_map(|item| uri_of(&item)).take(MAX_LINKS));
        }
    }
    places
}

/// Returns the URI that a content item links to or embeds.
fn linked(item: &Raw) -> Option<Raw> {
    if item.kind() != Kind::Object {
        return None;
    }
    let [kind, uri, resource] = item.pick(["type", "uri", "resource"]).ok()?;
    match kind?.as_text().as_deref() {
        Some("resource_link") => uri.filter(|uri| uri.kind() == Kind::String),
        Some("resource") => uri_of(&resource?),
        _ => None,
    }
}

fn uri_of(resource: &Raw) -> Option<Raw> {
    if resource.kind() != Kind::Object {
        return None;
    }
    let [uri] = resource.pick(["uri"]).ok()?;
    uri.filter(|uri| uri.kind() == Kind::String)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(form: LinkForm, result: &'static str, expected: &[&str]) {
        let result = Raw::from_static(result);
        let places = places(&result, form);
        let found: Vec<String> = places
            .iter()
            .map(|place| place.as_text().unwrap_or_default().into_owned())
            .collect();
        assert_eq!(found, expected, "{}", result.as_str());
    }

    #[test]
    fn resource_links_are_found_in_results() {
        check(
            LinkForm::Tool,
            r#"{"content":[{"type":"text","text":"x"},{"uri":"a://1","type":"resource_link"},
                {"type":"resource","resource":{"uri":"a://\u0032","text":""}},7,null,
                {"type":"resource","uri":"no"},{"type":"resource_link","uri":5},
                {"type":"resource_link","uri":"a","uri":"b"}]}"#,
            &["a://1", "a://2"],
        );
        check(
            LinkForm::Prompt,
            r#"{"messages":[{"role":"user","content":{"type":"resource_link","uri":"a://1"}},
                {"content":[{"type":"resource","resource":{"uri":"a://2"}}]},{"content":"x"},3]}"#,
            &["a://1", "a://2"],
        );
        check(
            LinkForm::Resource,
            r#"{"contents":[{"uri":"a://1","text":""},{"text":""}]}"#,
            &["a://1"],
        );
        for result in [
            "{}",
            "[]",
            "null",
            r#"{"content":{"type":"resource_link"}}"#,
        ] {
            check(LinkForm::Tool, result, &[]);
        }
    }
}
