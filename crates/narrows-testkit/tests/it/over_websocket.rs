use narrows_testkit::raw::{Http, Response, WebSocket};
use narrows_testkit::scripted::{Installed, Script, Served, Step, WebSocketOptions};
use narrows_testkit::websocket::{BINARY, CLOSE, Frame, Message, PING, TEXT};
use serde_json::{Value, json};

use crate::{request, text};

const OFFER: (&str, &str) = ("sec-websocket-protocol", "other, mcp");

async fn serve(script: Script) -> (Installed, Served) {
    let server = script.install();
    let served = server.serve_http().await;
    (server, served)
}

async fn handshake(served: &Served, headers: &[(&str, &str)]) -> Result<WebSocket, Response> {
    WebSocket::connect_with(served.address(), "/ws", headers).await
}

fn with(options: WebSocketOptions) -> Script {
    let script = Script::new("alpha").plain_tool("a");
    script.with(|script| script.websocket = options)
}

fn close(code: u16, reason: &str) -> Message {
    Message::Close {
        code: Some(code),
        reason: reason.into(),
    }
}

#[tokio::test]
async fn handshake_follows_the_rfc() {
    let (server, served) = serve(Script::new("alpha")).await;
    let connect = async |headers: &[_]| handshake(&served, headers).await;
    let origin = ("origin", "http://some.example");
    let client = connect(&[OFFER, origin]).await.expect("a WebSocket");
    assert_eq!(client.subprotocol(), Some("mcp"));
    let key = ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
    connect(&[key]).await.expect("a WebSocket");
    let recorded: Value = serde_json::from_str(&server.received()[0]).expect("JSON");
    assert_eq!(recorded["path"], "/ws");
    assert_eq!(recorded["headers"]["origin"], origin.1);
    let client = connect(&[]).await.expect("a WebSocket");
    assert_eq!(client.subprotocol(), None);
    let refusal = connect(&[("sec-websocket-version", "8")]).await;
    assert_eq!(refusal.expect_err("a refusal").status, 400);
    let mut http = Http::connect(served.address()).await;
    assert_eq!(http.get("/ws", &[]).await.status, 400);
    assert_eq!(http.delete("/ws", &[]).await.status, 405);

    let options = WebSocketOptions {
        select_subprotocol: false,
        ..WebSocketOptions::default()
    };
    let script = with(options).with(|script| {
        script.http.required_header = Some(("authorization".into(), "Bearer x".into()));
    });
    let (_server, served) = serve(script).await;
    let connect = async |headers: &[_]| handshake(&served, headers).await;
    assert_eq!(connect(&[]).await.expect_err("a refusal").status, 401);
    let client = connect(&[OFFER, ("authorization", "Bearer x")]).await;
    assert_eq!(client.expect("a WebSocket").subprotocol(), None);
}

