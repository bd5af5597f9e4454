//! Clients of MCP 2026-07-28: requests without a session, on the same paths as legacy clients.

use std::time::Duration;

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;
use serde_json::{Value, json};

use crate::client::{Client, Connection, Reply};
use crate::{TestGateway, within};

const VERSION: &str = "2026-07-28";

/// A modern client with its capabilities.
struct ModernClient {
    client: Client,
    capabilities: Value,
    level: Option<&'static str>,
}

impl ModernClient {
    fn new(gateway: &TestGateway) -> ModernClient {
        ModernClient::with(gateway, json!({}))
    }

    fn with(gateway: &TestGateway, capabilities: Value) -> ModernClient {
        ModernClient {
            client: gateway.new_client(),
            capabilities,
            level: None,
        }
    }

    fn body(&self, id: u64, method: &str, mut params: Value) -> String {
        let meta = params["_meta"].take();
        let mut meta = if meta.is_object() { meta } else { json!({}) };
        meta["io.modelcontextprotocol/protocolVersion"] = VERSION.into();
        meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "test", "version": "1" });
        if let Some(level) = self.level {
            meta["io.modelcontextprotocol/logLevel"] = level.into();
        }
        params["_meta"] = meta;
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    }

    async fn begin(&self, id: u64, method: &str, params: Value) -> Connection {
        let name = params["name"].as_str().or(params["uri"].as_str());
        let name = name.unwrap_or_default().to_owned();
        let mut headers = vec![
            ("content-type", "application/json"),
            ("mcp-protocol-version", VERSION),
            ("mcp-method", method),
        ];
        if !name.is_empty() {
            headers.push(("mcp-name", &name));
        }
        let body = self.body(id, method, params);
        self.client.send("POST", &headers, &body).await
    }

    async fn request(&self, id: u64, method: &str, params: Value) -> Reply {
        self.begin(id, method, params).await.reply().await
    }

    /// Calls `hold` of the upstream.
    async fn hold(&self, id: u64, more: Value) -> Connection {
        let mut params = json!({ "name": "up__hold", "arguments": { "a": 1 }, "_meta": { "progressToken": "t" } });
        for (key, value) in more.as_object().into_iter().flatten() {
            params[key] = value.clone();
        }
        self.begin(id, "tools/call", params).await
    }
}

