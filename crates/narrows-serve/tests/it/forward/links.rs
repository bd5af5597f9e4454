//! Tests of servers with other transports, which are called over their shared links.

use std::time::Duration;

use narrows_gateway::settings::{
    Builtin, RemoteProtocol, ServerSettings, Settings, StdioSettings, UpstreamKind,
};
use narrows_shape::Mask;
use narrows_testkit::scripted::{Installed, Script, Step, Transport};
use narrows_wire::frame::Framing;
use serde_json::{Value, json};

use super::{ForwardRoute, NOTICE, PING, knowing, remote};

const QUESTION: &str = r#"{"message":"well?","requestedSchema":{"type":"object"}}"#;

fn script() -> Script {
    Script::new("alpha")
        .plain_tool("big")
        .plain_tool("wrong")
        .plain_tool("asks")
        .plain_tool("slow")
        .with(|script| script.instructions = Some("Be kind.".into()))
        .on_tool("big", [Step::text("abcdef")])
        .on_tool(
            "wrong",
            [Step::Error(
                r#"{"code":-7,"message":"a long message","data":["abcdef",1.0]}"#.into(),
            )],
        )
        .on_tool(
            "asks",
            [
                Step::ask("elicitation/create", QUESTION),
                Step::ask("roots/list", "{}"),
                Step::ReplyAnswers,
            ],
        )
        .on_tool("slow", [Step::Reach("slow".into()), Step::Stall])
        .on("echo", [Step::ReplyParams])
}

pub(super) fn stdio(installed: &Installed) -> UpstreamKind {
    UpstreamKind::Stdio(StdioSettings {
        command: installed.command(),
        args: installed.args(),
        env: std::env::vars_os().collect(),
        cwd: None,
        framing: Framing::Newline,
    })
}

/// Starts the route with one server, `up`, whose strings are masked above five characters.
async fn route(kind: UpstreamKind) -> ForwardRoute {
    route_with(kind, |_| {}).await
}

async fn route_with(kind: UpstreamKind, set: impl FnOnce(&mut ServerSettings)) -> ForwardRoute {
    let mut up = ServerSettings::new("up", kind);
    up.mask = Mask::new(5, 2, 1);
    set(&mut up);
    ForwardRoute::start(Settings {
        upstreams: vec![up],
        ..knowing([])
    })
    .await
}

const CUT: &str = "ab\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars=6 head=2 tail=1] ...\nf";

/// Checks the behaviour common to servers of all transports.
async fn check(route: &ForwardRoute, installed: &Installed) {
    let hello = route.ask("up", "initialize", json!({})).await;
    let result = &hello["result"];
    assert_eq!(result["serverInfo"]["name"], "alpha");
    assert!(result["capabilities"]["tools"].is_object());
    assert!(result["instructions"].as_str().unwrap().starts_with("Be"));
    assert!(
        result["protocolVersion"]
            .as_str()
            .unwrap()
            .starts_with("20")
    );
    assert_eq!(installed.count_received("clientInfo"), 1);

    assert_eq!(
        route.ask("up", "ping", json!({})).await["result"],
        json!({})
    );
    let list = route.ask("up", "tools/list", json!({})).await;
    assert_eq!(list["result"]["tools"][0]["name"], "big");
    let big = route
        .ask("up", "tools/call", json!({ "name": "big" }))
        .await;
    assert_eq!(big["result"]["content"][0]["text"], CUT);
    assert_eq!(big["result"]["content"][0]["type"], "text");

    let request = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wrong"}}"#;
    let wrong = route.post("up", request).await;
    let cut = serde_json::to_string(CUT).unwrap();
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":-7,"message":"a long message","data":[{cut},1.0]}}}}"#
    );
    assert_eq!((wrong.status, wrong.text()), (200, &*expected));

    // No client is available for requests from the server.
    let asks = route
        .ask("up", "tools/call", json!({ "name": "asks" }))
        .await;
    let answer_text = asks["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        answer_text.contains("KIMI_PROXY_OBSERVATION_MASKED"),
        "{answer_text}"
    );
    for question in ["elicitation/create", "roots/list"] {
        assert_eq!(installed.count_received(question), 0);
    }
    let refused = installed.received_with("does not support").await;
    assert!(refused.contains("-32601"), "{refused}");

    assert_eq!(route.post("up", NOTICE).await.status, 202);
    assert_eq!(installed.count_received("notifications/initialized"), 1);
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/mine","params":{"x":1}}"#;
    let reply = route.post("up", notice).await;
    assert_eq!((reply.status, reply.text()), (202, ""));
    installed.received_with("notifications/mine").await;
}

#[tokio::test]
async fn stdio_server_is_reachable() {
    let installed = script().install();
    check(&route(stdio(&installed)).await, &installed).await;
}

#[tokio::test]
async fn server_over_each_http_transport_is_reachable() {
    for (transport, protocol) in [
        (Transport::Http, RemoteProtocol::Http),
        (Transport::Http, RemoteProtocol::HttpOrSse),
        (Transport::Sse, RemoteProtocol::Sse),
        (Transport::WebSocket, RemoteProtocol::WebSocket),
    ] {
        let installed = script().install();
        let served = installed.serve_http().await;
        let kind = UpstreamKind::Remote(remote(&served.url_of(transport), protocol));
        check(&route(kind).await, &installed).await;
    }
}

