//! Tests of `inspect`, which describes servers and tools from the catalogue.

use narrows_testkit::scripted::{Installed, Script};
use serde_json::{Value, json};

use super::{WAYS, endpoint, length, only, only_text, tool, wrong};
use crate::gateway::{config, with};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": format!("File {}", "path ".repeat(10)) },
            "mode": { "enum": ["r", "w"] },
            "max": { "type": "integer", "minimum": 1, "maximum": 100, "default": 30 },
        },
        "required": ["path"],
    })
}

fn files() -> Installed {
    Script::new("files")
        .tool(tool("read_file", "Reads a file\nwhole", &schema()))
        .tool(json!({ "name": "bare" }).to_string())
        .install()
}

const PATH: &str = "File path path path path path path path path path path";

/// Checks the `input_schema` of `read_file` under these settings.
async fn check_schema(settings: Value, expected: Value) {
    let files = files();
    let config = with(only("files", &files), settings);
    for transport in WAYS {
        let mut lazy = transport.open(&config).await;
        let before = files.received();
        let asked = json!({ "server_name": "files", "tool_name": "read_file" });
        let one = lazy.inspect(asked).await;
        let entry = json!({ "server_name": "files", "name": "read_file",
            "description": "Reads a file\nwhole", "input_schema": expected });
        let structured = &one["structuredContent"]["result"];
        // The order of members must match, too.
        assert_eq!(
            structured.to_string(),
            entry.to_string(),
            "{}",
            lazy.transport
        );
        let all = lazy.inspect(json!({ "server_name": "files" })).await;
        let entries = &all["structuredContent"]["result"];
        assert_eq!(entries[0], entry);
        assert_eq!(entries[1]["name"], "bare");
        assert_eq!(entries.as_array().map(Vec::len), Some(2));
        assert_eq!(files.received(), before, "inspect asked the server");
    }
}