#[tokio::test]
async fn a_request_needs_no_session() {
    let gateway = TestGateway::start().await;
    let client = ModernClient::new(&gateway);
    let reply = client.request(1, "server/discover", json!({})).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("mcp-session-id"), None);
    let result = &reply.json()["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["supportedVersions"][0], VERSION);
    assert_eq!(
        (&result["ttlMs"], &result["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    assert!(result["capabilities"]["tools"].is_object());
    assert!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"].is_string());
    let reply = client.request(2, "tools/list", json!({})).await;
    let result = &reply.json()["result"];
    assert_eq!(result["tools"][0]["name"], "up__echo");
    assert_eq!(
        (&result["ttlMs"], &result["resultType"]),
        (&json!(0), &json!("complete"))
    );
    let call = json!({ "name": "up__echo", "arguments": { "x": 1 } });
    let reply = client.request(2, "tools/call", call).await;
    let result = &reply.json()["result"];
    assert_eq!(result["content"][0]["text"], r#"{"x":1}"#);
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["ttlMs"], Value::Null);
    // Both eras at the same endpoint.
    let legacy = gateway.client().await;
    assert_eq!(legacy.call("7", "echo").await.reply().await.status, 200);
    // A session id is ignored.
    let mut both = ModernClient::new(&gateway);
    both.client.session = Some("unknown".into());
    assert_eq!(both.request(1, "tools/list", json!({})).await.status, 200);
}

#[tokio::test]
async fn many_clients_use_the_same_ids_at_once() {
    let mut gateway = TestGateway::start().await;
    let client = ModernClient::new(&gateway);
    let mut first = client.hold(1, json!({})).await;
    let mut second = client.hold(1, json!({})).await;
    let (one, two) = (gateway.upstream.held().await, gateway.upstream.held().await);
    one.answer("done").await;
    two.answer("done").await;
    for call in [&mut first, &mut second] {
        let answer = call.reply().await.json();
        assert_eq!(answer["id"], 1);
        assert_eq!(answer["result"]["content"][0]["text"], "done");
    }
    // All of it took one session.
    assert_eq!(gateway.gateway.sessions().len(), 1);
}

#[tokio::test]
async fn refusals_have_the_codes_of_the_specification() {
    let gateway = TestGateway::start().await;
    let client = ModernClient::new(&gateway);
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "un/known",
    ] {
        let reply = client.request(5, method, json!({})).await;
        assert_eq!(
            reply.refusal(),
            "404 -32601 \"unknown_method\" 5",
            "{method}"
        );
    }
    let post = async |headers: &[(&str, &str)], body: &str| {
        let mut all = vec![("content-type", "application/json")];
        all.extend(headers);
        let mut sent = client.client.send("POST", &all, body).await;
        sent.reply().await
    };
    let version = ("mcp-protocol-version", VERSION);
    let bare = r#"{"jsonrpc":"2.0","id":6,"method":"tools/list","params":{}}"#;
    let list = ("mcp-method", "tools/list");
    assert_eq!(
        post(&[version, list], bare).await.refusal(),
        "400 -32602 \"invalid_params\" 6"
    );
    let body = client.body(6, "tools/list", json!({}));
    for headers in [
        &[version][..],
        &[list],
        &[version, ("mcp-method", "prompts/list")],
    ] {
        let refusal = post(headers, &body).await.refusal();
        assert_eq!(refusal, "400 -32020 \"header_mismatch\" 6", "{headers:?}");
    }
    let body = body.replace(VERSION, "2031-01-01");
    let reply = post(&[("mcp-protocol-version", "2031-01-01"), list], &body).await;
    assert_eq!(
        reply.refusal(),
        "400 -32022 \"unsupported_protocol_version\" 6"
    );
    let data = &reply.json()["error"]["data"];
    assert_eq!(
        (&data["supported"][0], &data["requested"]),
        (&json!(VERSION), &json!("2031-01-01"))
    );
    for method in ["GET", "DELETE"] {
        let mut sent = client.client.send(method, &[version], "").await;
        let reply = sent.reply().await;
        assert_eq!(
            (reply.status, reply.header("allow")),
            (405, Some("POST, OPTIONS")),
            "{method}"
        );
    }
    let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    assert_eq!(post(&[version], note).await.status, 202);
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert_eq!(post(&[version], answer).await.status, 400);
    assert_eq!(post(&[version], "[]").await.status, 400);
    let elsewhere = ModernClient {
        client: gateway.new_client().at("/mcp/nowhere"),
        ..ModernClient::new(&gateway)
    };
    let reply = elsewhere.request(5, "tools/list", json!({})).await;
    assert_eq!(reply.refusal(), "404 -32600 \"unknown_endpoint\" 5");
}

#[tokio::test]
async fn notifications_make_the_response_a_stream_without_ids() {
    let mut gateway = TestGateway::start().await;
    let client = ModernClient::new(&gateway);
    let mut call = client.hold(3, json!({})).await;
    let mut held = gateway.upstream.held().await;
    held.progress(1).await;
    let (id, message) = call.message().await;
    assert_eq!(id, "");
    assert_eq!(message["method"], "notifications/progress");
    assert_eq!(message["params"]["progressToken"], "t");
    held.answer("done").await;
    let (_, message) = call.message().await;
    assert_eq!(
        (&message["id"], &message["result"]["resultType"]),
        (&json!(3), &json!("complete"))
    );
    assert!(call.event().await.is_none());
}

#[tokio::test]
async fn log_messages_come_only_at_the_level_of_the_request() {
    let mut gateway = TestGateway::start().await;
    let mut client = ModernClient::new(&gateway);
    for (level, seen) in [
        (None, None),
        (Some("warning"), Some("error")),
        (Some("debug"), Some("info")),
    ] {
        client.level = level;
        let mut call = client.hold(3, json!({})).await;
        let mut held = gateway.upstream.held().await;
        held.log("info").await;
        held.log("error").await;
        held.progress(1).await;
        let (_, message) = call.message().await;
        match seen {
            Some(seen) => assert_eq!(message["params"]["level"], seen, "{level:?}"),
            None => assert_eq!(message["method"], "notifications/progress"),
        }
        held.answer("done").await;
        while call.event().await.is_some() {}
    }
    client.level = Some("loud");
    let call = json!({ "name": "up__echo", "arguments": {} });
    let reply = client.request(4, "tools/call", call).await;
    assert_eq!(reply.refusal(), "200 -32602 \"invalid_params\" 4");
}

#[tokio::test]
async fn a_disconnect_cancels_the_call() {
    let mut gateway = TestGateway::start().await;
    let client = ModernClient::new(&gateway);
    // Before the response has a format, and as a stream.
    for with_progress in [false, true] {
        let mut call = client.hold(1, json!({})).await;
        let mut held = gateway.upstream.held().await;
        if with_progress {
            held.progress(1).await;
            call.message().await;
        }
        drop(call);
        let method = json!("notifications/cancelled");
        let cancelled = gateway.upstream.received("method", &method).await;
        assert_eq!(cancelled["params"]["requestId"], held.id);
    }
}

fn asked(reply: &Reply) -> (String, Value) {
    let answer = reply.json();
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    let requests = result["inputRequests"].as_object().expect("requests");
    let (key, request) = requests.iter().next().expect("a request");
    assert_eq!(request["method"], "elicitation/create");
    let state = result["requestState"].as_str().expect("a state");
    assert!(result["_meta"]["io.modelcontextprotocol/serverInfo"].is_object());
    (
        state.to_owned(),
        json!({ key: { "action": "accept", "content": {} } }),
    )
}

fn elicitation() -> Value {
    json!({ "elicitation": {} })
}

#[tokio::test]
async fn a_question_ends_the_request_and_another_continues_it() {
    let mut gateway = TestGateway::start().await;
    let client = ModernClient::with(&gateway, elicitation());
    let mut call = client.hold(1, json!({})).await;
    let mut held = gateway.upstream.held().await;
    held.ask("q1").await;
    let (state, answers) = asked(&call.reply().await);
    let retry = json!({ "requestState": state, "inputResponses": answers });
    let mut call = client.hold(2, retry.clone()).await;
    let answer = gateway.upstream.received("id", &json!("q1")).await;
    assert_eq!(answer["result"]["action"], "accept");
    // A second round of the same call.
    held.ask("q2").await;
    let (second, answers) = asked(&call.reply().await);
    assert_ne!(second, state);
    // The first state is used up.
    let refusal = client.hold(3, retry).await.reply().await;
    assert_eq!(refusal.refusal(), "200 -32602 \"invalid_params\" 3");
    // Without the answer, the question is asked again.
    let mut call = client.hold(4, json!({ "requestState": second })).await;
    let (third, _) = asked(&call.reply().await);
    let retry = json!({ "requestState": third, "inputResponses": answers });
    let mut call = client.hold(5, retry).await;
    gateway.upstream.received("id", &json!("q2")).await;
    held.progress(1).await;
    assert_eq!(call.message().await.1["method"], "notifications/progress");
    held.answer("done").await;
    let (_, message) = call.message().await;
    assert_eq!(message["id"], 5);
    assert_eq!(message["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn questions_are_gathered() {
    let mut gateway = TestGateway::start().await;
    let client = ModernClient::with(&gateway, elicitation());
    let mut call = client.hold(1, json!({})).await;
    let mut held = gateway.upstream.held().await;
    held.ask("q1").await;
    held.ask("q2").await;
    let answer = call.reply().await.json();
    let requests = answer["result"]["inputRequests"]
        .as_object()
        .expect("requests");
    assert_eq!(requests.len(), 2, "{answer}");
}

#[tokio::test]
async fn a_state_is_bound_to_its_request() {
    let mut gateway = TestGateway::start().await;
    let client = ModernClient::with(&gateway, elicitation());
    let mut call = client.hold(1, json!({})).await;
    let mut held = gateway.upstream.held().await;
    held.ask("q1").await;
    let (state, answers) = asked(&call.reply().await);
    let tampered = json!({ "requestState": format!("{state}-X"), "inputResponses": answers });
    let other =
        json!({ "requestState": state, "arguments": { "a": 2 }, "inputResponses": answers });
    let number = json!({ "requestState": 7 });
    for (id, wrong) in [(2, tampered), (3, other), (4, number)] {
        let reply = client.hold(id, wrong).await.reply().await;
        assert_eq!(
            reply.refusal(),
            format!("200 -32602 \"invalid_params\" {id}")
        );
    }
    // At another endpoint it is the state of another client.
    let elsewhere = ModernClient {
        client: gateway.new_client().at("/servers/up/mcp"),
        capabilities: elicitation(),
        level: None,
    };
    let retry = json!({ "requestState": state, "inputResponses": answers });
    let reply = elsewhere.hold(5, retry.clone()).await.reply().await;
    assert_eq!(reply.refusal(), "200 -32602 \"invalid_params\" 5");
    // None of these used it up.
    let mut call = client.hold(6, retry).await;
    gateway.upstream.received("id", &json!("q1")).await;
    held.answer("done").await;
    assert_eq!(
        call.reply().await.json()["result"]["content"][0]["text"],
        "done"
    );
}

#[tokio::test]
async fn a_server_that_ends_a_parked_call_is_heard_at_the_retry() {
    let mut gateway = TestGateway::start().await;
    let client = ModernClient::with(&gateway, elicitation());
    let mut call = client.hold(1, json!({})).await;
    let mut held = gateway.upstream.held().await;
    held.ask("q1").await;
    let (state, answers) = asked(&call.reply().await);
    held.answer("without an answer").await;
    let retry = json!({ "requestState": state, "inputResponses": answers });
    let reply = client.hold(2, retry).await.reply().await;
    assert_eq!(
        reply.json()["result"]["content"][0]["text"],
        "without an answer"
    );
}

#[tokio::test]
async fn a_client_without_the_capability_gets_an_error() {
    let mut gateway = TestGateway::start().await;
    for capabilities in [json!({}), json!({ "roots": {} })] {
        let client = ModernClient::with(&gateway, capabilities);
        let mut call = client.hold(1, json!({})).await;
        let mut held = gateway.upstream.held().await;
        held.ask("q1").await;
        let reply = call.reply().await;
        assert_eq!(reply.refusal(), "400 -32021 \"missing_capability\" 1");
        let required = &reply.json()["error"]["data"]["requiredCapabilities"];
        assert_eq!(*required, elicitation());
        let method = json!("notifications/cancelled");
        let cancelled = gateway.upstream.received("method", &method).await;
        assert_eq!(cancelled["params"]["requestId"], held.id);
    }
}

#[tokio::test]
async fn a_thousand_abandoned_calls_are_given_up() {
    let mut gateway = TestGateway::start().await;
    let client = ModernClient::with(&gateway, elicitation());
    let mut held_calls = Vec::new();
    for id in 0..1_000 {
        let mut call = client.hold(id, json!({})).await;
        let mut held = gateway.upstream.held().await;
        held.ask(&format!("q{id}")).await;
        asked(&call.reply().await);
        held_calls.push(held);
    }
    // The places of one client are limited; the servers of the others are released.
    assert!(gateway.gateway.sessions().len() <= 3);
    let method = json!("notifications/cancelled");
    for _ in 0..800 {
        gateway.upstream.received("method", &method).await;
    }
}

#[tokio::test]
async fn a_listener_gets_what_it_asked_for() {
    let mut gateway = TestGateway::start().await;
    let client = ModernClient::new(&gateway);
    let filter =
        json!({ "notifications": { "toolsListChanged": true, "promptsListChanged": false } });
    let mut stream = client.begin(9, "subscriptions/listen", filter).await;
    let (_, message) = stream.message().await;
    assert_eq!(
        message["method"],
        "notifications/subscriptions/acknowledged"
    );
    assert_eq!(
        message["params"]["notifications"],
        json!({ "toolsListChanged": true })
    );
    assert_eq!(
        message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        9
    );
    let others = json!({ "notifications": { "promptsListChanged": true } });
    let mut other = client.begin(9, "subscriptions/listen", others).await;
    other.message().await;
    let mut call = client.hold(1, json!({})).await;
    let mut held = gateway.upstream.held().await;
    gateway.upstream.add_tool(&mut held).await;
    let (_, message) = stream.message().await;
    assert_eq!(message["method"], "notifications/tools/list_changed");
    assert_eq!(
        message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        9
    );
    held.answer("done").await;
    assert_eq!(call.reply().await.status, 200);
    // The shutdown ends both streams with a result; the other one saw nothing before.
    gateway.stop.cancel();
    for stream in [&mut stream, &mut other] {
        let (_, message) = stream.message().await;
        assert_eq!(
            (&message["id"], &message["result"]["resultType"]),
            (&json!(9), &json!("complete"))
        );
        assert_eq!(
            message["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
            9
        );
        assert!(stream.event().await.is_none());
    }
    within("the edge to end", gateway.served).await.unwrap();
}

#[tokio::test]
async fn a_listener_ends_with_its_connection_and_hears_comments() {
    let http = HttpSettings {
        keep_alive: Duration::from_millis(50),
        ..HttpSettings::default()
    };
    let gateway = TestGateway::with(http, Limits::default()).await;
    let client = ModernClient::new(&gateway);
    let reply = client.request(9, "subscriptions/listen", json!({})).await;
    assert_eq!(reply.refusal(), "200 -32602 \"invalid_params\" 9");
    let filter = json!({ "notifications": {} });
    let mut stream = client.begin(9, "subscriptions/listen", filter).await;
    stream.message().await;
    assert!(stream.any_event().await.is_some_and(|event| event.comment));
    assert_eq!(gateway.gateway.sessions().len(), 1);
    drop(stream);
    let ended = async {
        while !gateway.gateway.sessions().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    within("the session to end", ended).await;
}

#[tokio::test]
async fn sessions_make_room_for_other_clients() {
    let limits = Limits {
        max_sessions: 2,
        ..Limits::default()
    };
    let gateway = TestGateway::with(HttpSettings::default(), limits).await;
    for n in 0..10 {
        let client =
            ModernClient::with(&gateway, json!({ "experimental": { format!("c{n}"): {} } }));
        let call = json!({ "name": "up__echo", "arguments": {} });
        let reply = client.request(1, "tools/call", call).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
    assert!(gateway.gateway.sessions().len() <= 2);
}
