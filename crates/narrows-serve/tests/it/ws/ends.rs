//! Tests of the end of a WebSocket.

use std::time::Duration;

use narrows_gateway::settings::Limits;
use narrows_serve::HttpSettings;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{CLOSE, FIN, PING, PING_REQUEST, PONG, WsClient, closing, frame};
use crate::client::{call, initialize};
use crate::upstream::{HeldCall, Upstream};
use crate::{TestGateway, gateway_to, within};

const SHUTDOWN: &str = r#"{"jsonrpc":"2.0","id":9,"method":"shutdown"}"#;

/// Starts a gateway that allows one session, with a grace period so long that a test that waits for
/// it fails.
async fn narrow() -> TestGateway {
    let http = HttpSettings {
        grace: Duration::from_secs(3600),
        ..HttpSettings::default()
    };
    let limits = Limits {
        max_sessions: 1,
        ..Limits::default()
    };
    TestGateway::with(http, limits).await
}

/// Waits until the only session has ended and its call is cancelled.
async fn all_over(mut gate: TestGateway, held: HeldCall) {
    let notice = gate
        .upstream
        .received("method", &json!("notifications/cancelled"))
        .await;
    assert_eq!(notice["params"]["requestId"], held.id);
    let next = gate.new_client();
    let hello = initialize(1, "2025-06-18", "{}");
    let freed = async { while next.post(&hello).await.status != 200 {} };
    within("the session to be freed", freed).await;
}

#[tokio::test]
async fn close_cancels_calls_at_once() {
    let mut gate = narrow().await;
    let mut peer = WsClient::open(&gate).await;
    peer.send_message(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    let refused = gate
        .new_client()
        .post(&initialize(1, "2025-06-18", "{}"))
        .await;
    assert_eq!(refused.status, 503);
    peer.write(&frame(FIN | CLOSE, &closing(1000, ""))).await;
    assert_eq!(peer.close_code().await, Some(1000));
    assert!(peer.ended().await);
    all_over(gate, held).await;
}

#[tokio::test]
async fn lost_connection_cancels_calls_at_once() {
    let mut gate = narrow().await;
    let mut peer = WsClient::open(&gate).await;
    peer.send_message(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    drop(peer);
    all_over(gate, held).await;
}

#[tokio::test]
async fn half_closed_connection_ends_the_session() {
    let mut gate = narrow().await;
    let mut peer = WsClient::open(&gate).await;
    peer.send_message(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    peer.socket.get_mut().shutdown().await.unwrap();
    assert!(peer.ended().await);
    all_over(gate, held).await;
}

#[tokio::test]
async fn client_without_initialize_is_disconnected() {
    let http = HttpSettings {
        hello_timeout: Duration::from_millis(200),
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(http, Limits::default()).await;
    let mut known = WsClient::open(&gate).await;
    let mut mute = WsClient::connect(&gate).await;
    let mut evasive = WsClient::connect(&gate).await;
    evasive.send_message(PING_REQUEST).await;
    assert_eq!(evasive.receive().await["id"], "p");
    assert_eq!(mute.close_code().await, Some(1008));
    assert_eq!(evasive.close_code().await, Some(1008));
    assert!(mute.ended().await);
    known.send_message(PING_REQUEST).await;
    assert_eq!(known.receive().await["id"], "p");
}

#[tokio::test]
async fn client_without_pongs_is_disconnected() {
    let http = HttpSettings {
        keep_alive: Duration::from_millis(200),
        ..HttpSettings::default()
    };
    let mut gate = TestGateway::with(http, Limits::default()).await;
    let mut alive = WsClient::open(&gate).await;
    let mut silent = WsClient::open(&gate).await;
    silent.send_message(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    let answering = async {
        loop {
            let ping = alive.frame().await.expect("a ping");
            assert_eq!(ping.head, FIN | PING);
            alive.write(&frame(FIN | PONG, &ping.payload)).await;
        }
    };
    let code = tokio::select! {
        code = silent.close_code() => code,
        () = answering => None,
    };
    assert_eq!(code, Some(1008));
    alive.send_message(PING_REQUEST).await;
    assert_eq!(alive.receive().await["id"], "p");
    let notice = gate
        .upstream
        .received("method", &json!("notifications/cancelled"))
        .await;
    assert_eq!(notice["params"]["requestId"], held.id);
}

#[tokio::test]
async fn shutdown_is_answered_and_ends_the_connection() {
    let mut gate = TestGateway::start().await;
    let mut other = WsClient::open(&gate).await;
    let mut peer = WsClient::open(&gate).await;
    peer.send_message(&call("2", "hold")).await;
    let _held = gate.upstream.held().await;
    peer.send_message(SHUTDOWN).await;
    assert_eq!(
        peer.receive().await,
        json!({ "jsonrpc": "2.0", "id": 9, "result": {} })
    );
    // The pending call gets an answer.
    let answer = peer.receive().await;
    assert_eq!(answer["id"], 2);
    assert_eq!(answer["error"]["data"]["code"], "session_closed");
    assert_eq!(peer.close_code().await, Some(1000));
    assert!(peer.ended().await);
    other.send_message(PING_REQUEST).await;
    assert_eq!(other.receive().await["id"], "p");
}

#[tokio::test]
async fn server_stops_after_the_last_response() {
    let mut gate = TestGateway::start().await;
    let mut idle = WsClient::open(&gate).await;
    let mut mute = WsClient::connect(&gate).await;
    let mut peer = WsClient::open(&gate).await;
    peer.send_message(&call("2", "hold")).await;
    let held = gate.upstream.held().await;
    gate.stop.cancel();
    assert_eq!(idle.close_code().await, Some(1001));
    assert_eq!(mute.close_code().await, Some(1001));
    held.answer("done").await;
    assert_eq!(peer.receive().await["result"]["content"][0]["text"], "done");
    assert_eq!(peer.close_code().await, Some(1001));
    drop((idle, mute, peer));
    within("the edge to end", gate.served).await.unwrap();
}

#[tokio::test]
async fn shutdown_close_code_wins_over_session_close() {
    let mut gate = TestGateway::start().await;
    let mut peer = WsClient::open(&gate).await;
    peer.send_message(&call("2", "hold")).await;
    let _held = gate.upstream.held().await;
    gate.stop.cancel();
    let close_code = async move { peer.close_code().await };
    let all = async { tokio::join!(gate.served, gate.gateway.shutdown(), close_code) };
    let (served, (), code) = within("the gateway to end", all).await;
    served.unwrap();
    assert_eq!(code, Some(1001));
}

#[tokio::test]
async fn shutdown_does_not_wait_long_for_a_response() {
    let mut upstream = Upstream::start().await;
    let up = upstream.address;
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let (tell, address) = oneshot::channel();
    // The runtime ends together with the edge, so that no task can send messages afterwards.
    let served = std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            let http = HttpSettings {
                grace: Duration::from_millis(200),
                ..HttpSettings::default()
            };
            narrows_serve::serve(listener, gateway_to(up, Limits::default()), http, stopped).await;
        });
    });
    let address = within("the edge to listen", address).await.unwrap();
    let mut peer = WsClient::connect_at(address, "/ws").await;
    peer.send_message(&initialize(1, "2025-06-18", "{}")).await;
    peer.receive().await;
    peer.send_message(&call("2", "hold")).await;
    let _held = upstream.held().await;
    stop.cancel();
    assert_eq!(peer.close_code().await, Some(1001));
    drop(peer);
    served.join().unwrap();
}
