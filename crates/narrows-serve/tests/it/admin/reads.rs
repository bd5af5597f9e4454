//! Tests of read-only routes.

use narrows_gateway::settings::Transport;
use narrows_serve::admin::LeftOutServer;
use serde_json::{Value, json};

use super::AdminGateway;

const READS: [&str; 10] = [
    "/status",
    "/servers",
    "/servers/demo",
    "/presets",
    "/endpoints",
    "/clients",
    "/sessions",
    "/catalogue",
    "/calls",
    "/savings",
];

async fn answer_body(admin: &AdminGateway, path: &str) -> Value {
    let reply = admin.get(path).await;
    assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    reply.json()
}

#[tokio::test]
async fn status_reports_servers_and_configuration() {
    let admin = AdminGateway::open().await;
    let mut status = answer_body(&admin, "/status").await;
    assert!(status["uptime_s"].take().is_u64());
    assert_eq!(
        status,
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "uptime_s": null,
            "ready": true,
            "servers": {"up": 2, "starting": 0, "down": 1, "disabled": 1, "left_out": 0},
            "sessions": 0,
            "configuration": {
                "file": "/etc/narrows.json",
                "watched": true,
                "applied_at": "2026-07-28T10:00:00.000Z",
                "problems": ["line 3"],
                "unsaved": ["server 'x' added"],
            },
        })
    );
}

#[tokio::test]
async fn servers_are_listed_in_order_with_states() {
    let admin = AdminGateway::open().await;
    let all = answer_body(&admin, "/servers").await;
    let lines: Vec<String> = all["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| {
            format!(
                "{} {} {}",
                server["id"], server["transport"], server["state"]
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            r#""demo" "builtin" "up""#,
            r#""remote" "http" "up""#,
            r#""off" "stdio" "disabled""#,
            r#""gone" "http" "down""#,
        ]
    );
    assert_eq!(all["servers"][1]["tools"], 3);
    assert_eq!(all["servers"][1]["server_info"]["name"], "scripted");
    assert!(all["servers"][3]["reason"].is_string());
    assert!(all["servers"][3]["attempts"].as_u64().unwrap() >= 1);
}

#[tokio::test]
async fn skipped_server_is_listed_in_place_with_the_reason() {
    let admin = AdminGateway::open().await;
    admin.recorder.leave_out(LeftOutServer {
        id: "notes".into(),
        place: 1,
        transport: Transport::Stdio,
        reason: "environment variable NOTES is not set".into(),
    });
    let all = answer_body(&admin, "/servers").await;
    let ids = all["servers"].as_array().unwrap().iter();
    let ids: Vec<&str> = ids.filter_map(|server| server["id"].as_str()).collect();
    assert_eq!(ids, ["demo", "notes", "remote", "off", "gone"]);
    let notes = answer_body(&admin, "/servers/notes").await;
    assert_eq!(notes["state"], "left_out");
    assert_eq!(notes["reason"], "environment variable NOTES is not set");
    let status = answer_body(&admin, "/status").await;
    assert_eq!(status["servers"]["left_out"], 1);

    let reply = admin.ask("POST", "/servers/notes/restart", "").await;
    assert_eq!(reply.status, 409);
    let message = "server 'notes' cannot be started: environment variable NOTES is not set";
    assert_eq!(
        reply.json(),
        json!({"error": {"code": "left_out", "message": message}})
    );
}

#[tokio::test]
async fn server_details_include_tools() {
    let admin = AdminGateway::open().await;
    let remote = answer_body(&admin, "/servers/remote").await;
    assert_eq!(remote["id"], "remote");
    let tool = &remote["tool_list"][0];
    assert_eq!(
        (&tool["name"], &tool["published"]),
        (&json!("echo"), &json!("remote__echo"))
    );
    let tokens = |of: &Value| of["tokens"].as_u64().unwrap();
    assert!(
        tokens(tool) > 0 && tokens(tool) < tokens(&remote),
        "{remote}"
    );

    let reply = admin.get("/servers/missing").await;
    assert_eq!(reply.status, 404);
    assert_eq!(
        reply.json(),
        json!({"error": {"code": "unknown", "message": "there is no server 'missing'"}})
    );
}

#[tokio::test]
async fn responses_contain_no_secrets() {
    let admin = AdminGateway::open().await;
    for path in READS.into_iter().chain(["/servers/off", "/servers/gone"]) {
        let text = answer_body(&admin, path).await.to_string();
        assert!(!text.contains("SECRET"), "{path}: {text}");
    }
}

