use std::collections::HashSet;

use narrows_wire::{
    ItemKind::{self, Prompt, Resource, Tool},
    Raw,
};

use super::{Denial, Preset, Rule, RuleError, ServerName};

const FILES: ServerName<'_> = ServerName {
    id: "files",
    slug: "files",
};
const SLASHED: ServerName<'_> = ServerName {
    id: "io.github.x/y",
    slug: "io_github_x_y",
};

fn rules(texts: &[&str]) -> Vec<Rule> {
    let parse = |text: &&str| Rule::parse(text).expect("a test's rule");
    texts.iter().map(parse).collect()
}

fn tools(texts: &[&str]) -> Preset {
    Preset::new("p", Some(rules(texts)), None, None)
}

#[track_caller]
fn check(preset: &Preset, server: ServerName<'_>, name: &str, expected: Option<&str>) {
    check_kind(preset, Tool, server, name, None, expected);
}

#[track_caller]
fn check_kind(
    preset: &Preset,
    kind: ItemKind,
    server: ServerName<'_>,
    name: &str,
    tool: Option<&str>,
    expected: Option<&str>,
) {
    let tool = tool.map(|tool| Raw::parse(tool.to_owned().into()).expect("a test's JSON"));
    let denial = denial(preset, kind, server, name, tool.as_ref());
    assert_eq!(denial.map(|denial| denial.to_string()).as_deref(), expected);
}

fn denial(
    preset: &Preset,
    kind: ItemKind,
    server: ServerName<'_>,
    name: &str,
    tool: Option<&Raw>,
) -> Option<Denial> {
    match kind {
        Prompt => preset.denies_prompt(server, name),
        Resource => preset.denies_resource(server, name),
        _ => preset.denies_tool(server, name, tool),
    }
}

#[test]
fn the_last_match_wins() {
    let preset = tools(&["files/*", "!files/write_*", "files/write_log"]);
    check(&preset, FILES, "read", None);
    check(
        &preset,
        FILES,
        "write_file",
        Some("`!files/write_*` of preset 'p' forbids it"),
    );
    check(&preset, FILES, "write_log", None);
    let named = tools(&["files/read"]);
    check(
        &named,
        FILES,
        "list",
        Some("no entry of preset 'p' allows it"),
    );
    let case = tools(&["files/Read"]);
    check(
        &case,
        FILES,
        "read",
        Some("no entry of preset 'p' allows it"),
    );
}

#[test]
fn star_matches_any_text_within_either_part() {
    for (pattern, name, fits) in [
        ("files/*", "", true),
        ("files/*_file", "read_file", true),
        ("files/*_file", "read_files", false),
        ("files/a*b*c", "a-b-b-c", true),
        ("files/a*b*c", "a-c-b", false),
        ("files/aa*aa", "aaa", false),
        ("f*s/read", "read", true),
        ("*/read", "read", true),
        ("file/*", "read", false),
    ] {
        let allowed = tools(&[pattern]).denies_tool(FILES, name, None).is_none();
        assert_eq!(allowed, fits, "{pattern} and {name}");
    }
}

#[test]
fn slashes_in_ids_and_names_are_matched() {
    check(&tools(&["io.github.x/y/a"]), SLASHED, "a", None);
    check(&tools(&["io_github_x_y/a"]), SLASHED, "a", None);
    check(&tools(&["io.github.*/a"]), SLASHED, "a", None);
    check(&tools(&["files/a/b"]), FILES, "a/b", None);
    let exact = Preset::new(
        "p",
        Some(vec![Rule::exact("io.github.x/y", "a*", true)]),
        None,
        None,
    );
    check(&exact, SLASHED, "a*", None);
    check(
        &exact,
        SLASHED,
        "ab",
        Some("no entry of preset 'p' allows it"),
    );
}