#[tokio::test]
async fn messages_pass_unchanged_both_ways() {
    let result = r#"{"content":[ ],"x":1e5,"y":"ä"}"#;
    let script = Script::new("alpha")
        .at_start([Step::Say("Welcome!".into())])
        .plain_tool("odd")
        .on_tool("odd", [Step::reply(result)]);
    let (server, served) = serve(script).await;
    let mut client = WebSocket::connect(served.address(), "/ws").await;
    assert_eq!(client.next_text().await.as_deref(), Some("Welcome!"));
    let odd = r#"{"jsonrpc":"2.0", "id":"ü","method":"tools/call","params":{"name":"odd"}}"#;
    for size in [1, 2, 1000] {
        client.send_fragments(odd, size).await;
        let expected = format!(r#"{{"jsonrpc":"2.0","id":"ü","result":{result}}}"#);
        assert_eq!(client.next_text().await, Some(expected));
    }
    assert_eq!(server.received()[1..], [odd, odd, odd]);
    client.send_frame(Frame::new(BINARY, [1, 2, 3])).await;
    let binary = r#"{"websocket":"binary","length":3}"#;
    server.received_with(binary).await;
}

#[tokio::test]
async fn pings_are_answered_or_ignored() {
    let (server, served) = serve(with(WebSocketOptions::default())).await;
    let mut client = WebSocket::connect(served.address(), "/ws").await;
    client.send_frame(Frame::new(PING, "p")).await;
    let pong = Message::Pong(b"p".to_vec());
    assert_eq!(client.next_message().await, Some(pong));
    server.received_with(r#"{"websocket":"ping"}"#).await;

    let options = WebSocketOptions {
        answer_pings: false,
        ..WebSocketOptions::default()
    };
    let (server, served) = serve(with(options)).await;
    let mut client = WebSocket::connect(served.address(), "/ws").await;
    client.send_frame(Frame::new(PING, "p")).await;
    client.request("ping", json!({})).await;
    let message = client.next_message().await;
    assert!(matches!(message, Some(Message::Text(_))), "{message:?}");
    server.received_with(r#"{"websocket":"ping"}"#).await;
}

#[tokio::test]
async fn fragmented_messages_with_pings_are_reassembled() {
    let options = WebSocketOptions {
        fragment: 20,
        piece: 3,
        ..WebSocketOptions::default()
    };
    let (server, served) = serve(with(options)).await;
    let mut client = WebSocket::connect(served.address(), "/ws").await;
    let long = "ä€😀".repeat(20);
    let call = json!({ "name": "a", "arguments": { "x": long } });
    client.request("tools/call", call).await;
    let answer = client.next_text().await.expect("an answer");
    assert!(answer.contains(&long));
    client.request("ping", json!({})).await;
    // {"jsonrpc":"2.0","id":2,"result":{}} has 36 bytes, more than one frame.
    let ping = Message::Ping(b"between".to_vec());
    assert_eq!(client.next_message().await, Some(ping.clone()));
    let message = client.next_message().await;
    assert!(matches!(message, Some(Message::Text(_))), "{message:?}");

    // All pongs arrive before the close frame.
    client.close().await;
    server.received_with(r#"{"websocket":"close""#).await;
    let pongs = server.count_received(r#"{"websocket":"pong"}"#);
    assert_eq!(pongs, (answer.len() - 1) / 20 + 1);

    let mut client = WebSocket::connect(served.address(), "/ws").await;
    client.ignore_pings();
    client.request("ping", json!({})).await;
    assert_eq!(client.next_message().await, Some(ping));
    client.close().await;
    assert_eq!(server.count_received(r#"{"websocket":"pong"}"#), pongs);
}

#[tokio::test]
async fn characters_may_be_split_across_frames() {
    let (_server, served) = serve(with(WebSocketOptions {
        fragment: 1,
        ..WebSocketOptions::default()
    }))
    .await;
    let mut client = WebSocket::connect(served.address(), "/ws").await;
    let answer = client.call_tool("a", json!({ "x": "ä€😀" })).await;
    assert_eq!(text(&answer), r#"alpha called "a" with {"x":"ä€😀"}"#);
}

#[tokio::test]
async fn server_can_close_in_any_way() {
    let goodbye = Step::Close {
        code: 4001,
        reason: "enough".into(),
    };
    let notice = || Step::notify("notifications/message", "{}");
    let script = Script::new("alpha")
        .on("close", [notice(), goodbye])
        .on("hang", [notice(), Step::HangUp])
        .on("binary", [Step::Binary(vec![1, 2])])
        .on("bytes", [Step::Bytes(Frame::new(PING, "raw").encode())])
        .on("wrong", [Step::Bytes(vec![0xff; 2])]);
    let (server, served) = serve(script).await;
    let connect = || WebSocket::connect(served.address(), "/ws");

    let mut client = connect().await;
    client.request("close", json!({})).await;
    client.message("notifications/message").await;
    assert_eq!(client.next_message().await, Some(close(4001, "enough")));
    assert_eq!(client.next_message().await, None);
    let echo = r#"{"websocket":"close","code":4001,"reason":""}"#;
    server.received_with(echo).await;

    let mut client = connect().await;
    client.request("hang", json!({})).await;
    client.message("notifications/message").await;
    assert_eq!(client.next_message().await, None);

    let mut client = connect().await;
    client.request("binary", json!({})).await;
    let binary = Message::Binary(vec![1, 2]);
    assert_eq!(client.next_message().await, Some(binary));
    let id = client.request("bytes", json!({})).await;
    // The default answer to the previous request.
    assert!(matches!(
        client.next_message().await,
        Some(Message::Text(_))
    ));
    let ping = Message::Ping(b"raw".to_vec());
    assert_eq!(client.next_message().await, Some(ping));
    assert_eq!(client.answer_to(id).await["error"]["code"], -32601);
    client.request("wrong", json!({})).await;
    let read = tokio::spawn(async move { client.next_message().await });
    assert!(read.await.is_err(), "the client finds the mistake");
}

#[tokio::test]
async fn client_can_close_in_any_way() {
    let (server, served) = serve(Script::new("alpha")).await;
    let connect = || WebSocket::connect(served.address(), "/ws");

    let mut client = connect().await;
    client.send_frame(Frame::close(1001, "away")).await;
    assert_eq!(client.next_message().await, Some(close(1001, "")));
    assert_eq!(client.next_message().await, None);
    let reported = r#"{"websocket":"close","code":1001,"reason":"away"}"#;
    server.received_with(reported).await;

    let mut client = connect().await;
    client.send_frame(Frame::new(CLOSE, "")).await;
    client.ended().await;
    server.received_with(r#"{"websocket":"close"}"#).await;

    assert_eq!(server.count_received("lost"), 0);
    drop(connect().await);
    server.received_with(r#"{"websocket":"lost"}"#).await;

    let mut client = connect().await;
    let ping = request(1, "ping", json!({})).to_string();
    client.send_bytes(&Frame::new(TEXT, ping).encode()).await;
    assert_eq!(client.next_message().await, Some(close(1002, "")));
    server.received_with(r#"{"websocket":"violation""#).await;
}
