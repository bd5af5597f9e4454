use std::sync::Arc;

use expect_test::{Expect, expect};
use narrows_wire::Raw;

use super::*;
use crate::settings::Uris;
use crate::testing;
use narrows_policy::Template;
use narrows_upstream::{Item, ServerHello};

mod presets;

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned().into()).expect("a test's JSON")
}

fn items(kind: ListKind, list: &[&str]) -> Vec<Item> {
    list.iter()
        .map(|text| Item::read(kind, raw(text)).expect("a test's item"))
        .collect()
}

/// Returns servers `a` and `b`, both with the tool `t`, the prompt `p` and the resource `x:1`, and
/// `c`, which is down.
fn parts() -> Vec<ViewPart> {
    let part = |(index, id): (usize, &str)| {
        let hello = ServerHello {
            revision: narrows_wire::Revision::V2025_06_18,
            capabilities: raw(r#"{"tools":{},"resources":{},"prompts":{}}"#),
            server_info: raw(r#"{"name":"own"}"#),
            instructions: Some(format!("use {id}")),
        };
        let offer = Offer {
            looped: Default::default(),
            hello: Some(hello),
            tools: items(
                ListKind::Tools,
                &[
                    r#"{ "x":1.0,"name":"t" }"#,
                    &format!(r#"{{"name":"only_{id}"}}"#),
                ],
            ),
            prompts: items(
                ListKind::Prompts,
                &[r#"{"name":"p"}"#, &format!(r#"{{"name":"p_{id}"}}"#)],
            ),
            resources: items(
                ListKind::Resources,
                &[r#"{"uri":"x:1"}"#, &format!(r#"{{"uri":"{id}:1"}}"#)],
            ),
            templates: items(
                ListKind::Templates,
                &[&format!(r#"{{"uriTemplate":"{id}://{{n}}"}}"#)],
            ),
            derived: Default::default(),
        };
        ViewPart {
            upstream: testing::upstream(index, id, id),
            offer: Arc::new(if id == "c" { Offer::default() } else { offer }),
        }
    };
    ["a", "b", "c"].into_iter().enumerate().map(part).collect()
}

fn joined(uris: Uris, separator: &str) -> View {
    let settings = EndpointSettings {
        uris,
        separator: separator.into(),
        ..EndpointSettings::named("default")
    };
    View::build(&plan(EndpointScope::Joined(settings), 4_000), &parts())
}

fn plan(scope: EndpointScope, instructions_max_chars: usize) -> ViewPlan {
    ViewPlan {
        scope,
        preset: None,
        filters: Arc::default(),
        policies: Arc::default(),
        instructions_max_chars,
    }
}

#[track_caller]
fn check_list(view: &View, kind: ListKind, params: &str, expected: Expect) {
    let page = view.listing(kind).page(Some(&raw(params)));
    expected
        .assert_eq(&page.map_or_else(|error| error.to_string(), |page| page.as_str().to_owned()));
}

#[track_caller]
fn check_route(found: Result<Target, Error>, expected: &str) {
    let found = match found {
        Ok(target) => format!("{} {}", target.upstream.settings.id, target.name.as_str()),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected);
}

#[test]
fn lists_keep_order_and_change_only_names() {
    let view = joined(Uris::Unchanged, "__");
    check_list(
        &view,
        ListKind::Tools,
        "{}",
        expect![[
            r#"{"tools":[{ "x":1.0,"name":"a__t" },{"name":"a__only_a"},{ "x":1.0,"name":"b__t" },{"name":"b__only_b"}]}"#
        ]],
    );
    check_list(
        &view,
        ListKind::Resources,
        "{}",
        expect![[
            r#"{"resources":[{"uri":"proxy://resource/eyJzZXJ2ZXIiOiJhIiwidXJpIjoieDoxIn0="},{"uri":"a:1"},{"uri":"proxy://resource/eyJzZXJ2ZXIiOiJiIiwidXJpIjoieDoxIn0="},{"uri":"b:1"}]}"#
        ]],
    );
}

#[test]
fn wrapped_endpoints_name_the_origin_of_each_item() {
    let view = joined(Uris::Wrapped, "::");
    check_list(
        &view,
        ListKind::Prompts,
        r#"{"limit":1}"#,
        expect![[
            r#"{"prompts":[{"name":"a::p","metadata":{"proxy":{"server":"a","originalName":"p"}}}],"nextCursor":"eyJvZmZzZXQiOiAxfQ=="}"#
        ]],
    );
    check_list(
        &view,
        ListKind::Resources,
        r#"{"limit":1}"#,
        expect![[
            r#"{"resources":[{"uri":"proxy://resource/eyJzZXJ2ZXIiOiJhIiwidXJpIjoieDoxIn0=","metadata":{"proxy":{"server":"a","originalUri":"x:1"}}}],"nextCursor":"eyJvZmZzZXQiOiAxfQ=="}"#
        ]],
    );
    check_list(
        &view,
        ListKind::Templates,
        r#"{"limit":1}"#,
        expect![[
            r#"{"resourceTemplates":[{"uriTemplate":"a://{n}","metadata":{"proxy":{"server":"a"}}}],"nextCursor":"eyJvZmZzZXQiOiAxfQ=="}"#
        ]],
    );
}

#[test]
fn pages_follow_in_order() {
    let view = joined(Uris::Unchanged, "__");
    check_list(
        &view,
        ListKind::Tools,
        r#"{"limit":3,"cursor":"eyJvZmZzZXQiOiAxfQ=="}"#,
        expect![[
            r#"{"tools":[{"name":"a__only_a"},{ "x":1.0,"name":"b__t" },{"name":"b__only_b"}]}"#
        ]],
    );
    check_list(
        &view,
        ListKind::Tools,
        r#"{"limit":-5}"#,
        expect![[r#"{"tools":[{ "x":1.0,"name":"a__t" }],"nextCursor":"eyJvZmZzZXQiOiAxfQ=="}"#]],
    );
    check_list(
        &view,
        ListKind::Tools,
        r#"{"cursor":"eyJvZmZzZXQiOjk5fQ"}"#,
        expect![[r#"{"tools":[]}"#]],
    );
    check_list(
        &view,
        ListKind::Tools,
        r#"{"cursor":"?"}"#,
        expect!["The cursor was not issued by this gateway"],
    );
    check_list(
        &view,
        ListKind::Tools,
        r#"{"cursor":7}"#,
        expect!["The cursor is not a string"],
    );
    check_list(
        &view,
        ListKind::Tools,
        r#"{"limit":"7"}"#,
        expect!["The limit is not an integer"],
    );
}

#[test]
fn tool_resolves_under_every_form_of_its_name() {
    let view = joined(Uris::Unchanged, "__");
    for name in ["a__t", "a:t", "a::t"] {
        check_route(view.tool(name), "a \"t\"");
    }
    check_route(
        view.tool("t"),
        "Unknown tool: t. Did you mean a__t or b__t?",
    );
    check_route(
        view.tool("a__zzz"),
        "Unknown tool: a__zzz. Did you mean a__t?",
    );
    check_route(
        view.tool("c__t"),
        "Server 'c' is not available: it is still starting",
    );
    check_route(
        joined(Uris::Unchanged, ":").tool("b__only_b"),
        "b \"only_b\"",
    );
}

#[test]
fn unique_prompt_resolves_by_its_bare_name() {
    let view = joined(Uris::Unchanged, "__");
    check_route(view.prompt("p_b"), "b \"p_b\"");
    check_route(view.prompt("b__p"), "b \"p\"");
    check_route(
        view.prompt("p"),
        "Unknown prompt: p. Did you mean a__p, b__p or a__p_a?",
    );
}

#[test]
fn resources_resolve_by_uri_wrapped_uri_and_template() {
    let view = joined(Uris::Unchanged, "__");
    check_route(view.resource("a:1"), "a \"a:1\"");
    check_route(view.resource(&token::wrap_uri("b", "x:1")), "b \"x:1\"");
    check_route(
        view.resource(&token::wrap_uri("b", "free:7")),
        "b \"free:7\"",
    );
    check_route(view.resource("b://7"), "b \"b://7\"");
    check_route(
        view.resource("x:1"),
        "The servers a, b all publish x:1. Use the URI from resources/list for the server you want",
    );
    check_route(view.resource("unknown:1"), "Unknown resource: unknown:1");
    check_route(joined(Uris::Wrapped, "__").resource("a:1"), "a \"a:1\"");
    check_route(view.template("a://{n}"), "a \"a://{n}\"");
}

#[test]
fn single_server_is_mirrored() {
    let view = View::build(&plan(EndpointScope::Single(1), 4_000), &parts());
    check_list(
        &view,
        ListKind::Tools,
        "{}",
        expect![[r#"{"tools":[{ "x":1.0,"name":"t" },{"name":"only_b"}]}"#]],
    );
    check_route(view.tool("t"), "b \"t\"");
    check_route(view.resource("anything"), "b \"anything\"");
    assert_eq!(view.server_info.as_str(), r#"{"name":"own"}"#);
    assert_eq!(view.instructions.as_deref(), Some("use b"));
}

#[test]
fn instructions_are_joined_and_truncated() {
    let view = joined(Uris::Unchanged, "__");
    assert_eq!(
        view.instructions.as_deref(),
        Some("## a\nuse a\n\n## b\nuse b")
    );
    let scope = EndpointScope::Joined(EndpointSettings::named("x"));
    let cut = View::build(&plan(scope, 10), &parts()).instructions;
    assert_eq!(cut.as_deref(), Some("## a\nus..."));
}

#[test]
fn templates_match_their_expansions() {
    for (template, uri, fits) in [
        ("demo://rows/{n}", "demo://rows/7", true),
        ("demo://rows/{n}", "demo://rows/", false),
        ("demo://rows/{n}", "demo://rows/7/8", false),
        ("demo://{a}/x/{b}", "demo://1/x/2", true),
        ("demo://{a}/x/{b}", "demo://1/y/2", false),
        ("file:///{+path}", "file:///a/b/c", true),
        ("file:///{path*}", "file:///a/b/c", true),
        ("plain:", "plain:", true),
        ("plain:", "plain:x", false),
    ] {
        assert_eq!(
            Template::parse(template).expect("a template").matches(uri),
            fits,
            "{template} {uri}"
        );
    }
    assert!(Template::parse("{everything}").is_none());
    assert!(Template::parse("a{b").is_none());
}

#[test]
fn via_marks_are_listed_only_for_gateways() {
    let item = |text: &str| Item::read(ListKind::Tools, raw(text)).expect("a test's item");
    let items = [
        item(r#"{"name":"own"}"#),
        item(r#"{"name":"far","_meta":{"narrows/via":"a,b","x":1}}"#),
    ];
    let listing = Listing::render(
        "tools",
        items.iter().map(|item| Entry {
            raw: item.raw.clone(),
            via: item.via.clone(),
        }),
    );
    let all = |listing: &Listing| listing.page(None).expect("a list").as_str().to_owned();
    assert_eq!(
        all(&listing),
        r#"{"tools":[{"name":"own"},{"name":"far","_meta":{"x":1}}]}"#
    );
    assert_eq!(
        all(listing.passed_on("me")),
        r#"{"tools":[{"name":"own","_meta":{"narrows/via":"me"}},{"name":"far","_meta":{"x":1,"narrows/via":"a,b,me"}}]}"#
    );
    let none = Listing::render("tools", std::iter::empty());
    assert_eq!(all(none.passed_on("me")), r#"{"tools":[]}"#);
}

#[test]
fn direct_uri_takes_precedence_over_indirect_ones() {
    let resource = |via: &str| {
        let meta = format!(r#","_meta":{{"narrows/via":"{via}"}}"#);
        let meta = if via.is_empty() { "" } else { &meta };
        let text = format!(r#"{{"uri":"x:1"{meta}}}"#);
        Item::read(ListKind::Resources, raw(&text)).expect("a test's item")
    };
    for (a, b, expected) in [
        ("", "", ["a", "b"].as_slice()),
        ("", "g", &["b"]),
        ("g,h", "g", &["a"]),
        ("g", "h", &["a", "b"]),
    ] {
        let mut parts = parts();
        for (part, via) in parts.iter_mut().zip([a, b]) {
            let mut offer = Offer::clone(&part.offer);
            offer.resources = vec![resource(via)];
            part.offer = Arc::new(offer);
        }
        let published = uris::PublishedUris::of(&parts[..2]);
        let wrapped = parts[..2]
            .iter()
            .filter(|part| published.is_wrapped(&part.offer.resources[0]))
            .map(|part| part.upstream.settings.id.as_str());
        assert_eq!(wrapped.collect::<Vec<_>>(), expected, "{a:?} {b:?}");
        assert_eq!(published.shared().len(), usize::from(expected.len() == 2));
    }
}
