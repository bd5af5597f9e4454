//! Tests of published names, other accepted spellings, unknown names, and slightly malformed
//! results.

use narrows_testkit::scripted::{Installed, Script, Step};
use narrows_testkit::until;
use serde_json::{Value, json};

use crate::gateway::{Gateway, Session, config, error, text, with};

/// Unusual ids with unusual tools.
const SERVERS: [(&str, &[&str]); 5] = [
    (
        "io.github.x/y",
        &["plain", "with space", "with.space", "a__b"],
    ),
    ("io_github_x/y", &["plain"]),
    ("Ünï çode 🚀", &["tool:colon", "ns::tool"]),
    ("a", &["b__c", "_under"]),
    ("a__b", &["c"]),
];

/// Returns the tools of all servers, and for each two long names that differ only at the end.
fn odd_tools() -> Vec<(&'static str, String)> {
    let long = ["-one", "-two"].map(|end| "long-".repeat(30) + end);
    let of = |(id, tools): (&'static str, &[&str])| {
        let tools = tools.iter().map(|tool| (*tool).to_owned());
        let tools = tools.chain(long.clone());
        tools.map(|tool| (id, tool)).collect::<Vec<_>>()
    };
    SERVERS.into_iter().flat_map(of).collect()
}

/// Starts servers whose responses name the server and the tool.
async fn odd_names() -> (Gateway, Vec<Installed>) {
    let install = |(id, _): (&str, _)| {
        let tools = odd_tools().into_iter().filter(|(owner, _)| *owner == id);
        let script = tools.fold(Script::new(id), |script, (_, tool)| {
            script.plain_tool(&tool)
        });
        script.install()
    };
    let installed = SERVERS.map(install);
    let ids = SERVERS.map(|(id, _)| id);
    let config = config(ids.into_iter().zip(installed.iter().map(Installed::config)));
    let endpoints = json!({ "facade": { "separator": ":" }, "proxy": { "separator": "::" },
        "short": { "name_max": 24 } });
    let config = with(config, json!({ "endpoints": endpoints }));
    (Gateway::serve(&config).await, installed.into())
}

/// Returns the server and tool that answered, or the error.
async fn ask(session: &mut Session, name: &str) -> String {
    let answer = session.call_tool(name, json!({})).await;
    if answer["error"].is_object() {
        return error(&answer);
    }
    text(&answer).trim_end_matches(" with {}").to_owned()
}

fn called(server: &str, tool: &str) -> String {
    format!("{server} called {}", Value::from(tool))
}

#[tokio::test]
async fn every_published_name_is_valid_and_resolves() {
    let (gateway, _servers) = odd_names().await;
    for (path, max) in [("/mcp", 50), ("/mcp/short", 24)] {
        let mut session = gateway.session(path).await;
        let names = session.tool_names().await;
        assert_eq!(names.len(), odd_tools().len());
        let safe = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        for (name, (server, tool)) in names.iter().zip(odd_tools()) {
            assert!(name.len() <= max && name.chars().all(safe), "{name}");
            assert_eq!(
                ask(&mut session, name).await,
                called(server, &tool),
                "{name}"
            );
        }
        // The names are the same in another request and another session.
        assert_eq!(gateway.session(path).await.tool_names().await, names);
    }
}

