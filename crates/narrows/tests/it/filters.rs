//! Tests of the filter commands.

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::program::{Folder, ProgramOutput};

fn run(arguments: &[&str], input: &str) -> ProgramOutput {
    Folder::new().run_with_input(arguments, input)
}

#[track_caller]
fn check(arguments: &[&str], input: &str, expected: Expect) {
    expected.assert_eq(&run(arguments, input).shown());
}

#[test]
fn mask_cuts_long_strings() {
    let small = [
        "mask",
        "--max-chars",
        "10",
        "--head-chars",
        "3",
        "--tail-chars",
        "2",
    ];
    check(
        &small,
        "{\"a\": \"0123456789\", \"b\": [1.0, \"0123456789X\"]}\n",
        expect![[r#"
            exit 0
            --- stdout
            {"a": "0123456789", "b": [1.0, "012\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars=11 head=3 tail=2] ...\n9X"]}
            --- stderr
        "#]],
    );
    for off in ["0", "-5"] {
        let ran = run(&["mask", "--max-chars", off], "\"0123456789X\"");
        assert_eq!(ran.stdout, "\"0123456789X\"\n");
    }
    check(
        &["mask"],
        "{\"a\":\n  tru}",
        expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: stdin:2:3: this is not JSON: unknown word, expected true, false or null
        "#]],
    );
}

#[test]
fn toon_encodes_and_decodes() {
    let json = r#"{"rows":[{"id":1,"name":"a"},{"id":2,"name":"b"}]}"#;
    let toon = run(&["toon"], json);
    assert_eq!(toon.stdout, "rows[2]{id,name}:\n  1,a\n  2,b\n");
    let back = run(&["toon", "--decode"], &toon.stdout);
    assert_eq!(back.stdout, format!("{json}\n"));
    assert_eq!(run(&["toon", "-"], json).stdout, toon.stdout);
    let wrong = run(&["toon", "--decode"], "rows[2]: 1\n");
    assert_eq!(wrong.code, Some(1));
    assert!(
        wrong.stderr.starts_with("error: stdin:1:"),
        "{}",
        wrong.stderr
    );
    let lossy = run(&["toon"], "[1,\n 12345678901234567890123]");
    assert_eq!(lossy.code, Some(1));
    assert_eq!(
        lossy.stderr,
        "error: stdin:2:2: TOON cannot represent the number 12345678901234567890123\n"
    );
}

#[test]
fn ts_prints_typescript() {
    let schema = r#"{"type": "object", "required": ["path"], "properties": {
        "path": {"type": "string", "description": "File path"},
        "limit": {"type": "integer", "default": 30, "minimum": 1, "maximum": 100}}}"#;
    for (arguments, expected) in [
        (
            &["ts"][..],
            "{path: string /* File path */; limit?: number}\n",
        ),
        (
            &["ts", "--no-descriptions"],
            "{path: string; limit?: number}\n",
        ),
        (
            &["ts", "--constraints", "--max-description-len", "5"],
            "{path: string /* Fi... */; limit?: number /* =30; 1..100 */}\n",
        ),
    ] {
        let ran = run(arguments, schema);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), expected),
            "{}",
            ran.stderr
        );
    }
    let wrong = run(&["ts"], "{\"é\": }");
    assert_eq!((wrong.code, wrong.stdout.as_str()), (Some(1), ""));
    assert!(
        wrong
            .stderr
            .starts_with("error: stdin:1:7: this is not JSON"),
        "{}",
        wrong.stderr
    );
}

fn log() -> String {
    let line = |n: usize| match n {
        77 => "2026-01-01 10:01:17 INFO payment 4711 was refused by the bank\n".to_owned(),
        _ => format!(
            "2026-01-01 10:{:02}:{:02} INFO the request number {n} was served in good time\n",
            n / 60,
            n % 60
        ),
    };
    (1..=200).map(line).collect()
}

