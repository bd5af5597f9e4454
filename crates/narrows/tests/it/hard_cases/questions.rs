//! Tests of requests from servers to clients: which client receives them, under which id, and where
//! the response goes.

use narrows_testkit::processes;
use narrows_testkit::scripted::{Script, Step};
use serde_json::{Value, json};

use crate::gateway::{Gateway, Session, StdioGateway, config, error, text};

const REVISION: &str = "2025-06-18";

/// A server that requests the roots of its caller and returns the response.
fn asking() -> Script {
    let script = Script::new("asker").plain_tool("where").plain_tool("wait");
    script
        .on_tool("where", [Step::ask("roots/list", "{}"), Step::ReplyAnswers])
        .on_tool("wait", [Step::Wait("go".into()), Step::text("done")])
}

fn roots(uri: &str) -> Value {
    json!({ "roots": [{ "uri": uri }] })
}

/// Answers the request that arrives on the call's stream. Returns its id and the text of the call's
/// result.
async fn ask_and_answer(session: &mut Session, tool: &str, uri: &str) -> (String, String) {
    let mut events = session.stream("tools/call", json!({ "name": tool })).await;
    let question = events.message().await;
    assert_eq!(question["method"], "roots/list", "{question}");
    session.answer(&question, roots(uri)).await;
    let answer = events.message().await;
    let id = question["id"].as_str().expect("a text").to_owned();
    (id, text(&answer).to_owned())
}

/// Two clients use the same server at the same time, with the same request ids.
async fn check_two_clients(config: &Value) {
    let gateway = Gateway::serve(config).await;
    let mut sessions = Vec::new();
    for uri in ["file:///one", "file:///two"] {
        let able = json!({ "roots": { "listChanged": true } });
        let mut session = gateway.session_with("/mcp", REVISION, able).await;
        let call = json!({ "name": "asker__where" });
        let mut events = session.stream("tools/call", call).await;
        let question = events.message().await;
        sessions.push((uri, session, events, question));
    }
    // Both requests arrive before either is answered.
    for (uri, session, events, question) in sessions.iter_mut().rev() {
        assert_eq!(question["id"], "asker:1", "{question}");
        assert_eq!(question["method"], "roots/list");
        // A response to an unknown request is ignored.
        session
            .answer(&json!({ "id": "asker:99" }), json!({}))
            .await;
        session.answer(question, roots(uri)).await;
        // A second response is ignored.
        session.answer(question, roots("file:///other")).await;
        let answer = events.message().await;
        assert_eq!(answer["id"], 1);
        assert_eq!(text(&answer), json!([roots(uri)]).to_string());
    }
    let (_, session, ..) = &mut sessions[0];
    let (id, said) = ask_and_answer(session, "asker__where", "file:///new").await;
    assert_eq!(
        (id.as_str(), said),
        ("asker:2", json!([roots("file:///new")]).to_string())
    );
}

#[tokio::test]
async fn clients_with_roots_get_separate_links() {
    let server = asking().install();
    check_two_clients(&config([("asker", server.config())])).await;
    // One link for the catalogue, and one for each client.
    assert_eq!(server.server_pids().len(), 3);
    let hello = server.received_with("raw-client-through-proxy").await;
    let hello: Value = serde_json::from_str(&hello).expect("JSON");
    let capabilities = json!({ "roots": { "listChanged": true } });
    assert_eq!(hello["params"]["capabilities"], capabilities);
    assert_eq!(server.count_received("narrows-through-proxy"), 1);
}

#[tokio::test]
async fn clients_with_roots_get_separate_links_over_http() {
    let server = asking().install();
    let served = server.serve_http().await;
    check_two_clients(&config([("asker", served.config())])).await;
}

/// Checks the error that a server receives if the client cannot answer its request.
async fn check_refused(config: &Value, expected: &str) {
    let gateway = Gateway::serve(config).await;
    let mut session = gateway.session("/mcp").await;
    let answer = session.call_tool("asker__where", json!({})).await;
    let answers: Value = serde_json::from_str(text(&answer)).expect("JSON");
    let error = &answers[0]["error"];
    let heard = format!("{} {}", error["code"], error["message"]);
    assert_eq!(heard, expected);
}