#[tokio::test]
async fn alternative_names_resolve() {
    let (gateway, _servers) = odd_names().await;
    for path in ["/mcp", "/mcp/facade", "/mcp/proxy"] {
        let mut session = gateway.session(path).await;
        for (name, server, tool) in [
            ("io_github_x_y__plain", "", ""),
            ("io.github.x/y__plain", "io.github.x/y", "plain"),
            ("io.github.x/y:plain", "io.github.x/y", "plain"),
            ("io.github.x/y::plain", "io.github.x/y", "plain"),
            ("io.github.x/y:with space", "io.github.x/y", "with space"),
            ("io.github.x/y:a__b", "io.github.x/y", "a__b"),
            ("Ünï çode 🚀:tool:colon", "Ünï çode 🚀", "tool:colon"),
            ("Ünï çode 🚀::ns::tool", "Ünï çode 🚀", "ns::tool"),
            ("a:_under", "a", "_under"),
            ("a::b__c", "a", "b__c"),
            ("a__b:c", "a__b", "c"),
        ] {
            let said = ask(&mut session, name).await;
            if server.is_empty() {
                // Two ids share this form, so it is not accepted for either.
                assert!(said.contains("unknown_tool"), "{path} {name}: {said}");
            } else {
                assert_eq!(said, called(server, tool), "{path} {name}");
            }
        }
        // The name may refer to server `a` or `a__b`, unless it is a published name.
        let said = ask(&mut session, "a__b__c").await;
        match path {
            "/mcp" => assert_eq!(said, called("a", "b__c")),
            _ => assert!(said.starts_with("-32602"), "{said}"),
        }
    }
    let mut own = gateway.session("/servers/a/mcp").await;
    assert_eq!(own.tool_names().await[..2], ["b__c", "_under"]);
    assert_eq!(ask(&mut own, "_under").await, called("a", "_under"));
    let mut own = gateway.session("/servers/io.github.x%2Fy/mcp").await;
    assert_eq!(
        ask(&mut own, "with space").await,
        called("io.github.x/y", "with space")
    );
}

