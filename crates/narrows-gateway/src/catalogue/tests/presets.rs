//! Views under a preset.

use super::*;
use crate::error::ItemKind;
use crate::permit::permit;
use crate::preset::{Preset, Rule};

fn rules(texts: &[&str]) -> Option<Vec<Rule>> {
    let parse = |text: &&str| Rule::parse(text).expect("a test's rule");
    Some(texts.iter().map(parse).collect())
}

fn under(preset: Preset) -> View {
    let scope = Scope::Joined(EndpointSettings::named("default"));
    let plan = Plan {
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

/// What becomes of a call: where it leads, or why it is refused.
#[track_caller]
fn check(kind: ItemKind, name: &str, found: Result<Target, Error>, expected: &str) {
    let end = found.and_then(|target| {
        permit(kind, name, &target)?;
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
fn what_is_hidden_is_not_listed_and_refused_under_each_of_its_names() {
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
    // The address of what is left is the same as without a preset.
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
    // Of two prompts of this name only one is there for this client.
    check(ItemKind::Prompt, "p", view.prompt("p"), r#"b "p""#);
    let Err(Error::Unknown { nearest, .. }) = view.tool("a__tt") else {
        panic!("there is no such tool");
    };
    assert!(!nearest.contains(&"a__t".to_owned()), "{nearest:?}");
}

#[test]
fn no_spelling_of_a_uri_gets_around_a_preset() {
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
    // A template that is allowed stands for what nobody lists.
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
        "Resource 'b://{n}' is not allowed by current preset: preset 'p' allows nothing of its server",
    );
}

#[test]
fn servers_of_which_nothing_is_allowed_are_not_spoken_of() {
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
fn a_single_server_is_bound_as_well() {
    let plan = Plan {
        preset: Some(Arc::new(Preset::new("p", rules(&["b/t"]), None, None))),
        ..plan(Scope::Single(1), 4_000)
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
