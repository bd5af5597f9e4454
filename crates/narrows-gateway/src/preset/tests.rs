use narrows_wire::Raw;

use super::{BadRule, Preset, Rule, ServerName};
use crate::error::ItemKind::{self, Prompt, Resource, Tool};

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
    let denial = preset.denial(kind, server, name, tool.as_ref());
    assert_eq!(denial.map(|denial| denial.to_string()).as_deref(), expected);
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
fn stars_stand_for_anything_inside_either_part() {
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
        let allowed = tools(&[pattern]).denial(Tool, FILES, name, None).is_none();
        assert_eq!(allowed, fits, "{pattern} and {name}");
    }
}

#[test]
fn slashes_in_ids_and_names() {
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
fn an_absent_list_allows_all_of_the_servers_that_are_named() {
    let preset = Preset::new("p", Some(rules(&["files/read"])), None, Some(Vec::new()));
    check_kind(&preset, Prompt, FILES, "any", None, None);
    let other = Some("preset 'p' allows nothing of its server");
    check_kind(&preset, Prompt, SLASHED, "any", None, other);
    let none = Some("no entry of preset 'p' allows it");
    check_kind(&preset, Resource, FILES, "file:///a", None, none);
    // What only forbids, or is switched off, names no server.
    let off = vec![
        Rule::exact("files", "read", false),
        Rule::parse("!files/x").expect("a rule"),
    ];
    let preset = Preset::new("p", Some(off), None, None);
    check_kind(&preset, Prompt, FILES, "any", None, other);
}

#[test]
fn an_empty_preset_allows_nothing() {
    for preset in [Preset::nothing("p"), Preset::new("p", None, None, None)] {
        for kind in [Tool, Prompt, Resource] {
            assert!(preset.denial(kind, FILES, "x", None).is_some(), "{kind}");
        }
    }
}

#[test]
fn hints_go_by_what_the_protocol_says_of_what_is_left_out() {
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
        let denial = preset.denial(Tool, FILES, "t", Some(&tool));
        assert_eq!(denial.is_none(), allowed, "{annotations}");
    }
    let unsaid = "`!@destructive` of preset 'p' forbids it: its server says nothing of what it \
                  does, which counts as destructive";
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
    assert!(only.denial(Tool, FILES, "t", None).is_some());
}

#[test]
fn what_is_no_rule() {
    for text in ["", "!", "files", "files/", "/read", "!files"] {
        assert!(
            matches!(Rule::parse(text), Err(BadRule::NoPattern(_))),
            "{text}"
        );
    }
    let wrong = Rule::parse("!@destructiv").expect_err("no hint");
    assert_eq!(
        wrong.to_string(),
        "`@destructiv` is no hint: there are readonly, destructive, idempotent, open_world"
    );
}

#[test]
fn another_content_is_another_fingerprint() {
    let of = |texts: &[&str]| tools(texts).fingerprint();
    assert_eq!(of(&["a/b"]), of(&["a/b"]));
    assert_ne!(of(&["a/b"]), of(&["a/c"]));
    assert_ne!(
        of(&["a/b"]),
        Preset::new("p", None, Some(rules(&["a/b"])), None).fingerprint()
    );
}
