//! Tests of operations on a gateway with connected clients.

use serde_json::{Value, json};

use super::AdminGateway;
use crate::client::Client;
use crate::within;

async fn with_client() -> (AdminGateway, Client) {
    let admin = AdminGateway::open().await;
    let mut client = Client::new(admin.address);
    client.initialize("2025-06-18", "{}").await;
    (admin, client)
}

async fn names(client: &Client) -> String {
    let list = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#;
    client.post(list).await.json()["result"]["tools"].to_string()
}

#[tokio::test]
async fn endpoints_include_token_counts() {
    let (admin, _client) = with_client().await;
    let all = admin.get("/endpoints").await.json();
    let lines: Vec<String> = all["endpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!(
                "{} {} {} {}",
                one["name"], one["path"], one["expose"], one["sessions"]
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            r#""default" "/mcp" "all" 1"#,
            r#""lazy" "/mcp/lazy" "lazy" 0"#
        ]
    );
    let catalogue = admin.get("/catalogue").await.json();
    assert_eq!(all["endpoints"][0]["tokens"], catalogue["tokens"]);
}

#[tokio::test]
async fn session_preset_can_be_set_and_cleared() {
    let (admin, client) = with_client().await;
    let sessions = admin.get("/sessions").await.json();
    let session = &sessions["sessions"][0];
    assert_eq!(session["endpoint"], "default");
    assert_eq!(session["own_preset"], Value::Null);
    let path = format!("/sessions/{}/preset", session["number"]);
    assert!(names(&client).await.contains("demo__count"));

    let reply = admin.ask("PUT", &path, r#"{"preset":"review"}"#).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.json()["session"]["own_preset"], "review");
    assert!(!names(&client).await.contains("demo__count"));
    let presets = admin.get("/presets").await.json();
    assert_eq!(presets["presets"][0]["sessions"], 1);

    let reply = admin.ask("PUT", &path, r#"{"preset":"nothing"}"#).await;
    assert_eq!(reply.status, 404);
    let reply = admin.ask("PUT", &path, r#"{"preset":null}"#).await;
    assert_eq!(reply.json()["session"]["own_preset"], Value::Null);
    assert!(names(&client).await.contains("demo__count"));
}

#[tokio::test]
async fn session_can_be_closed() {
    let (admin, client) = with_client().await;
    let sessions = admin.get("/sessions").await.json();
    let path = format!("/sessions/{}", sessions["sessions"][0]["number"]);
    let mut connection = admin.begin("DELETE", &path, "").await;
    assert_eq!(connection.reply().await.status, 204);
    assert_eq!(admin.ask("DELETE", &path, "").await.status, 404);
    let list = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#;
    assert_eq!(client.post(list).await.status, 404);
}

#[tokio::test]
async fn server_can_be_restarted() {
    let (admin, _client) = with_client().await;
    let reply = admin.ask("POST", "/servers/demo/restart", "").await;
    assert_eq!(reply.status, 202, "{}", reply.text());
    assert_eq!(reply.json()["server"]["id"], "demo");
    within("the server", admin.gateway.settled()).await;
    assert_eq!(admin.get("/servers/demo").await.json()["state"], "up");
}

#[tokio::test]
async fn call_is_streamed_and_recorded() {
    let (admin, client) = with_client().await;
    let mut stream = admin.begin("GET", "/events?calls=true", "").await;
    assert_eq!(stream.head().await.status, 200);
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"remote__echo","arguments":{}}}"#;
    assert_eq!(client.post(call).await.status, 200);
    let received = loop {
        let event = stream.event().await.expect("an event");
        let data: Value = serde_json::from_str(&event.data).unwrap();
        if event.kind == "call" && data["method"] == "tools/call" {
            break data;
        }
    };
    assert_eq!(received["server"], "remote");
    let calls = admin
        .get("/calls?method=tools/call&server=remote")
        .await
        .json();
    let call = &calls["calls"][0];
    assert_eq!(call["elapsed_us"], received["elapsed_us"]);
    assert_eq!(call["error"], Value::Null);
    let failed = admin.get("/calls?failed=true").await.json();
    assert_eq!(failed, json!({"calls": []}));
}
