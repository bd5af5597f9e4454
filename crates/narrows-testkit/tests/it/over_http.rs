use narrows_testkit::raw::{Http, MCP_HEADERS, Streamable};
use narrows_testkit::scripted::{Script, Step};
use serde_json::{Value, json};

use crate::request;

#[tokio::test]
async fn sessions_are_opened_required_and_closed() {
    let server = Script::new("alpha")
        .plain_tool("a")
        .on_tool("a", [Step::ForgetSessions])
        .install();
    let served = server.serve_http().await;
    let mut client = Http::connect(served.address()).await;
    assert_eq!(
        client
            .post_mcp("/mcp", &[], &request(1, "ping", json!({})))
            .await
            .status,
        400
    );
    let (session, hello) = client.initialize("/mcp", "2025-06-18", json!({})).await;
    assert_eq!(hello["serverInfo"]["name"], "alpha");
    let session = session.expect("a session id");
    let headers = [("mcp-session-id", session.as_str())];
    let answer = client
        .post_mcp("/mcp", &headers, &request(2, "tools/list", json!({})))
        .await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.message()["result"]["tools"][0]["name"], "a");
    assert_eq!(client.delete("/mcp", &headers).await.status, 204);
    assert_eq!(
        client
            .post_mcp("/mcp", &headers, &request(3, "ping", json!({})))
            .await
            .status,
        404
    );
    let recorded: Value = serde_json::from_str(&server.received()[3]).expect("JSON");
    assert_eq!(recorded["headers"]["mcp-session-id"], session);
    assert_eq!(recorded["path"], "/mcp");

    let (session, _) = client.initialize("/mcp", "2025-06-18", json!({})).await;
    let headers = [("mcp-session-id", session.as_deref().expect("a session id"))];
    client
        .post_mcp(
            "/mcp",
            &headers,
            &request(4, "tools/call", json!({ "name": "a" })),
        )
        .await;
    assert_eq!(
        client
            .post_mcp("/mcp", &headers, &request(5, "ping", json!({})))
            .await
            .status,
        404
    );
    served.stop().await;
}

#[tokio::test]
async fn messages_before_a_response_start_a_stream() {
    let steps = [
        Step::notify("notifications/message", r#"{"a":"1\n2"}"#),
        Step::ask("roots/list", "{}"),
        Step::ReplyAnswers,
    ];
    let script = Script::new("alpha").plain_tool("ask").on_tool("ask", steps);
    let server = script.with(|script| script.http.sessions = false).install();
    let served = server.serve_http().await;
    let body = request(1, "tools/call", json!({ "name": "ask" })).to_string();
    let mut events = Http::connect(served.address())
        .await
        .open("POST", "/mcp", MCP_HEADERS, body.as_bytes())
        .await;
    assert_eq!(
        events.head.header("content-type"),
        Some("text/event-stream")
    );
    assert_eq!(events.message().await["method"], "notifications/message");
    let question = events.message().await;
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": 5 });
    let accepted = Http::connect(served.address())
        .await
        .post_mcp("/mcp", &[], &answer)
        .await;
    assert_eq!(accepted.status, 202);
    assert_eq!(
        events.message().await["result"]["content"][0]["text"],
        "[5]"
    );
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn get_receives_messages_outside_calls() {
    let notice = Step::notify("notifications/tools/list_changed", "{}");
    let server = Script::new("alpha").after_initialized([notice]).install();
    let served = server.serve_http().await;
    let (session, _) = Http::connect(served.address())
        .await
        .initialize("/mcp", "2025-03-26", json!({}))
        .await;
    let headers = [
        ("accept", "text/event-stream"),
        ("mcp-session-id", session.as_deref().expect("a session id")),
    ];
    let mut events = Http::connect(served.address())
        .await
        .open("GET", "/mcp", &headers, b"")
        .await;
    assert_eq!(
        events.message().await["method"],
        "notifications/tools/list_changed"
    );
}

#[tokio::test]
async fn http_failures_can_be_scripted() {
    let status = Step::Status {
        code: 503,
        headers: vec![("retry-after".into(), "1".into())],
        body: "busy".into(),
    };
    let script = Script::new("alpha")
        .on("a", [status])
        .on("b", [Step::HangUp])
        .with(|script| {
            script.http.required_header = Some(("authorization".into(), "Bearer x".into()));
            script.http.sessions = false;
            script.http.get = false;
            script.http.always_stream = true;
        });
    let server = script.install();
    let served = server.serve_http().await;
    let mut client = Http::connect(served.address()).await;
    assert_eq!(
        client
            .post_mcp("/mcp", &[], &request(1, "ping", json!({})))
            .await
            .status,
        401
    );
    let headers = [("authorization", "Bearer x")];
    assert_eq!(client.get("/mcp", &headers).await.status, 405);
    let busy = client
        .post_mcp("/mcp", &headers, &request(1, "a", json!({})))
        .await;
    assert_eq!(
        (
            busy.status,
            busy.header("retry-after"),
            busy.text().as_str()
        ),
        (503, Some("1"), "busy")
    );
    let pong = client
        .post_mcp("/mcp", &headers, &request(1, "ping", json!({})))
        .await;
    assert_eq!(pong.header("content-type"), Some("text/event-stream"));
    assert_eq!(pong.message()["result"], json!({}));
    let hung_up = tokio::spawn(async move {
        client
            .post_mcp("/mcp", &headers, &request(2, "b", json!({})))
            .await;
    });
    assert!(hung_up.await.is_err(), "the client finds no answer");
}

#[tokio::test]
async fn client_keeps_its_session_and_headers() {
    let script = Script::new("alpha")
        .plain_tool("busy")
        .on_tool(
            "busy",
            [Step::Status {
                code: 503,
                headers: Vec::new(),
                body: "busy".into(),
            }],
        )
        .with(|script| {
            script.http.required_header = Some(("authorization".into(), "Bearer x".into()));
            script.http.get = false;
            script.http.always_stream = true;
        });
    let server = script.install();
    let served = server.serve_http().await;
    let client = Streamable::at(served.address(), "/mcp");
    let mut client = client.with_header("authorization", "Bearer x");
    client.initialize("2025-06-18", json!({})).await;
    assert_eq!(client.session(), Some("alpha-session-1"));
    client.call("ping", json!({})).await;
    let last = server.received().pop().unwrap_or_default();
    let recorded: Value = serde_json::from_str(&last).expect("JSON");
    assert_eq!(recorded["headers"]["mcp-session-id"], "alpha-session-1");
    assert_eq!(recorded["headers"]["mcp-protocol-version"], "2025-06-18");
    let failed = tokio::spawn(async move { client.call_tool("busy", json!({})).await });
    let failure = failed
        .await
        .expect_err("a status is no answer")
        .into_panic();
    let failure = failure.downcast::<String>().expect("a reason");
    assert!(failure.contains("503"), "{failure}");
}
