//! Tests of views under a preset.

use narrows_policy::preset::{Preset, Rule};
use narrows_wire::ItemKind;

use super::*;

fn rules(texts: &[&str]) -> Option<Vec<Rule>> {
    let parse = |text: &&str| Rule::parse(text).expect("a test's rule");
    Some(texts.iter().map(parse).collect())
}

fn under(preset: Preset) -> View {
    let scope = EndpointScope::Joined(EndpointSettings::named("default"));
    let plan = ViewPlan {
        preset: Some(Arc::new(preset)),
        ..plan(scope, 4_000)
    };
    View::build(&plan, &parts())
}

fn names(view: &View, kind: ListKind, key: &str) -> Vec<String> {
    let page = view.listing(kind).page(None).expect("a whole list");
    let list = page.member(kind.member()).expect("its items");
    let name = |item: Raw| item.member(key)?.as_text().map(|name| name.into_owned());
    list.elements().filter_map(name).collect()
}

/// Checks the outcome of a call: its target, or the reason why it is refused.
#[track_caller]
fn check(kind: ItemKind, name: &str, found: Result<Target, Error>, expected: &str) {
    let end = found.and_then(|target| {
        target.permit(kind, name)?;
        Ok(format!(
            "{} {}",
            target.upstream.settings.id,
            target.name.as_str()
        ))
    });
    let end = end.unwrap_or_else(|error| match &error {
        Error::NotAllowed { denial, .. } => format!("{error}: {denial}"),
        error => error.to_string(),
    });
    assert_eq!(end, expected);
}