#[tokio::test]
async fn builtin_servers_are_reachable() {
    let demo = route(UpstreamKind::Builtin(Builtin::Demo)).await;
    let echo = json!({ "name": "echo", "arguments": { "text": "abcdef" } });
    let answer = demo.ask("up", "tools/call", echo).await;
    assert_eq!(answer["result"]["content"][0]["text"], CUT);
    let ask = demo
        .ask("up", "tools/call", json!({ "name": "ask_name" }))
        .await;
    assert_eq!(ask["result"]["isError"], true);
    let hello = demo.ask("up", "initialize", json!({})).await;
    assert!(hello["result"]["capabilities"]["tools"].is_object());

    let pruner = route_with(UpstreamKind::Builtin(Builtin::Pruner), |up| {
        up.mask = Mask::default();
    })
    .await;
    let list = pruner.ask("up", "tools/list", json!({})).await;
    assert_eq!(list["result"]["tools"][0]["name"], "prune_text");
    let health = pruner
        .ask("up", "tools/call", json!({ "name": "health" }))
        .await;
    assert_eq!(health["result"]["structuredContent"]["status"], "healthy");
    let unknown = pruner.ask("up", "no/such", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601);
}

#[tokio::test]
async fn progress_token_is_replaced_and_params_are_unchanged() {
    let installed = script().install();
    let route = route_with(stdio(&installed), |up| up.mask = Mask::Off).await;
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{ "n":1.0,"_meta":{"progressToken":"mine","x":2} }}"#;
    assert_eq!(route.post("up", request).await.status, 200);
    let received = installed.received_with(r#""echo""#).await;
    let kept = r#""params":{ "n":1.0,"_meta":{"progressToken":"#;
    assert!(received.contains(kept), "{received}");
    assert!(received.contains(r#","x":2} }"#), "{received}");
    assert!(!received.contains("mine"), "{received}");
    let twice = r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{"_meta":{"progressToken":1,"progressToken":2}}}"#;
    let refusal = route.post("up", twice).await.refusal();
    assert_eq!(refusal, r#"400 -32602 "invalid_params" 1"#);
}

#[tokio::test]
async fn invalid_requests_are_rejected() {
    let route = route(UpstreamKind::Builtin(Builtin::Demo)).await;
    for (body, id) in [
        (r#"{"not":"json-rpc"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":7}"#, "7"),
        (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, "7"),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":5}"#,
            "7",
        ),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "null"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, "null"),
    ] {
        let refusal = route.post("up", body).await.refusal();
        assert_eq!(
            refusal,
            format!(r#"400 -32600 "invalid_request" {id}"#),
            "{body}"
        );
    }
    // Only the required members are checked.
    let reply = route.post("up", r#"{"id":7,"method":"ping"}"#).await;
    assert_eq!(reply.text(), r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
}

#[tokio::test]
async fn requests_with_the_same_id_stay_separate() {
    let route = route_with(UpstreamKind::Builtin(Builtin::Demo), |up| {
        up.mask = Mask::Off;
    })
    .await;
    let ask = |text: &'static str| {
        let params = json!({ "name": "echo", "arguments": { "text": text } });
        route.ask("up", "tools/call", params)
    };
    let (one, two, three) = tokio::join!(ask("one"), ask("two"), ask("three"));
    let text = |answer: &Value| answer["result"]["content"][0]["text"].clone();
    assert_eq!(
        [text(&one), text(&two), text(&three)],
        ["one", "two", "three"]
    );
}

#[tokio::test]
async fn cancel_notification_affects_no_other_request() {
    let installed = script().install();
    let route = route(stdio(&installed)).await;
    let slow = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}"#;
    let waiting = route.client("up").begin(slow).await;
    installed.reached("slow").await;
    // The request ids on the link are independent small numbers.
    for id in 0..20 {
        let notice = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": id } });
        assert_eq!(route.post("up", &notice.to_string()).await.status, 202);
    }
    assert_eq!(
        route.ask("up", "ping", json!({})).await["result"],
        json!({})
    );
    assert_eq!(installed.count_received("notifications/cancelled"), 0);
    // A client that disconnects cancels its request.
    drop(waiting);
    let cancelled = installed.received_with("notifications/cancelled").await;
    assert!(cancelled.contains("cancelled by the client"), "{cancelled}");
}

#[tokio::test]
async fn missing_response_times_out_and_cancels() {
    let installed = script().install();
    let route = route_with(stdio(&installed), |up| {
        up.rpc_timeout = Duration::from_secs(2);
    })
    .await;
    let slow = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow"}}"#;
    let reply = route.post("up", slow).await;
    assert_eq!(reply.refusal(), r#"504 -32013 "upstream_timeout" 7"#);
    let cancelled = installed.received_with("notifications/cancelled").await;
    assert!(cancelled.contains("timeout"), "{cancelled}");
}

#[tokio::test]
async fn down_server_is_unreachable() {
    let kind = UpstreamKind::Stdio(StdioSettings {
        command: "no-such-program-anywhere".into(),
        args: Vec::new(),
        env: Vec::new(),
        cwd: None,
        framing: Framing::Newline,
    });
    let mut up = ServerSettings::new("up", kind);
    up.mask = Mask::default();
    let demo = ServerSettings::new("demo", UpstreamKind::Builtin(Builtin::Demo));
    let route = ForwardRoute::start(Settings {
        upstreams: vec![up, demo],
        ..knowing([])
    })
    .await;
    for body in [PING, r#"{"jsonrpc":"2.0","id":7,"method":"initialize"}"#] {
        let reply = route.post("up", body).await;
        assert_eq!(reply.refusal(), r#"502 -32012 "upstream_unreachable" 7"#);
    }
    assert_eq!(route.post("demo", PING).await.status, 200);
}

#[tokio::test]
async fn log_level_is_not_forwarded() {
    let installed = script().install();
    let route = route(stdio(&installed)).await;
    let level = route
        .ask("up", "logging/setLevel", json!({ "level": "error" }))
        .await;
    assert_eq!(level["result"], json!({}));
    assert_eq!(installed.count_received("logging/setLevel"), 0);
}