#[test]
fn absent_list_allows_all_of_the_named_servers() {
    let preset = Preset::new("p", Some(rules(&["files/read"])), None, Some(Vec::new()));
    check_kind(&preset, Prompt, FILES, "any", None, None);
    let other = Some("preset 'p' allows nothing on its server");
    check_kind(&preset, Prompt, SLASHED, "any", None, other);
    let none = Some("no entry of preset 'p' allows it");
    check_kind(&preset, Resource, FILES, "file:///a", None, none);
    // Servers that are only forbidden or disabled are not named.
    let off = vec![
        Rule::exact("files", "read", false),
        Rule::parse("!files/x").expect("a rule"),
    ];
    let preset = Preset::new("p", Some(off), None, None);
    check_kind(&preset, Prompt, FILES, "any", None, other);
}

#[test]
fn fully_denied_server_is_not_mentioned() {
    let nothing = Some("preset 'p' allows nothing on its server");
    for (texts, expected) in [
        (&["*/*", "!files/*"][..], nothing),
        (&["files/read", "!f*/**"], nothing),
        (&["files/read", "!*/*"], nothing),
        (&["*/*", "!files/*", "files/read"], None),
        (&["!files/*", "files/@readonly"], None),
        (&["*/*", "!files/r*"], None),
        (&["*/*", "!other/*"], None),
        (&["*/*", "!files/@destructive"], None),
    ] {
        let preset = tools(texts);
        check_kind(&preset, Prompt, FILES, "any", None, expected);
        assert_eq!(preset.denies_server(FILES).is_some(), expected.is_some());
    }
    let slashed = tools(&["*/*", "!io.github.x/y/*"]);
    check_kind(&slashed, Prompt, SLASHED, "any", None, nothing);
    check_kind(&slashed, Prompt, FILES, "any", None, None);
    // Another list may still allow items.
    let tools = Some(rules(&["*/*", "!files/*"]));
    let other = Preset::new("p", tools, Some(rules(&["files/greet"])), None);
    check_kind(&other, Resource, FILES, "any", None, None);
}

#[test]
fn an_empty_preset_allows_nothing() {
    for preset in [Preset::nothing("p"), Preset::new("p", None, None, None)] {
        for kind in [Tool, Prompt, Resource] {
            let denied = denial(&preset, kind, FILES, "x", None);
            assert!(denied.is_some(), "{kind}");
        }
    }
}