#[tokio::test]
async fn unknown_names_are_rejected() {
    let server = Script::new("files")
        .plain_tool("read_file")
        .plain_tool("write_file");
    let server = server.prompt(r#"{"name":"review"}"#).install();
    let gateway = Gateway::serve(&config([("files", server.config())])).await;
    let mut session = gateway.session("/mcp").await;
    for (name, nearest) in [
        ("files__read_fil", "files__read_file"),
        ("file__read_file", "files__read_file"),
        ("read_file", "files__read_file"),
        ("filesystem__read_file", "files__read_file"),
        ("other.reed_file", "files__read_file"),
        ("files__", ""),
        ("__read_file", ""),
        ("", ""),
        ("FILES__READ_FILE", ""),
        ("zzz\u{0}\u{1f680}", ""),
    ] {
        let answer = session.call_tool(name, json!({})).await;
        let found = &answer["error"]["data"]["nearest"];
        let found: Vec<&str> = found
            .as_array()
            .unwrap_or_else(|| panic!("{answer}"))
            .iter()
            .filter_map(Value::as_str)
            .collect();
        // Models read the message, not `data`.
        let suggested = match &found[..] {
            [] => String::new(),
            [one] => format!(". Did you mean {one}?"),
            [first, second] => format!(". Did you mean {first} or {second}?"),
            more => panic!("there are two tools: {more:?}"),
        };
        let expected = format!("-32602 unknown_tool Unknown tool: {name}{suggested}");
        assert_eq!(error(&answer), expected);
        if !nearest.is_empty() {
            assert_eq!(found.first(), Some(&nearest), "{answer}");
        }
    }
    assert_eq!(server.count_received("tools/call"), 0, "nothing is guessed");
    let answer = session
        .call("prompts/get", json!({ "name": "reviw" }))
        .await;
    assert_eq!(
        error(&answer),
        "-32602 unknown_prompt Unknown prompt: reviw. Did you mean files__review?"
    );
    // Params without a name, and with two.
    for params in [
        r#"{}"#,
        r#"{"name":5}"#,
        r#"[]"#,
        r#"{"name":"files__read_file","name":"files__write_file"}"#,
        r#"{"name":"files__read_file","\u006eame":"x"}"#,
        r#"{"name":"files__read_file","arguments":{"path":"a"},"arguments":{"path":"b"}}"#,
        r#"{"name":"files__read_file","arguments":{},"\u0061rguments":{"path":"b"}}"#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{params}}}"#);
        let answer = session.post(&body).await.json();
        assert_eq!(answer["error"]["code"], -32602, "{params}: {answer}");
    }
    assert_eq!(server.count_received("tools/call"), 0);
}

#[tokio::test]
async fn slightly_invalid_results_are_repaired() {
    let whole = |raw: &str, structured: &str| {
        let text = Value::from(raw);
        format!(
            r#"{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{structured}}}"#
        )
    };
    // The server's result, and the result that the client receives.
    let cases: Vec<(&str, String)> = vec![
        (r#"{"content":[{"text":"a","x":1.0}]}"#, r#"{"content":[{"text":"a","x":1.0,"type":"text"}]}"#.into()),
        (
            r#"{"content":[{"data":"AA==","mimeType":"image/png"},{"type":"text","text":"b"},{"data":"AA==","mimeType":"audio/wav"},{"resource":{"uri":"x://a","text":"t"}}],"isError":true}"#,
            r#"{"content":[{"data":"AA==","mimeType":"image/png","type":"image"},{"type":"text","text":"b"},{"data":"AA==","mimeType":"audio/wav","type":"audio"},{"resource":{"uri":"x://a","text":"t"},"type":"resource"}],"isError":true}"#.into(),
        ),
        (r#"{"rows":[1.0,2]}"#, whole(r#"{"rows":[1.0,2]}"#, r#"{"rows":[1.0,2]}"#)),
        (r#"[1, 2.50]"#, whole("[1, 2.50]", r#"{"result":[1, 2.50]}"#)),
        (r#""text""#, whole("\"text\"", r#"{"result":"text"}"#)),
        ("null", whole("null", r#"{"result":null}"#)),
        (r#"{"content":"text"}"#, whole(r#"{"content":"text"}"#, r#"{"content":"text"}"#)),
        (r#"{"content":["a"]}"#, whole(r#"{"content":["a"]}"#, r#"{"content":["a"]}"#)),
        (r#"{"content":[{"type":"text","text":"fine"}],"extra":1e2}"#, r#"{"content":[{"type":"text","text":"fine"}],"extra":1e2}"#.into()),
        (r#"{"content":[]}"#, r#"{"content":[]}"#.into()),
    ];
    let script = cases
        .iter()
        .enumerate()
        .fold(Script::new("s"), |script, (number, (sent, _))| {
            let name = format!("t{number}");
            script
                .plain_tool(&name)
                .on_tool(&name, [Step::reply(*sent)])
        });
    let prompt = r#"{"messages":[{"role":"user","content":{"text":"p"}}]}"#;
    let script = script
        .prompt(r#"{"name":"p"}"#)
        .prompt(r#"{"name":"q"}"#)
        .rule("prompts/get", Some("p"), [Step::reply(prompt)])
        .rule("prompts/get", Some("q"), [Step::reply(r#"{"a":1.0}"#)]);
    let server = script.install();
    let gateway = Gateway::serve(&config([("s", server.config())])).await;
    let mut session = gateway.session("/mcp").await;
    for (number, (sent, expected)) in cases.iter().enumerate() {
        let request = session.request("tools/call", json!({ "name": format!("s__t{number}") }));
        let answer = session.post(&request).await.text();
        assert!(
            answer.ends_with(&format!(r#","result":{expected}}}"#)),
            "{sent} became {answer}"
        );
    }
    for (name, expected) in [
        ("s__p", json!({ "text": "p", "type": "text" })),
        ("s__q", json!({ "type": "text", "text": r#"{"a":1.0}"# })),
    ] {
        let answer = session.call("prompts/get", json!({ "name": name })).await;
        let message = &answer["result"]["messages"][0];
        assert_eq!(*message, json!({ "role": "user", "content": expected }));
    }
    until("each repair is logged", || {
        let log = gateway.program.stderr();
        log.matches("facade_to_llm.decode_failed").count() == 10
    })
    .await;
}