#[test]
fn hidden_items_are_unlisted_and_refused_by_any_name() {
    let view = under(Preset::new(
        "p",
        rules(&["*/*", "!a/t"]),
        rules(&["b/*"]),
        rules(&["*/*", "!a/*"]),
    ));
    assert_eq!(
        names(&view, ListKind::Tools, "name"),
        ["a__only_a", "b__t", "b__only_b"]
    );
    assert_eq!(names(&view, ListKind::Prompts, "name"), ["b__p", "b__p_b"]);
    // The URIs of the visible resources are the same as without a preset.
    assert_eq!(
        names(&view, ListKind::Resources, "uri"),
        [token::wrap_uri("b", "x:1").as_str(), "b:1"]
    );
    assert_eq!(
        names(&view, ListKind::Templates, "uriTemplate"),
        ["b://{n}"]
    );
    for name in ["a__t", "a:t", "a::t"] {
        let expected = format!(
            "Tool '{name}' is not allowed by current preset: `!a/t` of preset 'p' forbids it"
        );
        check(ItemKind::Tool, name, view.tool(name), &expected);
    }
    check(ItemKind::Tool, "b__t", view.tool("b__t"), r#"b "t""#);
    let refused = "Prompt 'p_a' is not allowed by current preset: no entry of preset 'p' allows it";
    check(ItemKind::Prompt, "p_a", view.prompt("p_a"), refused);
    // Only one of the two prompts of this name is visible to this client.
    check(ItemKind::Prompt, "p", view.prompt("p"), r#"b "p""#);
    let Err(Error::Unknown { nearest, .. }) = view.tool("a__tt") else {
        panic!("there is no such tool");
    };
    assert!(!nearest.contains(&"a__t".to_owned()), "{nearest:?}");
}

#[test]
fn no_uri_spelling_bypasses_a_preset() {
    let view = under(Preset::new(
        "p",
        None,
        None,
        rules(&["a/a://{n}", "a/a://open/*", "!a/a://open/secret*"]),
    ));
    let wrapped = |own: &str| token::wrap_uri("a", own);
    for uri in [
        "a:1".to_owned(),
        wrapped("a:1"),
        wrapped("A:1"),
        wrapped("a:%31"),
    ] {
        let refused = format!(
            "Resource '{uri}' is not allowed by current preset: no entry of preset 'p' allows it"
        );
        check(ItemKind::Resource, &uri, view.resource(&uri), &refused);
    }
    for own in ["secret1", "%73ecret1", "x/../secret1", "./secret1"] {
        let uri = wrapped(&format!("a://open/{own}"));
        let refused = format!(
            "Resource '{uri}' is not allowed by current preset: `!a/a://open/secret*` of preset 'p' forbids it"
        );
        check(ItemKind::Resource, &uri, view.resource(&uri), &refused);
    }
    let open = wrapped("a://open/x");
    let expected = r#"a "a://open/x""#;
    check(ItemKind::Resource, &open, view.resource(&open), expected);
    // An allowed template covers resources that no list contains.
    check(
        ItemKind::Resource,
        "a://7",
        view.resource("a://7"),
        r#"a "a://7""#,
    );
    let template = "b://{n}";
    check(
        ItemKind::Resource,
        template,
        view.template(template),
        "Resource 'b://{n}' is not allowed by current preset: preset 'p' allows nothing on its server",
    );
}

/// Returns a view on `a` with these resources and templates, under these preset entries.
fn with_uris<T: AsRef<str>>(entries: &[&str], resources: &[T], templates: &[T]) -> View {
    let list = |kind: ListKind, member: &str, keys: &[T]| {
        let uri = |key: &T| Raw::string(key.as_ref());
        let item = |key: &T| Raw::empty_object().with_member(member, &uri(key));
        let items = keys.iter().map(item);
        let items = items.filter_map(|item| Item::read(kind, item));
        items.collect::<Vec<_>>()
    };
    let mut parts = parts();
    parts[0].offer = Arc::new(Offer {
        resources: list(ListKind::Resources, "uri", resources),
        templates: list(ListKind::Templates, "uriTemplate", templates),
        ..Offer::clone(&parts[0].offer)
    });
    let scope = EndpointScope::Joined(EndpointSettings::named("default"));
    let plan = ViewPlan {
        preset: Some(Arc::new(Preset::new("p", None, None, rules(entries)))),
        ..plan(scope, 4_000)
    };
    View::build(&plan, &parts)
}

/// Checks that resources of `a` with these URIs are all refused, or all allowed.
#[track_caller]
fn check_uris(view: &View, uris: &[&str], refused: bool) {
    for own in uris {
        let uri = token::wrap_uri("a", own);
        let target = view.resource(&uri).expect("`a` is there");
        assert_eq!(target.denied.is_some(), refused, "{own:?}");
    }
}

/// Parsers drop some characters and parts, or evaluate them in different orders.
#[test]
fn ignored_uri_characters_do_not_bypass_a_preset() {
    let by_template = with_uris(
        &["a/file:///open/{name}"],
        &["file:///open/secret.txt"],
        &["file:///open/{name}"],
    );
    let by_pattern = with_uris(
        &["a/file:///open/*", "!a/file:///open/secret*"],
        &["file:///open/secret.txt"],
        &["file:///open/{name}"],
    );
    let all_but = with_uris(
        &["*/*", "!a/file:///open/secret*", "!a/file:///etc/*"],
        &["file:///open/secret.txt"],
        &["file:///open/{name}"],
    );
    for view in [&by_template, &by_pattern, &all_but] {
        check_uris(
            view,
            &[
                "file:///open/secre\tt.txt",
                "file:///open/secre%09t.txt",
                "file:///open/secre%250At.txt",
                "file:///open/\u{1}secret.txt",
                "file:///open/secret.txt ",
                " file:///open/secret.txt",
                "file:///open/secret.txt%20",
                "file:///open/.\t./etc/passwd",
                "file:///open/secret.txt?%2F..%2Fplain.txt",
                "file:///open/secret.txt#%2F..%2Fplain.txt",
                "file:///open/secret.txt%3F%2F..%2Fplain.txt",
                "file:///open/x%3F%2F..%2Fsecret.txt",
                "file:///open/x?%2F..%2Fsecret.txt",
                "file:///open/../etc/passwd",
                "file:///open/..%2Fetc/passwd",
            ],
            true,
        );
        check_uris(
            view,
            &[
                "file:///open/plain.txt",
                "file:///open/plain.txt?x=1",
                "file:///open/a%20b.txt",
            ],
            false,
        );
    }
}

/// Preset lists with only exclusions must cover other spellings too.
#[test]
fn host_spellings_do_not_bypass_a_preset() {
    let view = with_uris(
        &[
            "*/*",
            "!a/file:///etc/*",
            "!a/http://host/*",
            "!a/https://other:443/*",
            "!a/file:///My%20Docs/*",
            "a/file:///My%20Docs/open",
            "!a/db://host/*",
        ],
        &[""; 0],
        &[],
    );
    check_uris(
        &view,
        &[
            "file://localhost/etc/passwd",
            "file://LOCALHOST./etc/passwd",
            "file://127.0.0.1/etc/passwd",
            "file://other/etc/passwd",
            "file:/etc/passwd",
            "file://\\etc\\passwd",
            "file://localhost/etc/",
            "FILE:///etc/passwd",
            "http://u@host/",
            "http://u:p@host/x",
            "http://host:80/",
            "http://host:/x",
            "http://host./x",
            "http://HOST/x",
            "http:host/x",
            "http:\\\\host/x",
            "http:///host/x",
            "http://x%2F@host/x",
            "https://other/x",
            "file:///My Docs/x",
            "file:///My%2520Docs/x",
            "db://me@host/x",
        ],
        true,
    );
    check_uris(
        &view,
        &[
            "file:///home/etc/passwd",
            "http://host.org/x",
            "http://host:8080/x",
            "http://org/host/x",
            "https://host/x",
            "file:///My%20Docs/open",
            "file:///My%20Documents/x",
            "db://hosts/x",
        ],
        false,
    );
}

#[test]
fn listed_uris_are_hidden_by_normalized_spelling() {
    let view = with_uris(
        &["*/*", "!a/file:///My Docs/*"],
        &["file:///My%20Docs/x", "file:///My%20Pictures/x"],
        &["file:///My%20Docs/{name}", "file:///My%20Pictures/{name}"],
    );
    let of_a = |list: Vec<String>| {
        let own = list.into_iter().filter(|uri| uri.starts_with("file:"));
        own.collect::<Vec<_>>()
    };
    assert_eq!(
        of_a(names(&view, ListKind::Resources, "uri")),
        ["file:///My%20Pictures/x"]
    );
    assert_eq!(
        of_a(names(&view, ListKind::Templates, "uriTemplate")),
        ["file:///My%20Pictures/{name}"]
    );
    let uri = "file:///My%20Docs/x";
    let refused = format!(
        "Resource '{uri}' is not allowed by current preset: `!a/file:///My Docs/*` of preset 'p' forbids it"
    );
    check(ItemKind::Resource, uri, view.resource(uri), &refused);
    check_uris(&view, &["file:///My%20Docs/x", "file:///My Docs/y"], true);
    check_uris(&view, &["file:///My%20Pictures/x"], false);
}

/// A server may have many matching templates. The test would take forever if each template were
/// compared with all others and with each resource.
#[test]
fn many_matching_templates_are_checked_once() {
    let many = |key: fn(usize) -> String| (0..20_000).map(key).collect::<Vec<_>>();
    let resources = many(|at| format!("x:///r/{at}"));
    let templates = many(|at| format!("x:///{{v{at}}}"));
    let view = with_uris(&["a/nothing"], &resources, &templates);
    let target = view.resource("x:///any").expect("a template fits");
    assert!(target.denied.is_some());
}

#[test]
fn shared_template_resolves_to_the_allowed_server() {
    let mut parts = parts();
    let shared = parts[1].offer.templates.clone();
    parts[0].offer = Arc::new(Offer {
        templates: shared,
        ..Offer::clone(&parts[0].offer)
    });
    let view = |entries: &[&str]| {
        let scope = EndpointScope::Joined(EndpointSettings::named("default"));
        let plan = ViewPlan {
            preset: Some(Arc::new(Preset::new("p", None, None, rules(entries)))),
            ..plan(scope, 4_000)
        };
        View::build(&plan, &parts)
    };
    let template = "b://{n}";
    let allowed = view(&["b/*"]);
    check(
        ItemKind::Resource,
        template,
        allowed.template(template),
        r#"b "b://{n}""#,
    );
    let denied = view(&["a/x"]).template(template).expect("it is there");
    assert!(denied.denied.is_some());
}

#[test]
fn excluded_server_has_no_prompts_or_instructions() {
    let view = under(Preset::new("p", rules(&["*/*", "!a/*"]), None, None));
    assert_eq!(names(&view, ListKind::Prompts, "name"), ["b__p", "b__p_b"]);
    assert_eq!(view.instructions.as_deref(), Some("## b\nuse b"));
}

#[test]
fn denying_a_template_denies_its_expansions() {
    let view = under(Preset::new(
        "p",
        None,
        None,
        rules(&["a/*", "!a/a://{n}", "a/a://open"]),
    ));
    let refused =
        "Resource 'a://7' is not allowed by current preset: `!a/a://{n}` of preset 'p' forbids it";
    check(ItemKind::Resource, "a://7", view.resource("a://7"), refused);
    let open = "a://open";
    check(
        ItemKind::Resource,
        open,
        view.resource(open),
        r#"a "a://open""#,
    );
    check(
        ItemKind::Resource,
        "a:1",
        view.resource("a:1"),
        r#"a "a:1""#,
    );
}

#[test]
fn servers_without_allowed_items_are_not_mentioned() {
    let view = under(Preset::new("p", rules(&["b/t"]), None, None));
    assert_eq!(view.instructions.as_deref(), Some("## b\nuse b"));
    let ids = view
        .upstreams()
        .map(|upstream| upstream.settings.id.as_str());
    assert_eq!(ids.collect::<Vec<_>>(), ["b"]);
    let nothing = under(Preset::nothing("p"));
    for (kind, key) in [
        (ListKind::Tools, "name"),
        (ListKind::Prompts, "name"),
        (ListKind::Resources, "uri"),
        (ListKind::Templates, "uriTemplate"),
    ] {
        assert_eq!(names(&nothing, kind, key), [""; 0]);
    }
}

#[test]
fn preset_applies_to_single_server_endpoints() {
    let plan = ViewPlan {
        preset: Some(Arc::new(Preset::new("p", rules(&["b/t"]), None, None))),
        ..plan(EndpointScope::Single(1), 4_000)
    };
    let view = View::build(&plan, &parts());
    assert_eq!(names(&view, ListKind::Tools, "name"), ["t"]);
    check(
        ItemKind::Tool,
        "only_b",
        view.tool("only_b"),
        "Tool 'only_b' is not allowed by current preset: no entry of preset 'p' allows it",
    );
}
