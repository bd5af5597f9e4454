//! Checks that the reference page covers every key and every transport.

use super::outcome;
use super::settings::checked;

const PAGE: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/configuration.md"
));

#[test]
fn every_key_is_on_the_reference_page() {
    let keys = include_str!("../raw.rs")
        .lines()
        .filter_map(|line| line.trim().split_once(" => "));
    // The values of a choice, such as `"auto" => Auto,`, have no colon.
    let keys = keys.filter(|(_, field)| field.contains(": "));
    let mut count = 0;
    for key in keys.flat_map(|(keys, _)| keys.split(" | ")) {
        let key = key.trim_matches('"');
        assert!(
            PAGE.contains(&format!("`{key}`")),
            "`{key}` is not on the page"
        );
        count += 1;
    }
    assert!(count > 60, "the tables are read");
}

#[test]
fn budget_examples_have_no_warnings() {
    let (_, budgets) = PAGE
        .split_once("## Budgets on results")
        .expect("it is there");
    let examples = budgets.split("```jsonc\n").skip(1);
    let mut count = 0;
    for example in examples.filter_map(|rest| rest.split("```").next()) {
        let outcome = outcome(example);
        let reported = ["error: ", "warning: ", "note: "];
        assert!(
            !reported.iter().any(|word| outcome.contains(word)),
            "{outcome}"
        );
        count += 1;
    }
    assert_eq!(count, 2, "the examples are read");
}

#[test]
fn endpoint_and_preset_examples_have_no_warnings() {
    let presets = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/presets.md"
    ));
    let section = |heading: &str| {
        let (_, rest) = PAGE.split_once(heading).expect("it is there");
        rest.split("\n## ").next().unwrap_or(rest)
    };
    let pages = [section("## Endpoints"), section("## Presets"), presets];
    let examples = pages
        .into_iter()
        .flat_map(|page| page.split("```jsonc\n").skip(1));
    let mut count = 0;
    for example in examples.filter_map(|rest| rest.split("```").next()) {
        let whole = match example.contains("mcpServers") {
            true => example.to_owned(),
            // A preset alone, which needs servers to refer to.
            false => format!(
                r#"{{"mcpServers": {{"files": {{"command": "x"}}, "git": {{"command": "x"}}}},
                    "presets": {{"dev": {example} }}}}"#
            ),
        };
        let outcome = outcome(&whole);
        let reported = ["error: ", "warning: ", "note: "];
        assert!(
            !reported.iter().any(|word| outcome.contains(word)),
            "{outcome}"
        );
        count += 1;
    }
    assert_eq!(count, 7, "the examples are read");
}

#[test]
fn health_check_example_has_no_warnings() {
    let page = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/healing.md"
    ));
    let example = page.split("```jsonc\n").nth(1);
    let example = example.and_then(|rest| rest.split("```").next());
    let outcome = outcome(example.expect("it is there"));
    let reported = ["error: ", "warning: ", "note: "];
    assert!(
        !reported.iter().any(|word| outcome.contains(word)),
        "{outcome}"
    );
}

#[test]
fn every_transport_has_a_documented_example() {
    let words = include_str!("../raw/values.rs").split("const WORDS: &[&str] = &[");
    let words = words.last().and_then(|rest| rest.split(']').next());
    let words = words.expect("the words");
    // The form of a row: `| `http`, also ... | what it is | `{ ... }` |`
    let rows = PAGE.lines().filter_map(|line| {
        let (names, rest) = line.strip_prefix("| `")?.split_once(" | ")?;
        let example = rest.split('`').find(|part| part.starts_with("{ "))?;
        Some((format!("`{names}"), example))
    });
    let rows: Vec<(String, &str)> = rows.collect();
    let mut count = 0;
    for word in words.split('"').skip(1).step_by(2) {
        let row = rows
            .iter()
            .find(|(names, _)| names.starts_with(&format!("`{word}`")));
        let (names, example) = row.unwrap_or_else(|| panic!("no row for {word}"));
        // Other spellings on the page must work too.
        let (_, others) = names.split_once(", also ").unwrap_or_default();
        for other in others.split('`').skip(1).step_by(2) {
            let entry = r#""command": "x", "url": "http://x""#;
            let file = format!(r#"{{"mcpServers": {{"a": {{"type": "{other}", {entry}}}}}}}"#);
            let transport = checked(&file).gateway.upstreams[0]
                .upstream
                .kind
                .transport();
            assert_eq!(transport.as_str(), word, "{other}");
        }
        let settings = checked(&format!(r#"{{"mcpServers": {{"demo": {example}}}}}"#));
        let transport = settings.gateway.upstreams[0].upstream.kind.transport();
        assert_eq!(transport.as_str(), word, "{example}");
        count += 1;
    }
    assert_eq!(count, 6, "the words are read");
}
