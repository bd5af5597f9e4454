//! Tests of the list: two tools, one of which describes all others.

use narrows_testkit::scripted::{Installed, Lists, Script, Step};
use serde_json::{Value, json};

use super::{WAYS, endpoint, tool};
use crate::gateway::{config, with};

/// Instructions and descriptions with lengths near the limits.
fn wordy() -> Script {
    let schema = json!({ "type": "object" });
    let exact = "e".repeat(80);
    let long = format!("{}\nand a second line", "é".repeat(81));
    Script::new("zeta")
        .with(|script| script.instructions = Some(format!("Two\n  words {}", "x".repeat(400))))
        .tool(tool("exact", &exact, &schema))
        .tool(tool("long", &long, &schema))
        .tool(tool("lines", "\n  The first  line\nThe second", &schema))
        .tool(json!({ "name": "bare", "inputSchema": schema }).to_string())
}

/// A server with an additional tool after `grow` has been called.
fn growing() -> Script {
    let script = Script::new("alpha")
        .with(|script| script.instructions = Some("i".repeat(300)))
        .plain_tool("grow");
    let grown = Lists {
        tools: script.clone().plain_tool("new").lists.tools,
        ..Lists::default()
    };
    let changed = Step::notify("notifications/tools/list_changed", "{}");
    script.on_tool("grow", [Step::Relist(grown), changed, Step::text("done")])
}

/// Servers in an order that is not alphabetical. One of them never starts.
fn servers() -> ([Installed; 2], Value) {
    let (zeta, alpha) = (wordy().install(), growing().install());
    let failed = json!({ "command": "false" });
    let config = config([
        ("zeta", zeta.config()),
        ("failed", failed),
        ("alpha", alpha.config()),
    ]);
    ([zeta, alpha], config)
}

fn as_documented(alpha: &str) -> String {
    [
        "Inspect available MCP tools and their schemas.",
        "",
        "Available tools:",
        &format!("  Server: alpha - {}", "i".repeat(300)),
        alpha,
        &format!("  Server: zeta - Two words {}...", "x".repeat(287)),
        &format!("    - exact(): {}", "e".repeat(80)),
        &format!("    - long(): {}...", "é".repeat(77)),
        "    - lines(): The first line",
        "    - bare()",
    ]
    .join("\n")
}

#[tokio::test]
async fn own_tool_descriptions_list_tools_and_follow_changes() {
    for transport in WAYS {
        let (_servers, config) = servers();
        let mut lazy = transport.open(&config).await;
        let before = "    - grow(): The tool grow";
        let expected = (
            vec!["inspect".to_owned(), "exec".to_owned()],
            as_documented(before),
        );
        assert_eq!(lazy.listed().await, expected, "{}", lazy.transport);
        lazy.exec("alpha", "grow", json!({})).await;
        lazy.client
            .message("notifications/tools/list_changed")
            .await;
        let after = format!("{before}\n    - new(): The tool new");
        let expected = (expected.0, as_documented(&after));
        assert_eq!(lazy.listed().await, expected, "{}", lazy.transport);
        let new = lazy.exec("alpha", "new", json!({})).await;
        assert_eq!(new["isError"], Value::Null, "{new}");
    }
}

/// Checks the lines after the head for one level of detail and one length.
async fn check_listing(settings: Value, expected: &[&str]) {
    let schema = json!({ "type": "object" });
    let one = Script::new("one")
        .with(|script| script.instructions = Some("Numbers".into()))
        .tool(tool(
            "add",
            &format!("Adds\n{}", "and ".repeat(50)),
            &schema,
        ))
        .plain_tool("sub")
        .install();
    let two = Script::new("two").plain_tool("say").install();
    let config = config([("one", one.config()), ("two", two.config())]);
    let config = with(config, endpoint(settings.clone()));
    for transport in WAYS {
        let mut lazy = transport.open(&config).await;
        let (_, description) = lazy.listed().await;
        let lines: Vec<&str> = description.lines().skip(3).collect();
        assert_eq!(lines, expected, "{} {settings}", lazy.transport);
        let limit = settings["listing_max_chars"].as_u64().unwrap_or(10_000);
        assert!(description.chars().count() as u64 <= limit);
    }
}

#[tokio::test]
async fn listing_has_the_configured_detail() {
    let add = format!("    - add(): Adds {}", "and ".repeat(50));
    let sub = "    - sub(): The tool sub";
    let say = "    - say(): The tool say";
    let one = "  Server: one - Numbers";
    check_listing(
        json!({ "listing": "full" }),
        &[one, add.trim_end(), sub, "  Server: two", say],
    )
    .await;
    check_listing(
        json!({ "listing": "capped" }),
        &[one, "    - add(): Adds", sub, "  Server: two", say],
    )
    .await;
    check_listing(
        json!({ "listing": "capped", "signatures": false }),
        &[
            one,
            "    - add: Adds",
            "    - sub: The tool sub",
            "  Server: two",
            "    - say: The tool say",
        ],
    )
    .await;
    check_listing(
        json!({ "listing": "names" }),
        &[one, "    add, sub", "  Server: two", "    say"],
    )
    .await;
    check_listing(
        json!({ "listing": "servers" }),
        &[
            "  Server: one (2 tools) - Numbers",
            "  Server: two (1 tool)",
        ],
    )
    .await;
}

/// Returns two servers with `count` tools each and descriptions of `words` words.
fn many(count: usize, words: usize) -> Vec<(&'static str, Installed)> {
    let describe = |script: Script, at: usize| {
        let schema = json!({ "type": "object" });
        script.tool(tool(
            &format!("tool_{at:03}"),
            &"word ".repeat(words),
            &schema,
        ))
    };
    ["one", "two"]
        .map(|id| (id, (0..count).fold(Script::new(id), describe).install()))
        .into()
}

/// If the listing is too long, it uses the next level of detail and says so at its end.
#[tokio::test]
async fn oversized_listing_reduces_detail_with_a_note() {
    let capped = "(Descriptions shortened. inspect a tool to see the whole.)";
    let names = "(Shortened to names: 44 tools. inspect a server to see its tools.)";
    let servers = "(Shortened to servers: 44 tools. inspect a server to see its tools.)";
    let installed = many(22, 30);
    let config = config(installed.iter().map(|(id, server)| (*id, server.config())));
    for (listing, limit, line, note) in [
        ("full", 5_000, "    - tool_021(): word ", capped),
        ("capped", 2_400, "    - tool_021(): word word ", capped),
        ("capped", 1_000, "    tool_000, tool_001, ", names),
        ("capped", 500, "  Server: one (22 tools)", servers),
        ("names", 500, "  Server: one (22 tools)", servers),
    ] {
        let settings = json!({ "listing": listing, "listing_max_chars": limit });
        let config = with(config.clone(), endpoint(settings));
        for transport in WAYS {
            let mut lazy = transport.open(&config).await;
            let (_, description) = lazy.listed().await;
            assert!(description.chars().count() <= limit, "{description}");
            assert!(description.contains(line), "{description}");
            assert!(description.ends_with(note), "{description}");
        }
    }
}