#[test]
fn missing_hints_use_protocol_defaults() {
    let preset = tools(&["files/*", "!@destructive"]);
    let with = |annotations: &str| format!(r#"{{"name":"t","annotations":{annotations}}}"#);
    for (annotations, allowed) in [
        (r#"{"readOnlyHint":true}"#, true),
        (r#"{"readOnlyHint":true,"destructiveHint":true}"#, true),
        (r#"{"destructiveHint":false}"#, true),
        (r#"{"destructiveHint":"false"}"#, false),
        (r#"{"readOnlyHint":false}"#, false),
        ("{}", false),
        ("null", false),
    ] {
        let tool = Raw::parse(with(annotations).into()).expect("JSON");
        let denial = preset.denies_tool(FILES, "t", Some(&tool));
        assert_eq!(denial.is_none(), allowed, "{annotations}");
    }
    let unsaid = "`!@destructive` of preset 'p' forbids it: its server declares no hint, so it \
                  counts as destructive";
    check_kind(&preset, Tool, FILES, "t", Some("{}"), Some(unsaid));
    check_kind(&preset, Tool, FILES, "t", None, Some(unsaid));
    let only = tools(&["files/@readonly"]);
    check_kind(
        &only,
        Tool,
        FILES,
        "t",
        Some(&with(r#"{"readOnlyHint":true}"#)),
        None,
    );
    assert!(only.denies_tool(FILES, "t", None).is_some());
}

#[test]
fn denial_names_the_undeclared_hint() {
    let preset = tools(&["files/*", "!@open_world"]);
    let unsaid = "`!@open_world` of preset 'p' forbids it: its server declares no hint, so it \
                  counts as open world";
    check_kind(&preset, Tool, FILES, "t", Some("{}"), Some(unsaid));
    // Annotations that are unrelated to this hint do not count.
    let reads = r#"{"annotations":{"readOnlyHint":true}}"#;
    check_kind(&preset, Tool, FILES, "t", Some(reads), Some(unsaid));
    let reaches = r#"{"annotations":{"openWorldHint":true}}"#;
    let said = "`!@open_world` of preset 'p' forbids it";
    check_kind(&preset, Tool, FILES, "t", Some(reaches), Some(said));
    let preset = tools(&["files/*", "!@destructive"]);
    let near = r#"{"annotations":{"openWorldHint":false}}"#;
    let unsaid = "`!@destructive` of preset 'p' forbids it: its server declares no hint, so it \
                  counts as destructive";
    check_kind(&preset, Tool, FILES, "t", Some(near), Some(unsaid));
}

#[test]
fn hints_and_names_are_distinguished() {
    for text in [
        "@readonly",
        "!@readonly",
        "files/@readonly",
        "!io.github.x/y/@readonly",
        "*/@readonly",
    ] {
        assert!(Rule::parse(text).is_ok_and(|rule| rule.is_hint()), "{text}");
    }
    for text in [
        "docs/npm://@types",
        "!docs/npm://x/@types",
        "docs/@scope/name",
        "@scope/name",
        "docs/@readonly/name",
    ] {
        let rule = Rule::parse(text);
        assert!(rule.is_ok_and(|rule| !rule.is_hint()), "{text}");
    }
    for text in ["@types", "docs/@types", "io.github.x/y/@types", "docs/@"] {
        let rule = Rule::parse(text);
        assert!(matches!(rule, Err(RuleError::NoHint(_))), "{text}");
    }
    let docs = ServerName {
        id: "docs",
        slug: "docs",
    };
    let resources = Some(rules(&["docs/npm://@types"]));
    let preset = Preset::new("p", None, None, resources);
    check_kind(&preset, Resource, docs, "npm://@types", None, None);
}

#[test]
fn invalid_rules_are_rejected() {
    for text in ["", "!", "files", "files/", "/read", "!files"] {
        assert!(
            matches!(Rule::parse(text), Err(RuleError::NoPattern(_))),
            "{text}"
        );
    }
    let wrong = Rule::parse("!@destructiv").expect_err("no hint");
    assert_eq!(
        wrong.to_string(),
        "`@destructiv` is not a hint: use one of readonly, destructive, idempotent, open_world"
    );
}

#[test]
fn different_content_has_a_different_fingerprint() {
    let of = |texts: &[&str]| tools(texts).fingerprint();
    assert_eq!(of(&["a/b"]), of(&["a/b"]));
    // The fingerprint must be the same in every version, because stored receipts are bound to it.
    assert_eq!(of(&["a/b"]), "p#76488995b7417ec4");
    let exact = |server: &str, item: &str, enabled: bool| vec![Rule::exact(server, item, enabled)];
    let all = [
        Preset::new("p", None, None, None),
        Preset::nothing("p"),
        tools(&["a/b"]),
        tools(&["a/c"]),
        tools(&["!a/b"]),
        tools(&["a/b", "a/c"]),
        tools(&["a/c", "a/b"]),
        Preset::new("p", None, Some(rules(&["a/b"])), None),
        Preset::new("p", Some(exact("a", "b", true)), None, None),
        Preset::new("p", Some(exact("a", "b", false)), None, None),
        Preset::new("p", Some(exact("a", "b/c", true)), None, None),
        Preset::new("p", Some(exact("a/b", "c", true)), None, None),
    ];
    let different: HashSet<String> = all.iter().map(Preset::fingerprint).collect();
    assert_eq!(different.len(), all.len(), "{different:?}");
}
