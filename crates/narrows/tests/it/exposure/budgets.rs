//! Tests that long results of `exec` are cut and can be recovered through `exec`.

use narrows_testkit::scripted::{Installed, Script, Step};
use serde_json::{Value, json};

use super::{LazyClient, WAYS, first_text, length, only, only_text, wrong};
use crate::gateway::with;

const BUDGET: usize = 5_000;

fn lines() -> String {
    let line = |at: usize| format!("{at:05} é🦀 the quick brown fox jumps over the lazy dog\n");
    (1..=800).map(line).collect()
}

/// Returns rows that exceed the budget in any format.
fn rows() -> Value {
    let row = |at: usize| json!({ "id": at, "name": format!("the row of number {at}") });
    (0..800).map(row).collect()
}

fn long() -> Installed {
    Script::new("long")
        .plain_tool("lines")
        .plain_tool("rows")
        .plain_tool("short")
        .on_tool("lines", [Step::text(&lines())])
        .on_tool("rows", [Step::text(&rows().to_string())])
        .install()
}

fn within(server: &Installed) -> Value {
    let shape = json!({ "max_chars": BUDGET, "prune": { "timeout_ms": 20_000 } });
    with(only("long", server), json!({ "shape": shape }))
}

/// Reads the text of a receipt page by page, each within the budget.
async fn read_back(lazy: &mut LazyClient, id: &str) -> String {
    let mut whole = String::new();
    let mut asked = json!({ "prune_id": id });
    loop {
        let page = lazy.exec("narrows", "recover_text", asked).await;
        assert!(length(&page) <= BUDGET, "{}", length(&page));
        let (_, text) = first_text(&page)
            .split_once('\n')
            .expect("a line about the page");
        whole += text;
        match page["_meta"]["narrows/selection"]["next_cursor"].as_str() {
            Some(cursor) => asked = json!({ "prune_id": id, "cursor": cursor }),
            None => return whole,
        }
    }
}

#[track_caller]
fn receipt(result: &Value) -> String {
    let id = result["_meta"]["narrows/receipt"]["prune_id"].as_str();
    id.unwrap_or_else(|| panic!("not cut: {result:.300}"))
        .to_owned()
}

#[tokio::test]
async fn cut_text_is_recovered_through_exec() {
    let server = long();
    for transport in WAYS {
        let mut lazy = transport.open(&within(&server)).await;
        for (tool, whole) in [("lines", lines()), ("rows", rows().to_string())] {
            let cut = lazy.exec("long", tool, json!({})).await;
            assert!(length(&cut) <= BUDGET, "{} {tool}", lazy.transport);
            let id = receipt(&cut);
            let way_back = format!(r#"exec("narrows", "recover_text", {{"prune_id": "{id}""#);
            let text = first_text(&cut);
            assert!(
                text.contains("⟦narrows: ") && text.contains(&way_back),
                "{} {tool}: {text}",
                lazy.transport
            );
            let back = read_back(&mut lazy, &id).await;
            assert!(back == whole, "{} {tool}: {back:.300}", lazy.transport);
            let some = json!({ "prune_id": id, "head": 1 });
            let head = lazy.exec("narrows", "recover_text", some).await;
            assert_ne!(head["isError"], true, "{head}");
        }
        let short = lazy.exec("long", "short", json!({})).await;
        assert_eq!(only_text(&short), r#"long called "short" with {}"#);
        assert!(short.get("_meta").is_none(), "{short}");
    }
}

/// A server may have the gateway's id and its own `recover_text`.
#[tokio::test]
async fn recovery_hint_uses_an_unambiguous_tool_name() {
    let server = Script::new("narrows")
        .plain_tool("lines")
        .plain_tool("recover_text")
        .on_tool("lines", [Step::text(&lines())])
        .install();
    let shape = json!({ "max_chars": BUDGET, "prune": { "timeout_ms": 20_000 } });
    let config = with(only("narrows", &server), json!({ "shape": shape }));
    for transport in WAYS {
        let mut lazy = transport.open(&config).await;
        let cut = lazy.exec("narrows", "lines", json!({})).await;
        let id = receipt(&cut);
        let way_back = format!(r#""narrows_recover_text", {{"prune_id": "{id}""#);
        let text = first_text(&cut);
        assert!(text.contains(&way_back), "{}: {text}", lazy.transport);
        let asked = json!({ "prune_id": id, "head": 1 });
        let back = lazy.exec("narrows", "narrows_recover_text", asked).await;
        let first = lines().lines().next().map(str::to_owned);
        let said = first_text(&back).split_once('\n');
        let said = said.map(|(_, text)| text.trim_end().to_owned());
        assert_eq!(said, first, "{}", lazy.transport);
    }
}

/// `recover_text` is not listed, but `inspect` describes it.
#[tokio::test]
async fn recover_tool_can_be_inspected() {
    let server = long();
    for transport in WAYS {
        let mut lazy = transport.open(&within(&server)).await;
        let (names, description) = lazy.listed().await;
        assert_eq!(names, ["inspect", "exec"]);
        let line = "    - recover_text(prune_id, query?, ";
        assert!(description.contains(line), "{description}");
        for asked in [
            json!({ "server_name": "narrows" }),
            json!({ "server_name": "narrows", "tool_name": "recover_text" }),
        ] {
            let reported = lazy.inspect(asked.clone()).await;
            let data = &reported["structuredContent"]["result"];
            let entry = data.get(0).unwrap_or(data);
            assert_eq!(entry["server_name"], "narrows", "{asked}: {reported}");
            assert_eq!(entry["name"], "recover_text");
            let schema = entry["input_schema"].as_str().unwrap_or_default();
            assert!(schema.starts_with("{prune_id: string; "), "{schema}");
        }
        let reported = wrong(&lazy.exec("narrows", "other", json!({})).await);
        assert_eq!(
            reported["error"],
            "Tool 'other' not found on server 'narrows'"
        );
        assert_eq!(reported["available_tools"], json!(["recover_text"]));
        let unknown = json!({ "prune_id": "prn_01ARY000000000000000000042" });
        let reported = wrong(&lazy.exec("narrows", "recover_text", unknown).await);
        assert_eq!(reported["code"], "prune_id_not_found", "{reported}");
    }
}

/// If nothing is cut, the server `narrows` does not exist.
#[tokio::test]
async fn recover_tool_is_absent_without_budgets() {
    let server = long();
    for transport in WAYS {
        let mut lazy = transport.open(&only("long", &server)).await;
        let reported = wrong(&lazy.exec("narrows", "recover_text", json!({})).await);
        assert_eq!(reported["error"], "Server 'narrows' not found");
        let reported = wrong(&lazy.inspect(json!({ "server_name": "narrows" })).await);
        assert_eq!(reported["available_servers"], json!(["long"]));
        let whole = lazy.exec("long", "lines", json!({})).await;
        assert!(only_text(&whole) == lines());
    }
}
