//! Texts and JSON of many kinds for the checks that must hold for any input.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;

use crate::invariants::budget::hold;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_text_fits_its_budget(text in text(), goal in goal(), source in 0..4_usize, budget in budget()) {
        let source = narrows_shape::prune::SourceType::ALL.get(source).copied();
        hold(&text, goal.as_deref(), source, budget);
    }

    #[test]
    fn any_json_fits_its_budget(json in json(), goal in goal(), budget in budget()) {
        hold(&json, goal.as_deref(), None, budget);
    }
}

#[test]
fn tool_results_fit_their_budget() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/results");
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("a folder of fixtures") {
        let path = entry.expect("a readable folder").path();
        let result = fs::read_to_string(&path).expect("a readable file");
        let result: Value = serde_json::from_str(&result).expect("JSON");
        for block in result["result"]["content"].as_array().expect("content") {
            let text = block["text"].as_str().expect("text");
            for goal in [None, Some("which of them failed or are critical")] {
                for budget in [1_000, 5_000, 20_000] {
                    hold(text, goal, None, budget);
                }
            }
        }
        count += 1;
    }
    assert!(count > 0, "{} is empty", folder.display());
}

#[test]
fn hostile_json_fits_its_budget() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep_objects = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    let long_number = format!("[{}, 2]", "1".repeat(10_000));
    let long_key = format!(
        "{{\"{}\": 1, \"b\": [{}0]}}",
        "k".repeat(9_000),
        "1,".repeat(9_000)
    );
    let twice = format!(
        "{{{}\"a\":1}}",
        "\"a\": \"\\ud83d\\ude00 \\ud83d\", ".repeat(500)
    );
    let long_path = format!(
        "{{\"{}\":{{\"\\n'⟧\":[{}0]}}}}",
        "x".repeat(300),
        "\"é\",".repeat(3_000)
    );
    let escapes = format!("{{\"text\": \"{}\"}}", "\\ud83d\\ude00\\n\\\\".repeat(900));
    for json in [
        deep,
        deep_objects,
        long_number,
        long_key,
        twice,
        long_path,
        escapes,
    ] {
        for goal in [None, Some("a é")] {
            hold(&json, goal, None, 1_000);
            hold(&json, goal, None, 3_000);
        }
    }
}

fn budget() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1_000), 1_000..4_000_usize]
}

fn goal() -> impl Strategy<Value = Option<String>> {
    let goals = [
        "",
        "find the error",
        "import parse_config",
        "größe 東京",
        "row 7",
    ];
    prop_oneof![
        Just(None),
        prop::sample::select(goals.to_vec()).prop_map(|goal| Some(goal.to_owned())),
    ]
}

/// Generates lines of any length and script, fences, base64, and both kinds of line ends.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        6 => "[a-z ]{0,60}",
        2 => "[a-zé東\u{301}👍🏽\t ]{0,80}",
        1 => "(import|def|error:|# ) [a-z_]{3,12}",
        1 => Just("```".to_owned()),
        1 => "[a-z ]{1500,2500}",
        1 => "(data:image/png;base64,)?[A-Za-z0-9+/]{1000,1300}={0,2}",
        1 => prop::collection::vec("[A-Za-z0-9_-]{64}", 12..24).prop_map(|all| all.join("\n")),
        1 => "[\r\u{301}⟦⟧\"\\\\{}]{0,9}",
    ];
    let lines = prop::collection::vec(
        (line, prop_oneof![9 => Just("\n"), 1 => Just("\r\n")]),
        1..60,
    );
    (lines, any::<bool>()).prop_map(|(lines, ends)| {
        let text: String = lines.into_iter().map(|(line, end)| line + end).collect();
        match ends {
            true => text,
            false => text.trim_end_matches('\n').to_owned(),
        }
    })
}

/// Generates tables, large strings, trees, and white space between them.
fn json() -> impl Strategy<Value = String> {
    let string = prop_oneof![
        8 => "[a-z ]{0,20}",
        2 => "([a-zé東\u{301}]|\\\\n|\\\\\"|\\\\u00e9|\\\\ud83d\\\\ude00|\\\\\\\\){0,40}",
        1 => "([a-zé東 ]|\\\\n|\\\\ud83d\\\\ude00){300,900}",
        1 => "(data:image\\\\?/png;base64,)?([A-Za-z0-9+]|\\\\/){1000,1200}==",
    ]
    .prop_map(|text| format!("\"{text}\""));
    let leaf = prop_oneof![
        2 => prop::sample::select(vec!["null", "true", "1.0", "-0", "1e400", "12345678901234567890123"])
            .prop_map(str::to_owned),
        2 => "(0|[1-9][0-9]{0,6})",
        6 => string,
    ];
    let row = prop::collection::vec(leaf.clone(), 3..4).prop_map(|all| {
        format!(
            "{{\"id\": {},\"name\":{}, \"x y\":{}}}",
            all[0], all[1], all[2]
        )
    });
    let table = (prop::collection::vec(row, 1..5), 1..30_usize)
        .prop_map(|(rows, times)| format!("[ {} ]", vec![rows.join(",\n "); times].join(",")));
    let inner = prop_oneof![leaf, table.clone(), table];
    let tree = inner.prop_recursive(3, 12, 4, |inner| {
        let key = "[a-z ]{1,5}";
        let member = (key, inner.clone()).prop_map(|(key, value)| format!("\"{key}\" : {value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(|all| format!("[{}]", all.join(", "))),
            prop::collection::vec(member, 0..6).prop_map(|all| format!("{{{}}}", all.join(","))),
        ]
    });
    prop::collection::vec(tree, 1..4).prop_map(|mut all| match all.len() {
        1 => all.remove(0),
        _ => format!("[{}]", all.join(",")),
    })
}
