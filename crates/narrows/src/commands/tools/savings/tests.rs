use serde_json::{Value, json};

use super::{SavedTotals, Savings};

fn text(since: &str, tools: Value) -> String {
    json!({ "since": since, "tools": tools }).to_string()
}

fn tool(server: &str, tool: &str, results: usize) -> Value {
    json!({
        "server": server, "tool": tool, "results": results, "failed": 1,
        "chars_before": results * 1000, "chars_after": results * 100,
        "tokens_before": results * 300, "tokens_after": results * 30,
    })
}

fn saved(results: usize, failed: usize) -> SavedTotals {
    SavedTotals {
        results,
        failed,
        chars_before: results * 1000,
        chars_after: results * 100,
        tokens_before: results * 300,
        tokens_after: results * 30,
    }
}

#[test]
fn totals_of_all_gateways_are_added() {
    let one = json!([
        tool("files", "read", 10),
        tool("files", "list", 2),
        tool("git", "log", 3)
    ]);
    let savings = Savings::of(&[
        text("2026-02-02T03:04:05Z", one),
        text("2026-01-02T03:04:05Z", json!([tool("files", "read", 5)])),
        text("2026-03-02T03:04:05Z", json!([])),
    ]);
    assert_eq!(savings.of_tool("files", "read"), Some(saved(15, 2)));
    assert_eq!(savings.of_tool("files", "log"), None);
    assert_eq!(savings.of_server("files"), Some(saved(17, 3)));
    assert_eq!(savings.of_server("gone"), None);
    assert_eq!(savings.of_all(), Some(saved(20, 4)));
    assert_eq!(
        savings.last_line(None).unwrap(),
        "saved since 2026-01-02T03:04:05Z: 20 results shortened, ~5,400 tokens saved (90 %), \
         4 still too long; 20,000 -> 2,000 characters, ~6,000 -> ~600 tokens"
    );
    assert_eq!(savings.last_line(Some("gone")), None);
    let git = savings.all_as_json(Some("git"));
    assert_eq!(
        git,
        json!({ "results": 3, "failed": 1, "chars_before": 3000, "chars_after": 300,
                "tokens_before": 900, "tokens_after": 90, "since": "2026-01-02T03:04:05Z" })
    );
    assert_eq!(savings.all_as_json(Some("gone")), Value::Null);
}

#[test]
fn invalid_totals_count_nothing() {
    let minus = text(
        "2026-01-02T03:04:05Z",
        json!([{ "server": "a", "tool": "b", "results": -1 }]),
    );
    let wrong = [
        "",
        "null",
        "[]",
        "{}",
        "{\"since\": 5, \"tools\": []}",
        "\u{0}",
        &minus,
    ];
    let wrong: Vec<String> = wrong.into_iter().map(str::to_owned).collect();
    let savings = Savings::of(&wrong);
    assert_eq!(savings.of_all(), None);
    assert_eq!(savings.last_line(None), None);
    assert_eq!(savings.all_as_json(None), Value::Null);
    let deep = "[".repeat(10_000);
    assert_eq!(Savings::of(&[deep]).of_all(), None);
}

#[test]
fn overflowing_totals_saturate_and_bad_times_are_ignored() {
    let mut most = tool("a", "b", 1);
    for key in ["results", "chars_before", "tokens_before", "tokens_after"] {
        most[key] = json!(usize::MAX);
    }
    let texts = [text("\u{1b}[2J", json!([most])), text("now", json!([most]))];
    let savings = Savings::of(&texts);
    let line = savings.last_line(None).unwrap();
    assert!(
        line.starts_with("saved: 18,446,744,073,709,551,615 results"),
        "{line}"
    );
    assert!(line.contains("~0 tokens saved (0 %)"), "{line}");
    let nothing = SavedTotals::default();
    assert_eq!(
        nothing.short(),
        "0 results shortened, ~0 tokens saved (0 %)"
    );
}