#[tokio::test]
async fn presets_are_returned_as_configured() {
    let admin = AdminGateway::open().await;
    let presets = answer_body(&admin, "/presets").await;
    let preset = &presets["presets"][0];
    assert_eq!(preset["id"], "review");
    assert_eq!(preset["tools"], json!(["*/*", "!demo/count"]));
    assert_eq!(
        (&preset["prompts"], &preset["resources"]),
        (&json!(null), &json!([]))
    );
    assert_eq!(preset["sessions"], 0);
}

#[tokio::test]
async fn catalogue_matches_the_client_view() {
    let admin = AdminGateway::open().await;
    let all = answer_body(&admin, "/catalogue").await;
    assert_eq!(all["endpoint"], "default");
    let tools = all["tools"].as_array().unwrap();
    let listed = admin.gateway.listed("default").unwrap();
    assert_eq!(tools.len(), listed.len());
    let of = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!(of("remote__echo")["server"], "remote");
    assert!(of("remote__echo")["bytes"].as_u64().unwrap() > 20);
    let sum: u64 = tools
        .iter()
        .map(|tool| tool["tokens"].as_u64().unwrap())
        .sum();
    assert_eq!(all["tokens"], sum);

    let lazy = answer_body(&admin, "/catalogue?endpoint=lazy").await;
    let own = lazy["tools"].as_array().unwrap();
    assert!(own.len() < tools.len(), "{lazy}");
    assert!(own.iter().all(|tool| tool["server"].is_null()), "{lazy}");

    assert_eq!(admin.get("/catalogue?endpoint=nowhere").await.status, 404);
}

#[tokio::test]
async fn lists_match_the_gateway_reports() {
    let admin = AdminGateway::open().await;
    let length = |value: &Value| value.as_array().unwrap().len();
    let endpoints = answer_body(&admin, "/endpoints").await;
    assert_eq!(
        length(&endpoints["endpoints"]),
        admin.gateway.endpoints().len()
    );
    let sessions = answer_body(&admin, "/sessions").await;
    assert_eq!(
        length(&sessions["sessions"]),
        admin.gateway.sessions().len()
    );
    let calls = answer_body(&admin, "/calls?limit=1000").await;
    assert_eq!(length(&calls["calls"]), admin.gateway.calls().len());
    assert!(answer_body(&admin, "/clients").await["clients"].is_array());
    assert!(answer_body(&admin, "/savings").await["tools"].is_array());
}

#[tokio::test]
async fn unknown_parameters_are_rejected() {
    let admin = AdminGateway::open().await;
    for path in READS.into_iter().chain(["/openapi.json", "/events"]) {
        let reply = admin.get(&format!("{path}?sav=true")).await;
        assert_eq!(reply.status, 400, "{path}");
        let message = reply.json()["error"]["message"].to_string();
        assert!(message.contains("sav"), "{path}: {message}");
    }
    for query in [
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=ten",
        "limit=",
        "limit=1&limit=2",
        "failed=yes",
        "failed=",
        "server=",
    ] {
        let reply = admin.get(&format!("/calls?{query}")).await;
        assert_eq!(reply.status, 400, "{query}: {}", reply.text());
    }
    let all = "/calls?limit=1&server=a&client=b&method=c&failed=true";
    assert_eq!(answer_body(&admin, all).await, json!({"calls": []}));
}

#[tokio::test]
async fn api_description_is_served() {
    let admin = AdminGateway::open().await;
    let served = answer_body(&admin, "/openapi.json").await;
    let kept = include_str!("../../../../../docs/openapi.json");
    let kept: Value = serde_json::from_str(kept).unwrap();
    assert!(served == kept, "docs/openapi.json is another");
}

#[tokio::test]
async fn unknown_sessions_return_an_error() {
    let admin = AdminGateway::open().await;
    for (number, status) in [
        ("7", 404),
        ("0", 400),
        ("-1", 400),
        ("+1", 400),
        ("01", 400),
        ("x", 400),
    ] {
        let path = format!("/sessions/{number}");
        let reply = admin.ask("DELETE", &path, "").await;
        assert_eq!(reply.status, status, "{number}");
        let path = format!("/sessions/{number}/preset");
        let reply = admin.ask("PUT", &path, r#"{"preset":null}"#).await;
        assert_eq!(reply.status, status, "{number}");
    }
}

#[tokio::test]
async fn only_enabled_servers_can_be_restarted() {
    let admin = AdminGateway::open().await;
    let reply = admin.ask("POST", "/servers/missing/restart", "").await;
    assert_eq!(reply.status, 404);
    let reply = admin.ask("POST", "/servers/off/restart", "").await;
    assert_eq!(reply.status, 409);
    assert_eq!(reply.json()["error"]["code"], "disabled");
}
