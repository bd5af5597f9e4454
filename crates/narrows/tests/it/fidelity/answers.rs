//! Tests that errors and the responses of methods other than tool calls pass unchanged.

use narrows_testkit::raw::MCP_HEADERS;
use narrows_testkit::scripted::{Script, Step};
use serde_json::{Value, json};

use super::{FidelityServers, ODD, WAYS, over_http, over_stdio, result_of, same};
use crate::gateway::{Gateway, StdioGateway, config};

/// Items with a name, a URI and a template among unusual members.
const ITEMS: &[&str] = &[
    r#"{ "x":1.0,"name":"o\u006ee" ,"uri":"x:\/\/one","uriTemplate":"x://one/{id}","y":[123456789012345678901234567890,1e400]}"#,
    r#"{"uriTemplate" : "x://two/{id}","zz":"\ud800","name" :"two", "uri" :"x://two","a":{"name":"inner","name":2},"inputSchema":{"type":"object","$comment":"\/"}}"#,
];

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

#[tokio::test]
async fn server_errors_are_byte_identical() {
    let errors = [
        r#"{"code":-32000,"message":"no","data":{"z":1.0,"a":[1e400,"\u00e9"]},"extra":null}"#,
        r#"{ "message" : "\ud800" , "code" : -1 }"#,
        r#"{"code":123456789012345678901234567890,"message":""}"#,
    ];
    let names = ["e0", "e1", "e2"];
    let cases = names.into_iter().zip(errors);
    let script = cases
        .clone()
        .fold(Script::new("s"), |script, (name, error)| {
            let steps = [Step::Error(error.into())];
            script.plain_tool(name).on_tool(name, steps)
        });
    let servers = FidelityServers::start(&script).await;
    let gateway = Gateway::serve(&servers.config()).await;
    let mut session = gateway.session("/mcp").await;
    let mut piped = StdioGateway::open(&servers.config()).await;
    for way in WAYS {
        for (name, error) in cases.clone() {
            let call = request("tools/call", &format!(r#"{{"name":"{way}__{name}"}}"#));
            let whole = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#);
            same(way, &over_http(&mut session, &call).await, &whole);
            same(way, &over_stdio(&mut piped, &call).await, &whole);
        }
    }
}

#[tokio::test]
async fn results_of_every_kind_are_byte_identical() {
    let script = ITEMS.iter().fold(Script::new("s"), |script, item| {
        script.prompt(*item).resource(*item).template(*item)
    });
    // The first is a valid result of a prompt. Other results are not interpreted.
    let prompt = r#"{"messages":[{"role":"user","content":{"type":"text","text":"\/","n":1.0}}],"odd":1e400}"#;
    let [read, complete] = [ODD[1], ODD[2]];
    let script = script
        .on("prompts/get", [Step::reply(prompt)])
        .on("resources/read", [Step::reply(read)])
        .on("completion/complete", [Step::reply(complete)]);
    let servers = FidelityServers::start(&script).await;
    let gateway = Gateway::serve(&servers.config()).await;
    for way in WAYS {
        let mut single = gateway.session(&format!("/servers/{way}/mcp")).await;
        for (method, params, result) in [
            ("prompts/get", r#"{"name":"one"}"#, prompt),
            ("resources/read", r#"{"uri":"x://one"}"#, read),
            ("resources/read", r#"{"uri":"x://two/7"}"#, read),
            (
                "completion/complete",
                r#"{"ref":{"type":"ref/prompt","name":"two"}}"#,
                complete,
            ),
        ] {
            let answer = over_http(&mut single, &request(method, params)).await;
            same(
                &format!("{method} of {way}"),
                result_of(&answer, "1"),
                result,
            );
        }
        let list = ITEMS.join(",");
        for (method, member) in [
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ] {
            let answer = over_http(&mut single, &request(method, "{}")).await;
            let whole = format!(r#"{{"{member}":[{list}]}}"#);
            same(
                &format!("{method} of {way}"),
                result_of(&answer, "1"),
                &whole,
            );
        }
    }
}

/// Joined lists change only the names.
#[tokio::test]
async fn joined_lists_change_only_names() {
    let script = ITEMS.iter().fold(Script::new("s"), |script, item| {
        script
            .prompt(*item)
            .resource(*item)
            .template(*item)
            .tool(*item)
    });
    let server = script.install();
    let servers = config([("s", server.config())]);
    let mut piped = StdioGateway::open(&servers).await;
    let renamed = [
        ITEMS[0].replace(r#""o\u006ee""#, r#""s__one""#),
        ITEMS[1].replace(r#""two""#, r#""s__two""#),
    ];
    let plain = ITEMS.iter().map(|item| (*item).to_owned());
    let plain: Vec<String> = plain.collect();
    for (method, member, items) in [
        ("tools/list", "tools", &renamed[..]),
        ("prompts/list", "prompts", &renamed),
        ("resources/list", "resources", &plain),
        ("resources/templates/list", "resourceTemplates", &plain),
    ] {
        let answer = over_stdio(&mut piped, &request(method, "{}")).await;
        let whole = format!(r#"{{"{member}":[{}]}}"#, items.join(","));
        same(method, result_of(&answer, "1"), &whole);
    }
}

/// Notifications during a call pass unchanged, except for the added name of their server.
#[tokio::test]
async fn notifications_change_only_by_the_server_name() {
    let params = r#"{ "level" : "info","data":{"z":1.0,"a":[1e400,-0,"\ud800\/"],"a":2} , "logger":"\u00e9"}"#;
    let script = Script::new("s").plain_tool("talk");
    let talk = [
        Step::notify("notifications/message", params),
        Step::text("done"),
    ];
    let server = script.on_tool("talk", talk).install();
    let servers = config([("s", server.config())]);
    let gateway = Gateway::serve(&servers).await;
    let signed = params.trim_end_matches('}').to_owned() + r#","_meta":{"narrows/server":"s"}}"#;
    for (path, tool, params) in [
        ("/servers/s/mcp", "talk", params),
        ("/mcp", "s__talk", &signed),
    ] {
        let mut session = gateway.session(path).await;
        let call = json!({ "name": tool });
        let mut events = session.stream("tools/call", call).await;
        let event = loop {
            let event = events.next().await.expect("a notice");
            if !event.data.is_empty() {
                break event.data;
            }
        };
        let head = r#"{"jsonrpc":"2.0","method":"notifications/message","params":"#;
        same(path, &event, &format!("{head}{params}}}"));
    }
}

/// The endpoint of a single server returns the server's own `initialize` result.
#[tokio::test]
async fn single_server_initialize_result_is_unchanged() {
    let capabilities = r#"{ "tools":{"odd":1.0}, "experimental":{"x":[1e400]},"logging":{}}"#;
    let script = Script::new("s").plain_tool("t").with(|script| {
        script.capabilities = Some(capabilities.into());
        script.instructions = Some("Do as I say.".into());
    });
    let server = script.install();
    let other = Script::new("o").with(|script| script.instructions = Some("No.".into()));
    let other = other.plain_tool("t").install();
    let servers = [("s", server.config()), ("o", other.config())];
    let gateway = Gateway::serve(&config(servers)).await;
    let hello = |path: &'static str| {
        let gateway = &gateway;
        async move {
            let mut http = gateway.connect().await;
            let params = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#;
            let response = http
                .post(path, MCP_HEADERS, request("initialize", params))
                .await;
            result_of(&response.text(), "1").to_owned()
        }
    };
    let info = r#"{"name":"s","version":"1.0.0"}"#;
    let expected = format!(
        r#"{{"protocolVersion":"2025-06-18","capabilities":{capabilities},"serverInfo":{info},"instructions":"Do as I say."}}"#
    );
    same("initialize", &hello("/servers/s/mcp").await, &expected);
    let joined: Value = serde_json::from_str(&hello("/mcp").await).expect("JSON");
    assert_eq!(joined["serverInfo"]["name"], "narrows");
    assert_eq!(joined["instructions"], "## s\nDo as I say.\n\n## o\nNo.");
}
