use narrows_testkit::raw::{Http, Sse};
use narrows_testkit::scripted::{Endpoint, LineEnd, Script, SseOptions, Step};
use serde_json::{Value, json};

use crate::{request, text};

fn status(code: u16) -> Step {
    Step::Status {
        code,
        headers: vec![("retry-after".into(), "1".into())],
        body: "busy".into(),
    }
}

#[tokio::test]
async fn posts_are_accepted_and_answered_on_the_stream() {
    let slow = [
        Step::Reach("in".into()),
        Step::Wait("go".into()),
        Step::text("late"),
    ];
    let server = Script::new("alpha")
        .at_start([Step::notify("notifications/message", r#"{"data":"hi"}"#)])
        .plain_tool("slow")
        .on_tool("slow", slow)
        .install();
    let served = server.serve_http().await;
    let mut client = Sse::connect(served.address(), "/sse").await;
    let endpoint = "/messages?session_id=alpha-stream-1";
    assert_eq!(client.endpoint(), endpoint);
    assert_eq!(
        client.message("notifications/message").await["params"]["data"],
        "hi"
    );
    // Accepted at once, independently of the duration of the call.
    let call = request(1, "tools/call", json!({ "name": "slow" })).to_string();
    let accepted = client.post(&call).await;
    assert_eq!((accepted.status, &*accepted.text()), (202, "Accepted"));
    server.reached("in").await;
    server.release("go");
    let event = client.next_event().await.expect("an answer");
    assert_eq!(event.event.as_deref(), Some("message"));
    assert_eq!(text(&event.json()), "late");

    let recorded: Value = serde_json::from_str(&server.received()[1]).expect("JSON");
    let query = &recorded["query"];
    assert_eq!(
        (&recorded["method"], query),
        (&json!("POST"), &json!("session_id=alpha-stream-1"))
    );
    assert_eq!(
        (&recorded["path"], &recorded["body"]),
        (&json!("/messages"), &json!(call))
    );

    // A second stream is a separate session with the same start.
    let mut second = Sse::connect(served.address(), "/sse").await;
    assert_eq!(second.endpoint(), "/messages?session_id=alpha-stream-2");
    second.message("notifications/message").await;
    drop(client);
    server.received_with(r#"{"sse":"lost"}"#).await;
    let mut http = Http::connect(served.address()).await;
    let gone = http
        .post_mcp(endpoint, &[], &request(2, "ping", json!({})))
        .await;
    assert_eq!(gone.status, 404);
    assert_eq!(second.call("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn endpoint_event_supports_any_format() {
    let server = |endpoint| Script::new("alpha").with(|script| script.sse.endpoint = endpoint);
    let text = Endpoint::Text("/messages?session_id={id}".into());
    for endpoint in [Endpoint::Path, Endpoint::Relative, Endpoint::Url, text] {
        let name = format!("{endpoint:?}");
        let server = server(endpoint.clone()).install();
        let served = server.serve_http().await;
        let mut client = Sse::connect(served.address(), "/sse").await;
        let expected = match endpoint {
            Endpoint::Relative => String::new(),
            Endpoint::Url => format!("http://{}/", served.address()),
            Endpoint::Path | Endpoint::Text(_) => "/".into(),
        } + "messages?session_id=alpha-stream-1";
        assert_eq!(client.endpoint(), expected, "{name}");
        let pong = client.call("ping", json!({})).await;
        assert_eq!(pong["result"], json!({}), "{name}");
    }
    let elsewhere = Endpoint::Text("http://elsewhere.example/m?{id}".into());
    let server = server(elsewhere).install();
    let served = server.serve_http().await;
    let http = Http::connect(served.address()).await;
    let mut events = http.open("GET", "/sse", &[], b"").await;
    let first = events.next().await.expect("an endpoint");
    assert_eq!(first.data, "http://elsewhere.example/m?alpha-stream-1");
}

/// Checks the bytes of a stream: the endpoint event, and a message before the connection breaks.
async fn check_form(options: SseOptions, expected: &str) {
    let message = r#"{"a":"x,\",y","b":[1.0,{}]}"#;
    let server = Script::new("alpha")
        .at_start([Step::Say(message.into()), Step::HangUp])
        .with(|script| script.sse = options)
        .install();
    let served = server.serve_http().await;
    let mut http = Http::connect(served.address()).await;
    let stream = http.get("/sse", &[]).await;
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    assert_eq!(stream.text(), expected);
}

#[tokio::test]
async fn events_support_any_format() {
    let options = SseOptions::default();
    let plain = concat!(
        "event: endpoint\ndata: /messages?session_id=alpha-stream-1\n\n",
        "event: message\ndata: {\"a\":\"x,\\\",y\",\"b\":[1.0,{}]}\n\n",
    );
    check_form(options.clone(), plain).await;
    for (line_end, end) in [(LineEnd::Cr, "\r"), (LineEnd::CrLf, "\r\n")] {
        let options = SseOptions {
            line_end,
            ..options.clone()
        };
        check_form(options, &plain.replace('\n', end)).await;
    }
    let piecemeal = SseOptions {
        piece: 1,
        ..options.clone()
    };
    check_form(piecemeal, plain).await;
    let commented = SseOptions {
        comments: true,
        ..options.clone()
    };
    let expected = plain
        .replace("event:", ": before\n\nevent:")
        .replace("\ndata:", "\n:inside\ndata:");
    check_form(commented, &expected).await;
    let split = SseOptions {
        split_data: true,
        ..options
    };
    let expected = plain
        .replace("\",\"b\"", "\",\ndata: \"b\"")
        .replace("1.0,", "1.0,\ndata: ");
    check_form(split, &expected).await;
}

#[tokio::test]
async fn all_formats_can_be_combined() {
    for line_end in [LineEnd::Lf, LineEnd::Cr, LineEnd::CrLf] {
        let options = SseOptions {
            line_end,
            comments: true,
            split_data: true,
            piece: 3,
            ..SseOptions::default()
        };
        let server = Script::new("alpha")
            .plain_tool("a")
            .with(|script| script.sse = options)
            .install();
        let served = server.serve_http().await;
        let mut client = Sse::connect(served.address(), "/sse").await;
        client.initialize("2024-11-05", json!({})).await;
        let answer = client.call_tool("a", json!({ "x": ["ä,", 1] })).await;
        assert_eq!(text(&answer), r#"alpha called "a" with {"x":["ä,",1]}"#);
    }
}

#[tokio::test]
async fn older_transport_is_detected_at_the_newer_path() {
    for code in [405, 404] {
        let server = Script::new("alpha")
            .with(|script| script.sse.at_mcp = Some(code))
            .install();
        let served = server.serve_http().await;
        let mut http = Http::connect(served.address()).await;
        let hello = request(1, "initialize", json!({}));
        assert_eq!(http.post_mcp("/mcp", &[], &hello).await.status, code);
        let mut client = Sse::connect(served.address(), "/mcp").await;
        client.initialize("2024-11-05", json!({})).await;
    }
}

#[tokio::test]
async fn post_and_stream_failures_can_be_scripted() {
    let notice = || Step::notify("notifications/message", "{}");
    let server = Script::new("alpha")
        .on("status", [status(503)])
        .on("once", [Step::Once("first".into(), vec![status(500)])])
        .on("noisy", [notice(), notice(), status(503)])
        .on("forget", [Step::ForgetSessions, Step::reply("{}")])
        .on("bytes", [Step::Bytes(b": odd\n\nid: 7\n\n".into())])
        .on("hang", [notice(), Step::HangUp])
        .with(|script| {
            script.http.required_header = Some(("authorization".into(), "Bearer x".into()));
        })
        .install();
    let served = server.serve_http().await;
    let mut http = Http::connect(served.address()).await;
    assert_eq!(http.get("/sse", &[]).await.status, 401);
    let headers = [("authorization", "Bearer x")];
    assert_eq!(http.delete("/sse", &headers).await.status, 405);
    let connect = || Sse::connect_with(served.address(), "/sse", &headers);

    let mut client = connect().await;
    let post = |id, method| request(id, method, json!({})).to_string();
    let busy = client.post(&post(1, "status")).await;
    assert_eq!((busy.status, busy.header("retry-after")), (503, Some("1")));
    assert_eq!(client.post(&post(2, "once")).await.status, 500);
    assert_eq!(client.post(&post(3, "once")).await.status, 202);
    assert_eq!(client.answer_to(3).await["error"]["code"], -32601);
    client.request("bytes", json!({})).await;
    let odd = client.next_event().await.expect("an event");
    assert_eq!((odd.id.as_deref(), odd.data.as_str()), (Some("7"), ""));
    client.next_event().await.expect("the usual answer");
    client.request("hang", json!({})).await;
    client.ended().await;
    assert_eq!(client.aside().count(), 1, "what came before is heard");
    assert_eq!(server.count_received(r#""lost""#), 0);

    // A status after other output breaks the stream, but not the post.
    let mut client = connect().await;
    assert_eq!(client.post(&post(1, "noisy")).await.status, 202);
    client.ended().await;
    assert_eq!(client.aside().count(), 2);

    let mut client = connect().await;
    assert_eq!(client.call("forget", json!({})).await["result"], json!({}));
    assert_eq!(client.post(&post(9, "ping")).await.status, 404);
}
