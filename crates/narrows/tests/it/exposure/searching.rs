//! Tests of search endpoints: `search_tools`, and pinned tools.

use narrows_testkit::raw::{Any, Stdio, Streamable};
use narrows_testkit::scripted::{Installed, Script};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{errand, first_text, tool, wrong};
use crate::gateway::{Gateway, REVISION, column, config, text, with};
use crate::program::Folder;

fn servers() -> [(&'static str, Installed); 2] {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let files = Script::new("files")
        .tool(tool("read_file", "Gives the contents", &schema))
        .tool(tool("write_file", "Stores the contents", &schema))
        .tool(tool("delete_file", "Deletes it for ever", &schema))
        .install();
    let weather = Script::new("weather")
        .plain_tool("forecast_rain")
        .plain_tool("read_station")
        .install();
    [("files", files), ("weather", weather)]
}

fn searching(servers: &[(&'static str, Installed)]) -> Value {
    let entries = servers.iter().map(|(id, server)| (*id, server.config()));
    let find = json!({ "expose": "search", "pin": ["weather/fore*"], "preset": "safe" });
    let more = json!({
        "endpoints": { "find": find, "default": find },
        "presets": { "safe": { "tools": ["*/*", "!files/delete_*"] } },
    });
    with(config(entries), more)
}

async fn search(client: &mut Any, arguments: Value) -> Value {
    let mut answer = client.call_tool("search_tools", arguments).await;
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].take()
}

/// Returns `server/name` of the tools found, in order.
#[track_caller]
fn found(result: &Value) -> Vec<String> {
    let entries = result["structuredContent"]["result"].as_array();
    let entries = entries.unwrap_or_else(|| panic!("nothing found: {result}"));
    let name = |entry: &Value| {
        assert!(entry["input_schema"].is_string(), "{entry}");
        let part = |name: &str| entry[name].as_str().unwrap_or("-").to_owned();
        format!("{}/{}", part("server_name"), part("name"))
    };
    entries.iter().map(name).collect()
}

async fn check(client: &mut Any) {
    let list = client.call("tools/list", json!({})).await;
    let names = column(&list, "tools", "name");
    let expected = ["search_tools", "inspect", "exec", "weather__forecast_rain"];
    assert_eq!(names, expected);
    let description = list["result"]["tools"][0]["description"].as_str();
    let description = description.unwrap_or_default();
    assert!(description.contains("files (2)"), "{description}");
    assert!(description.contains("weather (2)"), "{description}");

    // Words of a name find tools, best match first.
    let one = search(client, json!({ "query": "read file" })).await;
    assert_eq!(found(&one)[0], "files/read_file");
    assert!(first_text(&one).contains("read_file"), "{one}");
    let one = search(client, json!({ "query": "rain" })).await;
    assert_eq!(found(&one)[0], "weather/forecast_rain");
    // The search can be limited to one server and to a number of results.
    let asked = json!({ "query": "read", "server_name": "weather" });
    let there = search(client, asked).await;
    assert_eq!(found(&there)[0], "weather/read_station");
    let is_there = |name: &String| name.starts_with("weather/");
    assert!(found(&there).iter().all(is_there), "{there}");
    let asked = json!({ "query": "read file", "limit": 1 });
    assert_eq!(found(&search(client, asked).await), ["files/read_file"]);
    // A query may contain several phrasings, one per line.
    let asked = json!({ "query": "write file\nforecast rain" });
    let both = found(&search(client, asked).await);
    for name in ["files/write_file", "weather/forecast_rain"] {
        assert!(both.iter().any(|found| found == name), "{both:?}");
    }
    // Hidden tools are not found.
    for query in ["delete_file", "delete file for ever", "files"] {
        let hidden = search(client, json!({ "query": query })).await;
        assert!(!hidden.to_string().contains("delete_file"), "{hidden}");
    }
    let nothing = search(client, json!({ "query": "qqqq" })).await;
    assert_eq!(nothing["structuredContent"], json!({ "result": [] }));
    let unknown = json!({ "query": "x", "server_name": "zz" });
    assert_eq!(
        wrong(&search(client, unknown).await),
        json!({ "error": "Server 'zz' not found", "available_servers": ["files", "weather"] })
    );
    for bad in [
        json!({}),
        json!({ "query": " " }),
        json!({ "query": "a", "limit": "x" }),
    ] {
        let reported = wrong(&search(client, bad.clone()).await);
        assert!(reported["error"].is_string(), "{bad}: {reported}");
    }
}

/// Calls the tools found, and pinned tools also by their names.
async fn check_calls(client: &mut Any) {
    let asked = errand("files", "read_file", json!({ "path": "a" }));
    let answer = client.call_tool("exec", asked).await;
    let said = r#"files called "read_file" with {"path":"a"}"#;
    assert_eq!(text(&answer), said);
    for name in ["weather__forecast_rain", "files__read_file"] {
        let answer = client.call_tool(name, json!({})).await;
        assert!(text(&answer).contains("called"), "{answer}");
    }
    let reported = client
        .call_tool("inspect", json!({ "server_name": "files" }))
        .await;
    let entries = &reported["result"]["structuredContent"]["result"];
    assert_eq!(entries.as_array().map(Vec::len), Some(2), "{reported}");
}

#[tokio::test]
async fn tools_are_found_over_http() {
    let servers = servers();
    let gateway = Gateway::serve(&searching(&servers)).await;
    let mut client = Streamable::at(gateway.address(), "/mcp/find").boxed();
    client.initialize(REVISION, json!({})).await;
    let before = servers.each_ref().map(|(_, server)| server.received());
    check(&mut client).await;
    let after = servers.each_ref().map(|(_, server)| server.received());
    assert_eq!(after, before, "a search asked the servers");
    check_calls(&mut client).await;
}

#[tokio::test]
async fn tools_are_found_over_stdio() {
    let servers = servers();
    let folder = Folder::with(&searching(&servers).to_string());
    let command = folder.command(&["stdio", "--expose", "search"]);
    let mut client = Stdio::start(&mut Command::from(command)).boxed();
    client.initialize(REVISION, json!({})).await;
    check(&mut client).await;
    check_calls(&mut client).await;
}