#[tokio::test]
async fn schemas_are_typescript_or_unchanged() {
    check_schema(
        json!({}),
        json!(format!(
            r#"{{path: string /* {PATH} */; mode?: "r" | "w"; max?: number}}"#
        )),
    )
    .await;
    check_schema(json!({ "schema_compression_enabled": false }), schema()).await;
    check_schema(
        json!({ "max_description_len": 12 }),
        json!(r#"{path: string /* File path... */; mode?: "r" | "w"; max?: number}"#),
    )
    .await;
    check_schema(
        json!({ "max_description_len": 12, "schema_constraints": true }),
        json!(
            r#"{path: string /* File path... */; mode?: "r" | "w"; max?: number /* =30; 1..100 */}"#
        ),
    )
    .await;
}

/// The text is the shorter of two formats, unless the settings select one.
#[tokio::test]
async fn entries_use_the_configured_encoding() {
    let files = files();
    let toon = "[2]{server_name,name,description,input_schema}:\n  \
        files,read_file,\"Reads a file\\nwhole\",";
    for (encoding, starts) in [
        ("auto", toon),
        ("toon", toon),
        ("json", r#"[{"server_name":"files","name":"read_file","#),
    ] {
        let config = with(only("files", &files), json!({ "encoding": encoding }));
        for transport in WAYS {
            let mut lazy = transport.open(&config).await;
            let all = lazy.inspect(json!({ "server_name": "files" })).await;
            assert!(only_text(&all).starts_with(starts), "{encoding}: {all}");
            let compact = all["structuredContent"]["result"].to_string();
            match encoding {
                "json" => assert_eq!(only_text(&all), compact),
                "auto" => assert!(only_text(&all).len() <= compact.len()),
                _ => {}
            }
        }
    }
}

#[tokio::test]
async fn invalid_inspect_arguments_are_answered() {
    let files = files();
    for transport in WAYS {
        let mut lazy = transport.open(&only("files", &files)).await;
        let unknown = lazy.inspect(json!({ "server_name": "zz" })).await;
        assert_eq!(
            wrong(&unknown),
            json!({ "error": "Server 'zz' not found", "available_servers": ["files"] })
        );
        let asked = json!({ "server_name": "files", "tool_name": "read_fil" });
        let unknown = wrong(&lazy.inspect(asked).await);
        assert_eq!(
            unknown["error"],
            "Tool 'read_fil' not found on server 'files'. Did you mean read_file?"
        );
        assert_eq!(unknown["available_tools"], json!(["read_file", "bare"]));
        assert_eq!(unknown["nearest"][0], "read_file");
        for bad in [
            json!({}),
            json!({ "server_name": 5 }),
            json!({ "server": "files" }),
            json!({ "server_name": "files", "cursor": "x" }),
            json!({ "server_name": "files", "cursor": "eyJvZmZzZXQiOiA5fQ==" }),
        ] {
            let reported = wrong(&lazy.inspect(bad.clone()).await);
            assert!(reported["error"].is_string(), "{bad}: {reported}");
        }
        // Harmless, so these arguments are accepted.
        let asked = json!({ "server_name": "files", "tool_name": null, "cursor": "" });
        let all = lazy.inspect(asked).await;
        assert_eq!(
            all["structuredContent"]["result"].as_array().map(Vec::len),
            Some(2)
        );
    }
}

/// Instructions that were cut in the listing are complete in the description of the server.
#[tokio::test]
async fn long_instructions_are_included() {
    let words = "Read me first.\n".repeat(30);
    for (instructions, reported) in [("Short.", false), (&*words, true)] {
        let server = Script::new("s")
            .with(|script| script.instructions = Some(instructions.into()))
            .plain_tool("t")
            .install();
        for transport in WAYS {
            let mut lazy = transport.open(&only("s", &server)).await;
            let all = lazy.inspect(json!({ "server_name": "s" })).await;
            let second = &all["content"][1]["text"];
            match reported {
                true => assert_eq!(*second, format!("Instructions of s:\n{}", words.trim())),
                false => assert!(second.is_null(), "{all}"),
            }
            let asked = json!({ "server_name": "s", "tool_name": "t" });
            only_text(&lazy.inspect(asked).await);
        }
    }
}

/// Hundreds of tools are split into pages, which together contain all of them.
#[tokio::test]
async fn pages_contain_all_tools_of_a_server() {
    const BUDGET: usize = 5_000;
    let add = |script: Script, at: usize| {
        let words = "some words on it ".repeat(at % 7);
        script.tool(tool(&format!("tool_{at}"), &words, &schema()))
    };
    let script = (0..300).fold(Script::new("many"), add);
    let script = script.with(|script| script.instructions = Some("Read me. ".repeat(60)));
    let server = script.install();
    for encoding in ["auto", "json"] {
        let settings = json!({ "shape": { "max_chars": BUDGET }, "encoding": encoding });
        let config = with(only("many", &server), endpoint(settings));
        for transport in WAYS {
            let mut lazy = transport.open(&config).await;
            let before = server.received();
            let mut names = Vec::new();
            let mut pages = 0;
            let mut asked = json!({ "server_name": "many" });
            loop {
                let page = lazy.inspect(asked).await;
                pages += 1;
                assert!(length(&page) <= BUDGET, "page {pages}: {}", length(&page));
                let structured = &page["structuredContent"];
                assert_eq!(structured["total"], 300, "{}", lazy.transport);
                let entries = structured["result"].as_array().expect("a list");
                let name = |entry: &Value| entry["name"].as_str().unwrap_or_default().to_owned();
                let first = names.len() + 1;
                names.extend(entries.iter().map(name));
                let range = format!("Tools {first}-{} of 300.", names.len());
                let note = page["content"][1]["text"].as_str().unwrap_or_default();
                assert!(note.starts_with(&range), "{note}");
                let Some(cursor) = structured["next_cursor"].as_str() else {
                    assert_eq!(note, range);
                    break;
                };
                let next = format!(
                    r#"{range} For the next: inspect(server_name: "many", cursor: "{cursor}")"#
                );
                assert_eq!(note, next);
                asked = json!({ "server_name": "many", "cursor": cursor });
            }
            let all: Vec<String> = (0..300).map(|at| format!("tool_{at}")).collect();
            assert_eq!(names, all);
            assert!(pages > 5, "{pages} pages");
            assert_eq!(server.received(), before, "inspect asked the server");
        }
    }
}

/// A single entry that exceeds the budget is shortened.
#[tokio::test]
async fn tool_larger_than_the_budget_is_shortened() {
    let server = Script::new("s")
        .tool(tool("big", &"long ".repeat(2_000), &schema()))
        .install();
    let config = with(
        only("s", &server),
        json!({ "shape": { "max_chars": 1_500 } }),
    );
    for transport in WAYS {
        let mut lazy = transport.open(&config).await;
        let asked = json!({ "server_name": "s", "tool_name": "big" });
        let one = lazy.inspect(asked).await;
        assert!(length(&one) <= 1_500, "{one}");
        assert_eq!(one["structuredContent"]["result"]["name"], "big");
        let description = &one["structuredContent"]["result"]["description"];
        let description = description.as_str().unwrap_or_default();
        assert!(description.ends_with("... (10,000 characters)"), "{one}");
    }
}

/// The response reveals neither that the server exists nor its instructions.
#[tokio::test]
async fn server_outside_the_preset_is_not_revealed() {
    let bare = |name: &str| {
        Script::new(name)
            .prompt(json!({ "name": "p" }).to_string())
            .with(|script| script.instructions = Some(format!("Instructions of {name}")))
            .install()
    };
    let (files, closed, open) = (files(), bare("closed"), bare("open"));
    let servers = [("files", &files), ("closed", &closed), ("open", &open)];
    let servers = servers.map(|(id, server)| (id, server.config()));
    let preset = json!({ "tools": ["files/*"], "prompts": ["open/*"] });
    let endpoints = endpoint(json!({ "expose": "lazy", "preset": "few" }));
    let config = with(config(servers), endpoints);
    let config = with(config, json!({ "presets": { "few": preset } }));
    for transport in WAYS {
        let mut lazy = transport.open(&config).await;
        lazy.listed().await;
        for asked in [
            json!({ "server_name": "closed" }),
            json!({ "server_name": "closed", "tool_name": "x" }),
        ] {
            let answer = lazy.client.call_tool("inspect", asked).await;
            let error = answer["error"]["message"].as_str().unwrap_or_default();
            let expected = "Server 'closed' is not allowed by current preset";
            assert_eq!(error, expected, "{}: {answer}", lazy.transport);
        }
        let open = lazy.inspect(json!({ "server_name": "open" })).await;
        assert_eq!(open["structuredContent"]["result"], json!([]), "{open}");
        assert!(open.to_string().contains("Instructions of open"), "{open}");
    }
}