#[tokio::test]
async fn server_request_to_a_client_without_support_fails() {
    let unable = "-32601 \"The client behind the gateway does not support this request\"";
    let server = asking().install();
    check_refused(&config([("asker", server.config())]), unable).await;
    let served = server.serve_http().await;
    check_refused(&config([("asker", served.config())]), unable).await;
    // The same over a link of the session's own.
    let mut own = server.config();
    own["sharing"] = json!("session");
    check_refused(&config([("asker", own)]), unable).await;
}

/// A client receives only requests that match its declared capabilities.
#[tokio::test]
async fn client_receives_only_requests_it_declared() {
    let server = asking().install();
    let config = config([("asker", server.config())]);
    let mut client = StdioGateway::start(&config);
    client.initialize(REVISION, json!({ "sampling": {} })).await;
    let answer = client.call_tool("asker__where", json!({})).await;
    assert!(text(&answer).contains("-32601"), "{answer}");
    assert!(client.aside().next().is_none());
}

/// If sharing is forced, a request has a clear recipient only while a single client has a call in
/// flight.
#[tokio::test]
async fn ambiguous_server_request_is_rejected() {
    let server = asking().install();
    let mut forced = server.config();
    forced["sharing"] = json!("shared");
    let gateway = Gateway::serve(&config([("asker", forced)])).await;
    let able = || json!({ "roots": {} });
    let mut one = gateway.session_with("/mcp", REVISION, able()).await;
    let mut two = gateway.session_with("/mcp", REVISION, able()).await;
    let (id, said) = ask_and_answer(&mut one, "asker__where", "file:///one").await;
    assert_eq!(id, "asker:1");
    assert_eq!(said, json!([roots("file:///one")]).to_string());
    let mut held = two.begin_tool("asker__wait", json!({})).await;
    server.received_with(r#""wait""#).await;
    let answer = one.call_tool("asker__where", json!({})).await;
    assert!(
        text(&answer).contains("cannot tell which client"),
        "{answer}"
    );
    server.release("go");
    assert_eq!(text(&held.read_response().await.message()), "done");
    assert_eq!(server.server_pids().len(), 1);
}

/// The server receives its own ids unchanged, whatever their type, and errors of clients pass.
#[tokio::test]
async fn server_receives_responses_under_its_own_ids() {
    let ids = ["7", "-1.50", "12345678901234567890123", r#""a\/\u0062""#];
    let ask = |id: &str| {
        let params = r#"{"_meta":{"progressToken":"p"},"message":"\u00e9","x":1.0}"#;
        Step::Say(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{params}}}"#
        ))
    };
    let steps = ids.map(ask).into_iter().chain([Step::Wait("go".into())]);
    let server = Script::new("asker").plain_tool("odd");
    let server = server.on_tool("odd", steps).install();
    let mut client = StdioGateway::start(&config([("asker", server.config())]));
    client
        .initialize(REVISION, json!({ "elicitation": {} }))
        .await;
    let call = client
        .request("tools/call", json!({ "name": "asker__odd" }))
        .await;
    for (number, id) in ids.iter().enumerate() {
        let question = client.next_text().await.expect("a question");
        let own = format!("asker:{}", number + 1);
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":"{own}","method":"elicitation/create","params":{{"_meta":{{"progressToken":"{own}"}},"message":"\u00e9","x":1.0}}}}"#
        );
        assert_eq!(question, expected);
        client
            .notify(
                "notifications/progress",
                json!({ "progressToken": own, "progress": 1 }),
            )
            .await;
        let body = [
            r#""result":{"n":1.0,"n":2}"#,
            r#""error":{"code":-1,"message":"\/","data":1e9}"#,
        ][number % 2];
        client
            .send_text(&format!(r#"{{"jsonrpc":"2.0","id":"{own}",{body}}}"#))
            .await;
        server
            .received_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},{body}}}"#))
            .await;
    }
    server
        .received_with(r#""params":{"progressToken":"p","progress":1}"#)
        .await;
    server.release("go");
    let answer = client.answer_to(call).await;
    assert_eq!(text(&answer), r#"asker called "odd" with null"#);
}

#[tokio::test]
async fn cancelled_server_request_is_withdrawn() {
    let question = r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#;
    let cancelled = Step::notify("notifications/cancelled", r#"{"requestId":5}"#);
    let server = Script::new("asker").plain_tool("fickle");
    let steps = [
        Step::Say(question.into()),
        cancelled,
        Step::text("never mind"),
    ];
    let server = server.on_tool("fickle", steps).install();
    let mut client = StdioGateway::start(&config([("asker", server.config())]));
    client.initialize(REVISION, json!({ "roots": {} })).await;
    let call = client
        .request("tools/call", json!({ "name": "asker__fickle" }))
        .await;
    assert_eq!(client.next().await["id"], "asker:1");
    let notice = client.next().await;
    assert_eq!(notice["method"], "notifications/cancelled", "{notice}");
    assert_eq!(notice["params"]["requestId"], "asker:1");
    // Too late, so the response is ignored.
    client
        .send(&json!({ "jsonrpc": "2.0", "id": "asker:1", "result": {} }))
        .await;
    assert_eq!(text(&client.answer_to(call).await), "never mind");
    client.call("ping", json!({})).await;
    assert_eq!(server.count_received(r#""id":5,"#), 0);
}

/// A request outside any call goes to the client that owns the link.
#[tokio::test]
async fn server_request_outside_calls_goes_to_the_link_owner() {
    let server = asking().after_initialized([Step::ask("roots/list", "{}")]);
    let server = server.install();
    let mut client = StdioGateway::start(&config([("asker", server.config())]));
    client.initialize(REVISION, json!({ "roots": {} })).await;
    let question = client.message("roots/list").await;
    assert_eq!(question["id"], "asker:1");
    let mine = roots("file:///mine");
    client
        .send(&json!({ "jsonrpc": "2.0", "id": "asker:1", "result": mine }))
        .await;
    server.received_with("file:///mine").await;
    client
        .notify("notifications/roots/list_changed", json!({}))
        .await;
    server
        .received_with("notifications/roots/list_changed")
        .await;
    // The link opened at start belongs to no client, so its request was refused.
    server.received_with("-32601").await;
    assert_eq!(server.count_received("notifications/roots/list_changed"), 1);
}

/// A server must not wait for a client that has left.
#[tokio::test]
async fn server_request_fails_when_its_client_leaves() {
    let steps = [
        Step::ask("roots/list", "{}"),
        Step::Reach("answered".into()),
        Step::Stall,
    ];
    let script = Script::new("asker")
        .plain_tool("where")
        .on_tool("where", steps);
    let server = script.install();
    let mut forced = server.config();
    forced["sharing"] = json!("shared");
    let gateway = Gateway::serve(&config([("asker", forced)])).await;
    let able = json!({ "roots": {} });
    let mut session = gateway.session_with("/mcp", REVISION, able).await;
    let call = json!({ "name": "asker__where" });
    let mut events = session.stream("tools/call", call).await;
    assert_eq!(events.message().await["id"], "asker:1");
    session.delete().await;
    server.received_with("did not respond").await;
    server.received_with("notifications/cancelled").await;
    server.reached("answered").await;
}

/// Beyond `max_links`, calls fail with a clear error until a session ends and frees its link.
#[tokio::test]
async fn calls_beyond_max_links_are_rejected() {
    let server = asking().install();
    let mut narrow = server.config();
    narrow["max_links"] = json!(1);
    let gateway = Gateway::serve(&config([("asker", narrow)])).await;
    let able = || json!({ "roots": {} });
    let mut one = gateway.session_with("/mcp", REVISION, able()).await;
    ask_and_answer(&mut one, "asker__where", "file:///one").await;
    let mut two = gateway.session_with("/mcp", REVISION, able()).await;
    let answer = two.call_tool("asker__where", json!({})).await;
    let refused = error(&answer);
    assert!(
        refused.starts_with("-32603 too_many_links Server 'asker' has no free link"),
        "{refused}"
    );
    // A client that needs no link of its own is not affected.
    let mut none = gateway.session("/mcp").await;
    let answer = none.call_tool("asker__where", json!({})).await;
    assert!(answer["result"].is_object(), "{answer}");
    let pids = server.server_pids();
    one.delete().await;
    let own = pids.last().copied().expect("the link of the first");
    processes::gone([own]).await;
    let (_, said) = ask_and_answer(&mut two, "asker__where", "file:///two").await;
    assert_eq!(said, json!([roots("file:///two")]).to_string());
}
