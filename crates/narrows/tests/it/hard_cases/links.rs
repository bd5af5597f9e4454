//! Tests of resource links inside results: a client can read every link from the server that
//! returned it, under the URI in the result.

use narrows_testkit::raw::{Any, Stdio, Streamable};
use narrows_testkit::scripted::{Installed, Script, Step};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::gateway::{Gateway, REVISION, Session, config, error, with};
use crate::program::Folder;

/// A server whose tool and prompt return these URIs, each as a link and as an embedded resource.
fn handing_out(name: &str, uris: &[&str]) -> Installed {
    let link = |uri: &str| json!({ "type": "resource_link", "uri": uri, "name": "l" });
    let embedded = |uri: &str| {
        let text = "the URI of this resource";
        json!({ "type": "resource", "resource": { "uri": uri, "text": text } })
    };
    let both = uris.iter().flat_map(|uri| [link(uri), embedded(uri)]);
    let content: Vec<Value> = both.collect();
    let message = |content: &Value| json!({ "role": "user", "content": content });
    let messages: Vec<Value> = content.iter().map(message).collect();
    let prompt = json!({ "messages": messages }).to_string();
    let listed = |uri: &str| json!({ "uri": uri, "name": uri }).to_string();
    Script::new(name)
        .plain_tool("hand_out")
        .on_tool(
            "hand_out",
            [Step::reply(json!({ "content": content }).to_string())],
        )
        .prompt(r#"{"name":"hand_out"}"#)
        .rule("prompts/get", Some("hand_out"), [Step::reply(prompt)])
        .resource(listed("x://same"))
        .resource(listed(&format!("x://{name}")))
        .template(json!({ "name": "t", "uriTemplate": format!("{name}-t://{{id}}") }).to_string())
        .install()
}

/// Returns the URIs in a result of a tool or prompt, in order.
fn uris(answer: &Value) -> Vec<String> {
    let result = &answer["result"];
    let content = result["content"].as_array().cloned().or_else(|| {
        let messages = result["messages"].as_array()?.iter();
        Some(messages.map(|message| message["content"].clone()).collect())
    });
    let content = content.unwrap_or_else(|| panic!("no content: {answer}"));
    let uri = |item: &Value| match item["type"].as_str() {
        Some("resource_link") => item["uri"].as_str().map(Into::into),
        _ => item["resource"]["uri"].as_str().map(Into::into),
    };
    content.iter().filter_map(uri).collect()
}

async fn read(session: &mut Session, uri: &str) -> Value {
    session.call("resources/read", json!({ "uri": uri })).await
}

/// Follows every link that the server returns and reads it.
async fn check_links(session: &mut Session, separator: &str, server: &str, own: &[&str]) {
    let name = format!("{server}{separator}hand_out");
    let of_tool = session.call_tool(&name, json!({})).await;
    let of_prompt = session.call("prompts/get", json!({ "name": name })).await;
    for answer in [of_tool, of_prompt] {
        let found = uris(&answer);
        assert_eq!(found.len(), 2 * own.len(), "{answer}");
        for (uri, own) in found.iter().zip(own.iter().flat_map(|own| [own, own])) {
            let answer = read(session, uri).await;
            let text = &answer["result"]["contents"][0]["text"];
            let expected = format!("{server} reads {}", Value::from(*own));
            assert_eq!(*text, expected, "{uri}: {answer}");
        }
    }
}

#[tokio::test]
async fn every_resource_link_of_a_result_can_be_read() {
    let one = [
        "x://same",
        "x://one",
        "x://two",
        "one-t://5",
        "two-t://5",
        "unlisted://both",
        "unlisted://\u{e9} \"one\"",
    ];
    let two = [
        "x://same",
        "x://two",
        "x://one",
        "two-t://5",
        "unlisted://both",
        "unlisted://two",
    ];
    let servers = [handing_out("one", &one), handing_out("two", &two)];
    let endpoints = json!({ "endpoints": { "proxy": { "separator": "::", "uris": "wrapped" } } });
    let config = config([("one", servers[0].config()), ("two", servers[1].config())]);
    let gateway = Gateway::serve(&with(config, endpoints)).await;
    for (path, separator) in [("/mcp", "__"), ("/mcp/proxy", "::")] {
        let mut session = gateway.session(path).await;
        check_links(&mut session, separator, "one", &one).await;
        check_links(&mut session, separator, "two", &two).await;
        // Links returned earlier still lead to their server.
        check_links(&mut session, separator, "one", &one).await;
    }
}

/// The same over stdio and through `exec`.
#[tokio::test]
async fn resource_links_of_exec_results_can_be_read() {
    let (one, two) = (["x://same", "unlisted://one"], ["x://two"]);
    let servers = [handing_out("one", &one), handing_out("two", &two)];
    let config = config([("one", servers[0].config()), ("two", servers[1].config())]);
    let gateway = Gateway::serve(&config).await;
    let folder = Folder::with(&config.to_string());
    let mut command = Command::from(folder.command(&["stdio", "--expose", "lazy"]));
    let clients: [Any; 2] = [
        Streamable::at(gateway.address(), "/mcp/lazy").boxed(),
        Stdio::start(&mut command).boxed(),
    ];
    for mut client in clients {
        client.initialize(REVISION, json!({})).await;
        let arguments = json!({ "server_name": "one", "tool_name": "hand_out" });
        let answer = client.call_tool("exec", arguments).await;
        for (uri, own) in uris(&answer)
            .iter()
            .zip(one.iter().flat_map(|own| [own, own]))
        {
            let answer = client.call("resources/read", json!({ "uri": uri })).await;
            let text = &answer["result"]["contents"][0]["text"];
            assert_eq!(*text, format!(r#"one reads "{own}""#), "{uri}: {answer}");
        }
    }
}

/// A link that leads to its server without help, or that no server can read, stays unchanged, like
/// the rest of the result.
#[tokio::test]
async fn direct_and_unreadable_resource_links_are_unchanged() {
    let result = r#"{ "content" : [{"type":"resource_link","uri":"x:\/\/one","name":"n", "size":1.0},  {"type":"resource","resource":{"uri":"unlisted://1","text":"a"},"x":1e2}], "_meta":{"a":1} }"#;
    let servers = [
        Script::new("one")
            .plain_tool("say")
            .on_tool("say", [Step::reply(result)])
            .resource(r#"{"uri":"x://one","name":"n"}"#)
            .install(),
        handing_out("two", &[]),
        Script::new("none")
            .plain_tool("say")
            .on_tool("say", [Step::reply(result)])
            .install(),
    ];
    let config = config([
        ("one", servers[0].config()),
        ("two", servers[1].config()),
        ("none", servers[2].config()),
    ]);
    let gateway = Gateway::serve(&config).await;
    let mut session = gateway.session("/mcp").await;
    for tool in ["one__say", "none__say"] {
        let request = session.request("tools/call", json!({ "name": tool }));
        let answer = session.post(&request).await.text();
        assert!(answer.contains(result), "{tool}: {answer}");
    }
    // The link from the server without resources leads to the other server.
    let answer = read(&mut session, "x://one").await;
    assert_eq!(
        answer["result"]["contents"][0]["text"],
        r#"one reads "x://one""#
    );
}

/// Only the session that received a link can use it, and only if the preset allows it.
#[tokio::test]
async fn resource_link_grants_no_access_to_others() {
    let own = ["unlisted://one", "x://same", "x://one"];
    let servers = [handing_out("one", &own), handing_out("two", &[])];
    let config = config([("one", servers[0].config()), ("two", servers[1].config())]);
    let presets = json!({
        "presets": { "few": { "tools": ["one/*", "two/*"], "resources": ["one/x://one"] } },
        "endpoints": { "few": { "preset": "few" } },
    });
    let gateway = Gateway::serve(&with(config, presets)).await;
    let mut session = gateway.session("/mcp").await;
    let mut other = gateway.session("/mcp").await;
    session.call_tool("one__hand_out", json!({})).await;
    let read_by_owner = read(&mut session, "unlisted://one").await;
    assert!(read_by_owner["result"].is_object(), "{read_by_owner}");
    let unknown = read(&mut other, "unlisted://one").await;
    assert!(error(&unknown).contains("unknown_resource"), "{unknown}");
    let mut few = gateway.session("/mcp/few").await;
    let answer = few.call_tool("one__hand_out", json!({})).await;
    let found = uris(&answer);
    assert_eq!(found.len(), 6, "{answer}");
    for uri in &found[..4] {
        let refused = read(&mut few, uri).await;
        assert!(error(&refused).contains("not_allowed"), "{uri}: {refused}");
    }
    for uri in &found[4..] {
        let allowed = read(&mut few, uri).await;
        assert!(allowed["result"].is_object(), "{uri}: {allowed}");
    }
    assert_eq!(servers[0].count_received("resources/read"), 3);
}
