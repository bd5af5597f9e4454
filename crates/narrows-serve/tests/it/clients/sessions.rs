//! Tests that a session can be used only by the client that opened it.

use narrows_gateway::settings::{ClientSettings, EntrypointName};

use super::{ALICE, BOB, PING, RequestForm, bearer, guarded, named, only};
use crate::TestGateway;
use crate::client::{Client, Connection, call, initialize};

const NOT_THERE: &str = r#"404 -32600 "unknown_session" 7"#;

#[tokio::test]
async fn session_of_another_client_is_not_found() {
    let gate = guarded().await;
    let alice = gate.client_with(ALICE).await;
    let thief = Client {
        token: Some(BOB.into()),
        ..alice.clone()
    };
    let inventor = Client {
        session: Some("0123456789abcdef0123456789abcdef".into()),
        ..thief.clone()
    };
    let (stolen, invented) = (thief.post(PING).await, inventor.post(PING).await);
    assert_eq!(stolen.refusal(), NOT_THERE);
    assert_eq!(stolen.text(), invented.text());
    let (stolen, invented) = (thief.delete().await, inventor.delete().await);
    assert_eq!(stolen.status, 404);
    assert_eq!(stolen.text(), invented.text());
    let listened = thief.get(None).await.reply().await;
    assert_eq!(listened.status, 404);
    let resumed = thief.get(Some("0-1")).await.reply().await;
    assert_eq!(resumed.status, 404);
    let new_client = Client {
        token: None,
        ..alice.clone()
    };
    assert_eq!(new_client.post(PING).await.status, 401);
    // These requests had no effect on the session.
    assert_eq!(alice.post(PING).await.status, 200);
}

#[tokio::test]
async fn stream_of_another_client_accepts_no_messages() {
    let gate = guarded().await;
    let client = gate.new_client().with_token(ALICE).at("/sse");
    let mut stream = client.get(None).await;
    let place = stream.event().await.expect("the place to post to").data;
    let alice = gate.new_client().with_token(ALICE).at(&place);
    let thief = gate.new_client().with_token(BOB).at(&place);
    let new_client = gate.new_client().at(&place);
    let hello = initialize(7, "2025-06-18", "{}");
    let unknown = r#"404 -32600 "unknown_session" null"#;
    assert_eq!(thief.post(&hello).await.refusal(), unknown);
    assert_eq!(new_client.post(&hello).await.status, 401);
    assert_eq!(alice.post(&hello).await.status, 202);
    assert_eq!(stream.message().await.1["id"], 7);
    assert_eq!(thief.post(PING).await.refusal(), unknown);
    assert_eq!(alice.post(PING).await.status, 202);
    assert_eq!(stream.message().await.1["id"], 7);
}

#[tokio::test]
async fn sessions_opened_before_clients_were_added_are_closed() {
    let gate = TestGateway::start().await;
    let before = gate.client().await;
    let mut socket = WsSession::open(&gate, None).await;
    gate.gateway.replace_clients(&[named("alice", ALICE)]);
    assert_eq!(before.post(PING).await.status, 401);
    let alice = before.clone().with_token(ALICE);
    assert_eq!(alice.post(PING).await.refusal(), NOT_THERE);
    socket.send_message(PING).await;
    assert!(socket.0.closed_or_closing().await);
}

#[tokio::test]
async fn revoked_token_closes_its_sessions() {
    let other_token = named("alice", BOB);
    let no_door = ClientSettings {
        entrypoints: only([EntrypointName::Pruner]),
        ..named("alice", ALICE)
    };
    for clients in [
        vec![],
        vec![named("bob", BOB)],
        vec![other_token],
        vec![no_door],
    ] {
        let mut gate = super::guarded_by(&[named("alice", ALICE)]).await;
        let alice = gate.client_with(ALICE).await;
        let mut socket = WsSession::open(&gate, Some(ALICE)).await;
        let mut waiting = alice.call("1", "hold").await;
        let _held = gate.upstream.held().await;
        let changed = gate.gateway.replace_clients(&clients);
        assert!(changed.contains(&"alice".to_owned()), "{changed:?}");
        let ended = waiting.reply().await;
        assert!(ended.text().contains("session_closed"), "{}", ended.text());
        assert!(socket.0.closed_or_closing().await, "{clients:?}");
        let after = alice.post(PING).await.status;
        assert!([401, 403, 404].contains(&after), "{after}");
        assert!(
            gate.gateway
                .clients()
                .iter()
                .all(|client| client.sessions == 0)
        );
    }
}

#[tokio::test]
async fn limit_changes_keep_sessions_open() {
    let gate = guarded().await;
    let alice = gate.client_with(ALICE).await;
    let limited = ClientSettings {
        max_calls: Some(3),
        ..named("alice", ALICE)
    };
    let changed = gate.gateway.replace_clients(&[limited, named("bob", BOB)]);
    assert_eq!(changed, ["alice"]);
    assert_eq!(alice.post(&call("1", "echo")).await.status, 200);
}

/// A WebSocket client with a session.
struct WsSession(Connection);

impl WsSession {
    async fn open(gate: &TestGateway, token: Option<&str>) -> WsSession {
        let header = token.map(bearer);
        let headers: Vec<(&str, &str)> = header
            .iter()
            .map(|header| ("authorization", header.as_str()))
            .collect();
        let mut connection = RequestForm::WebSocket("/ws").begin(gate, &headers).await;
        assert_eq!(connection.head().await.status, 101);
        let mut socket = WsSession(connection);
        socket
            .send_message(&initialize(1, "2025-06-18", "{}"))
            .await;
        socket.0.skip_frame().await;
        socket
    }

    async fn send_message(&mut self, text: &str) {
        // The mask is zero, so the payload stays unchanged.
        let mut frame = vec![0x81, 0x80 | 126];
        frame.extend((text.len() as u16).to_be_bytes());
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.0.write(&frame).await;
    }
}