#[test]
fn prune_cuts_a_text_to_a_goal() {
    let folder = Folder::new();
    folder.write("web.log", log());
    let goal = ["--goal", "why was the payment refused?"];
    let text = [
        "prune",
        goal[0],
        goal[1],
        "--max-prune-ratio",
        "0.9",
        "--min-keep-lines",
        "5",
        "web.log",
    ];
    let ran = folder.run(&text);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(
        ran.stdout.contains("payment 4711 was refused"),
        "{}",
        ran.stdout
    );
    let markers = ran
        .stdout
        .lines()
        .filter(|line| line.starts_with("⟦PRUNÉ: prune_id=prn_"));
    assert!(markers.count() > 0, "{}", ran.stdout);
    assert!(ran.stdout.lines().count() < 50, "{}", ran.stdout);
    let json = folder.run(&[&text[..], &["--json"]].concat());
    let answer: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(answer["stats"]["original_lines"], 200);
    let short = run(&["prune", goal[0], goal[1]], "one\ntwo\n");
    assert_eq!(short.stdout, "one\ntwo\n");
    assert_eq!(
        short.stderr,
        "nothing was cut: the text has fewer lines than --min-keep-lines 40\n"
    );
}

#[test]
fn stats_are_printed_on_stderr() {
    let rows: Vec<String> = (0..50)
        .map(|n| format!(r#"{{"id": {n}, "name": "x"}}"#))
        .collect();
    let ran = run(&["toon", "--stats"], &format!("[{}]", rows.join(", ")));
    assert_eq!(ran.code, Some(0));
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(
        lines[1].starts_with("characters")
            && lines[2].trim_start_matches('~').starts_with("tokens"),
        "{}",
        ran.stderr
    );
    assert!(
        lines[2].ends_with('%') && lines[2].contains('-'),
        "{}",
        ran.stderr
    );
}

#[test]
fn unreadable_files_are_reported() {
    let folder = Folder::new();
    for filter in [&["mask"][..], &["toon"], &["ts"], &["prune", "--goal", "x"]] {
        let ran = folder.run(&[filter, &["missing.json"]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
        let said = "error: cannot read missing.json: No such file or directory";
        assert!(ran.stderr.starts_with(said), "{}", ran.stderr);
    }
    folder.write("binary", [b'"', b'\n', 0xC3, 0xA9, 0xFF]);
    for filter in [&["mask"][..], &["toon"], &["ts"], &["prune", "--goal", "x"]] {
        let ran = folder.run(&[filter, &["binary"]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
        assert!(ran.stderr.starts_with("error: binary:"), "{}", ran.stderr);
    }
}

/// The default values of the flags are those of the library.
#[test]
fn flag_defaults_match_the_library() {
    let json = format!("[{:?}, {:?}]", "x".repeat(4_000), "y".repeat(4_001));
    let masked = narrows_shape::mask(json.as_bytes(), &narrows_shape::Mask::default());
    let masked = masked.expect("JSON").text;
    assert_eq!(run(&["mask"], &json).stdout, format!("{masked}\n"));
    let schema = format!(
        r#"{{"type": "string", "description": "{}"}}"#,
        "z".repeat(301)
    );
    let options = narrows_shape::TypeScriptOptions::default();
    let typescript = narrows_shape::typescript_of_text(&schema, &options).expect("JSON");
    assert_eq!(run(&["ts"], &schema).stdout, format!("{typescript}\n"));
}

#[test]
fn wrong_usage_is_rejected() {
    for arguments in [
        &["prune"][..],
        &["prune", "--goal", "x", "--max-prune-ratio", "1.5"],
        &["prune", "--goal", "x", "--max-prune-ratio", "-0.1"],
        &["prune", "--goal", "x", "--min-keep-lines", "-1"],
        &["prune", "--goal", "x", "--source-type", "html"],
        &["mask", "--max-chars", "many"],
        &["ts", "--no-descriptions", "--max-description-len", "5"],
    ] {
        let ran = run(arguments, "");
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}"
        );
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
}
