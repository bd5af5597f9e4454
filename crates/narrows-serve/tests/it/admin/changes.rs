//! Tests of changes: the operations requested, and their results.

use narrows_serve::admin::{Change, Keep, Rejected};
use serde_json::{Value, json};

use super::AdminGateway;
use crate::within;

/// Requests a change, and returns the operation that the recorder received.
async fn change(
    admin: &AdminGateway,
    method: &str,
    path: &str,
    body: &str,
) -> (u16, Value, Vec<(Change, Keep)>) {
    let reply = admin.ask(method, path, body).await;
    (reply.status, reply.json(), admin.recorder.asked())
}

fn every() -> Vec<(&'static str, &'static str, &'static str, u16, Change)> {
    let id = || "a b/ü".to_owned();
    let entry = || json!({"command": "x"});
    let at = "a%20b%2F%C3%BC";
    let leak = |text: String| -> &'static str { text.leak() };
    let server = |rest: &str| leak(format!("/servers/{at}{rest}"));
    let preset = leak(format!("/presets/{at}"));
    let rules = || json!({"tools": ["*/*"]});
    vec![
        (
            "POST",
            "/servers",
            r#"{"id":"a b/ü","config":{"command":"x"}}"#,
            201,
            Change::AddServer {
                id: id(),
                entry: entry(),
            },
        ),
        (
            "PUT",
            server(""),
            r#"{"config":{"command":"x"}}"#,
            200,
            Change::ReplaceServer {
                id: id(),
                entry: entry(),
            },
        ),
        (
            "DELETE",
            server(""),
            "",
            200,
            Change::RemoveServer { id: id() },
        ),
        (
            "POST",
            server("/enable"),
            "",
            200,
            Change::EnableServer {
                id: id(),
                enabled: true,
            },
        ),
        (
            "POST",
            server("/disable"),
            "",
            200,
            Change::EnableServer {
                id: id(),
                enabled: false,
            },
        ),
        (
            "PUT",
            preset,
            r#"{"tools":["*/*"]}"#,
            201,
            Change::PutPreset {
                id: id(),
                entry: rules(),
            },
        ),
        (
            "PUT",
            "/presets/review",
            r#"{"tools":["*/*"]}"#,
            200,
            Change::PutPreset {
                id: "review".into(),
                entry: rules(),
            },
        ),
        ("DELETE", preset, "", 200, Change::RemovePreset { id: id() }),
        (
            "PUT",
            "/endpoints/lazy/preset",
            r#"{"preset":"review"}"#,
            200,
            Change::SwitchPreset {
                endpoint: "lazy".into(),
                preset: Some("review".into()),
            },
        ),
        (
            "PUT",
            "/endpoints/lazy/preset",
            r#"{"preset":null}"#,
            200,
            Change::SwitchPreset {
                endpoint: "lazy".into(),
                preset: None,
            },
        ),
    ]
}

#[tokio::test]
async fn every_change_is_forwarded_and_reported() {
    let admin = AdminGateway::open().await;
    for (method, path, body, expected, wanted) in every() {
        for (query, keep, saved_to) in [
            ("", Keep::Memory, Value::Null),
            ("?save=false", Keep::Memory, Value::Null),
            ("?save=true", Keep::File, "/etc/narrows.json".into()),
        ] {
            let path = format!("{path}{query}");
            let (status, answer_body, asked) = change(&admin, method, &path, body).await;
            assert_eq!(status, expected, "{method} {path}: {answer_body}");
            assert_eq!(asked, [(wanted.clone(), keep)], "{method} {path}");
            assert_eq!(
                answer_body,
                json!({
                    "added": ["a"], "removed": ["b"], "enabled": [], "disabled": [], "restarted": ["c"], "adjusted": ["d"],
                    "left_out": ["j"], "written": keep == Keep::File, "entry_created": false,
                    "endpoints": ["e"], "presets": ["f"], "clients": ["g"],
                    "settings": [], "at_next_start": ["h"], "saved_to": saved_to, "created": false,
                    "warnings": ["i"],
                })
            );
        }
        for query in [
            "?save=yes",
            "?save",
            "?save=1",
            "?keep=true",
            "?save=true&save=true",
        ] {
            let path = format!("{path}{query}");
            let (status, answer_body, asked) = change(&admin, method, &path, body).await;
            assert_eq!(status, 400, "{method} {path}: {answer_body}");
            assert_eq!(asked, [], "{method} {path}");
        }
    }
}

#[tokio::test]
async fn rejected_changes_map_to_statuses() {
    let admin = AdminGateway::open().await;
    let (kind, name) = ("server", "x".to_owned());
    let unknown = Rejected::Unknown {
        kind,
        name: name.clone(),
    };
    for (rejected, status, code) in [
        (unknown, 404, "unknown"),
        (Rejected::Exists { kind, name }, 409, "exists"),
        (Rejected::NoFile, 409, "no_file"),
        (
            Rejected::Invalid(vec!["p".into(), "q".into()]),
            422,
            "invalid",
        ),
        (Rejected::Unwritable("disk full".into()), 500, "unwritable"),
    ] {
        admin.recorder.reject(rejected.clone());
        for (method, path, body, _, _) in every() {
            let (found, answer_body, _) = change(&admin, method, path, body).await;
            let error = &answer_body["error"];
            assert_eq!(
                (found, &error["code"]),
                (status, &code.into()),
                "{method} {path}"
            );
            assert!(error["message"].is_string());
            let problems = &error["problems"];
            match rejected {
                Rejected::Invalid(_) => assert_eq!(*problems, json!(["p", "q"])),
                _ => assert!(problems.is_null()),
            }
        }
    }
}

#[tokio::test]
async fn change_is_applied_after_a_disconnect() {
    let admin = AdminGateway::open().await;
    admin.recorder.hold();
    let connection = admin.begin("DELETE", "/servers/demo", "").await;
    within("the change", admin.recorder.arrived()).await;
    drop(connection);
    // Once another request has been answered, the edge has noticed the disconnect.
    assert_eq!(admin.get("/status").await.status, 200);
    admin.recorder.resume();
    let made = async {
        loop {
            match admin.recorder.asked().pop() {
                Some((change, _)) => return change,
                None => tokio::task::yield_now().await,
            }
        }
    };
    let made = within("the change", made).await;
    assert_eq!(made, Change::RemoveServer { id: "demo".into() });
}
