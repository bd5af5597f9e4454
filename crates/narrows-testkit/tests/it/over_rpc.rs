use narrows_testkit::raw::{Http, Response};
use narrows_testkit::scripted::{Script, Step};
use serde_json::{Value, json};

use crate::{request, text};

async fn post(http: &mut Http, message: &Value) -> Response {
    http.post_mcp("/rpc", &[("authorization", "Bearer x")], message)
        .await
}

#[tokio::test]
async fn post_returns_one_body() {
    let status = Step::Status {
        code: 503,
        headers: Vec::new(),
        body: "busy".into(),
    };
    let noisy = [
        Step::notify("notifications/message", "{}"),
        Step::Progress {
            progress: 1,
            total: 2,
        },
        Step::Bytes(b"odd".into()),
        Step::text("all there is"),
    ];
    let server = Script::new("alpha")
        .plain_tool("noisy")
        .on_tool("noisy", noisy)
        .on("status", [status])
        .on("hang", [Step::HangUp])
        .with(|script| {
            script.http.required_header = Some(("authorization".into(), "Bearer x".into()));
        })
        .install();
    let served = server.serve_http().await;
    let mut http = Http::connect(served.address()).await;
    let ping = request(1, "ping", json!({}));
    assert_eq!(http.post_mcp("/rpc", &[], &ping).await.status, 401);
    let params = json!({ "name": "noisy", "_meta": { "progressToken": 1 } });
    let answer = post(&mut http, &request(2, "tools/call", params)).await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(text(&answer.json()), "all there is");
    assert_eq!(answer.header("mcp-session-id"), None);
    let busy = post(&mut http, &request(3, "status", json!({}))).await;
    assert_eq!((busy.status, &*busy.text()), (503, "busy"));
    let notice = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(post(&mut http, &notice).await.status, 202);
    let headers = [("authorization", "Bearer x")];
    assert_eq!(http.get("/rpc", &headers).await.status, 405);
    assert_eq!(http.get("/other", &headers).await.status, 404);
    let recorded: Value = serde_json::from_str(&server.received()[1]).expect("JSON");
    assert_eq!(recorded["path"], "/rpc");

    let hung_up = tokio::spawn(async move {
        post(&mut http, &request(4, "hang", json!({}))).await;
    });
    assert!(hung_up.await.is_err(), "the client finds no answer");
}

#[tokio::test]
async fn accepted_status_of_notifications_is_configurable() {
    let server = Script::new("alpha").with(|script| script.rpc.accepted = 204);
    let server = server.install();
    let served = server.serve_http().await;
    let mut http = Http::connect(served.address()).await;
    let notice = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(post(&mut http, &notice).await.status, 204);
}
