//! Tests of how `tools` and `check` report the shaping of results.

use expect_test::expect;
use serde_json::Value;

use crate::program::Folder;

/// The totals of two gateways, one of them with a tool and a server that no longer exist.
const TOTALS: [&str; 2] = [
    r#"{"since": "2026-01-02T03:04:05Z", "tools": [
        {"server": "demo", "tool": "sample_log", "results": 12, "failed": 1, "chars_before": 1200345,
         "chars_after": 79980, "tokens_before": 310000, "tokens_after": 20100},
        {"server": "away", "tool": "x", "results": 1, "failed": 0, "chars_before": 100000,
         "chars_after": 80000, "tokens_before": 30000, "tokens_after": 20000}]}"#,
    r#"{"since": "2026-01-03T03:04:05Z", "tools": [
        {"server": "demo", "tool": "sample_log", "results": 1, "failed": 0, "chars_before": 90000,
         "chars_after": 80000, "tokens_before": 20000, "tokens_after": 10000}]}"#,
];

#[test]
fn tools_reports_shaping_savings() {
    let demo = r#""mcpServers": {"demo": {"type": "builtin"}}"#;
    let folder = Folder::with(&format!(r#"{{{demo}, "recovery": {{"path": "."}}}}"#));
    let with_none = folder.run(&["tools"]).stdout;
    assert!(!with_none.contains("saved"), "{with_none}");
    for (number, text) in TOTALS.iter().enumerate() {
        folder.write(&format!("totals-{number}.json"), text);
    }
    folder.write("totals-2.json", "not JSON");
    let ran = folder.run(&["tools"]);
    let lines = ran.stdout.lines().filter(|line| line.contains("saved"));
    // The text before it is the cost of the server's tools.
    let lines = lines.map(|line| match line.strip_prefix("demo  ") {
        Some(server) => server.split_once("; ").expect("two parts").1,
        None => line,
    });
    let lines: Vec<&str> = lines.collect();
    expect![[r#"
        13 results shortened, ~299,900 tokens saved (90 %), 1 still too long
                                       13 results shortened, ~299,900 tokens saved (90 %), 1 still too long
        saved since 2026-01-02T03:04:05Z: 14 results shortened, ~309,900 tokens saved (86 %), 1 still too long; 1,390,345 -> 239,980 characters, ~360,000 -> ~50,100 tokens"#]].assert_eq(&lines.join("\n"));
    let json = |arguments: &[&str]| -> Value {
        serde_json::from_str(&folder.run(arguments).stdout).expect("JSON")
    };
    let all = json(&["tools", "--json"]);
    let demo = &all["servers"][0];
    assert_eq!(demo["tools"][0]["saved"], Value::Null);
    assert_eq!(demo["tools"][1]["saved"], demo["saved"]);
    expect![[r#"
        {"results":13,"failed":1,"chars_before":1290345,"chars_after":159980,"tokens_before":330000,"tokens_after":30100}
        {"results":14,"failed":1,"chars_before":1390345,"chars_after":239980,"tokens_before":360000,"tokens_after":50100,"since":"2026-01-02T03:04:05Z"}"#]].assert_eq(&format!("{}\n{}", demo["saved"], all["saved"]));
    let one = json(&["tools", "demo", "--json"]);
    assert_eq!(one["saved"]["tokens_before"], 330_000);
    let one = json(&["tools", "demo", "sample_log", "--json"]);
    assert_eq!(one["saved"], demo["saved"]);
    let one = folder.run(&["tools", "demo", "sample_log"]).stdout;
    assert!(one.contains("13 results shortened"), "{one}");
    let without = Folder::with(r#"{"mcpServers": {"demo": {"type": "builtin"}}}"#);
    without.write("totals-0.json", TOTALS[0]);
    let ran = without.run(&["tools"]);
    assert!(!ran.stdout.contains("saved") && ran.stderr.is_empty());
}

#[test]
fn check_reports_an_unusable_recovery_path() {
    let config = |path: &str| {
        format!(
            r#"{{"mcpServers": {{"demo": {{"type": "builtin"}}}}, "recovery": {{"path": "{path}"}}}}"#
        )
    };
    let folder = Folder::with(&config("narrows.json/cut"));
    let ran = folder.run(&["check"]);
    assert_eq!(ran.code, Some(0), "a warning only");
    let reported = ran
        .stderr
        .replace(&*folder.path().to_string_lossy(), "FOLDER");
    expect![[r#"
        warning: narrows.json: 'FOLDER/narrows.json' is not a folder
          path: recovery.path
          help: cut text would be kept in memory
    "#]]
    .assert_eq(&reported);
    let folder = Folder::with(&config("new/cut"));
    let ran = folder.run(&["check"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(
        !folder.path().join("new").exists(),
        "looking changes nothing"
    );
}

/// One command cuts a result, the next recovers the text, and a third reports the savings.
#[test]
fn text_cut_by_one_command_is_recovered_by_another() {
    let folder = Folder::with(
        r#"{"mcpServers": {"demo": {"type": "builtin"}}, "recovery": {"path": "kept"},
            "shape": {"max_chars": 5000, "prune": {"timeout_ms": 20000}}}"#,
    );
    let lines = r#"{"lines": 1000}"#;
    let cut = folder.run(&["call", "demo", "sample_log", lines, "--json", "--explain"]);
    let result: Value = serde_json::from_str(&cut.stdout).expect("JSON");
    let id = &result["_meta"]["narrows/receipt"]["prune_id"];
    assert!(
        cut.stderr.contains("budget:     5,000 characters"),
        "{}",
        cut.stderr
    );
    assert!(cut.stderr.contains("how:  digest"), "{}", cut.stderr);
    let wanted = serde_json::json!({ "prune_id": id, "ranges": [[500, 500]] }).to_string();
    let back = folder.run(&["call", "recover_text", &wanted]);
    let (head, line) = back.stdout.trim_end().split_once('\n').expect("two lines");
    assert_eq!(head, "⟦line 500 of 1000⟧");
    let phrase = format!("\"{}\"", line.replace('"', " "));
    let whole = folder.run(&[
        "call",
        "recover_text",
        &serde_json::json!({ "prune_id": id, "query": phrase }).to_string(),
    ]);
    let said = &whole.stdout;
    assert!(said.starts_with("⟦1 of 1000 lines match⟧\n500│ "), "{said}");
    let tools = folder.run(&["tools", "demo"]);
    assert!(
        tools.stdout.contains("1 result shortened"),
        "{}",
        tools.stdout
    );
    let gone = folder.run(&[
        "call",
        "recover_text",
        r#"{"prune_id": "prn_01ARY000000000000000000042"}"#,
    ]);
    assert_eq!(gone.code, Some(1));
    assert!(
        gone.stderr.contains("prune_id_not_found"),
        "{}",
        gone.stderr
    );
}
