//! Tests of invalid request bodies.

use super::{AdminGateway, CONFIGURED};

/// Every route that takes a body, with a valid body.
const ROUTES: [(&str, &str, &str); 5] = [
    ("POST", "/servers", r#"{"id":"a","config":{"command":"x"}}"#),
    ("PUT", "/servers/a", r#"{"config":{"command":"x"}}"#),
    ("PUT", "/presets/a", r#"{"tools":[]}"#),
    ("PUT", "/endpoints/lazy/preset", r#"{"preset":null}"#),
    ("PUT", "/sessions/1/preset", r#"{"preset":null}"#),
];

/// Returns the status and error code of the response to a body of this content type.
async fn answer(
    admin: &AdminGateway,
    route: (&str, &str),
    kind: Option<&str>,
    body: &str,
) -> String {
    let token = format!("Bearer {CONFIGURED}");
    let mut headers = vec![("authorization", token.as_str())];
    headers.extend(kind.map(|kind| ("content-type", kind)));
    let mut connection = admin.send(route.0, route.1, &headers, body).await;
    let reply = connection.reply().await;
    format!("{} {}", reply.status, reply.json()["error"]["code"])
}

#[tokio::test]
async fn non_object_bodies_are_malformed() {
    let admin = AdminGateway::open().await;
    let deep = "[".repeat(10_000);
    let deep_object = r#"{"a":"#.repeat(10_000);
    let bodies = [
        "",
        "{",
        "null",
        "[]",
        "7",
        "\"x\"",
        "{}{}",
        "{\"a\":\u{1}}",
        &deep,
        &deep_object,
    ];
    for (method, path, _) in ROUTES {
        for body in bodies {
            let answer = answer(&admin, (method, path), Some("application/json"), body).await;
            assert_eq!(answer, r#"400 "malformed""#, "{method} {path}: {body:.20}");
        }
    }
    assert_eq!(admin.recorder.asked(), []);
}

#[tokio::test]
async fn only_json_bodies_are_accepted() {
    let admin = AdminGateway::open().await;
    let kinds = [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
    ];
    for (method, path, body) in ROUTES {
        for kind in kinds {
            let answer = answer(&admin, (method, path), kind, body).await;
            assert_eq!(answer, r#"415 "content_type""#, "{method} {path}: {kind:?}");
        }
    }
    assert_eq!(admin.recorder.asked(), []);
    let kind = Some("application/json; charset=utf-8");
    let (method, path, body) = ROUTES[0];
    assert_eq!(answer(&admin, (method, path), kind, body).await, "201 null");
}

#[tokio::test]
async fn wrong_types_and_unknown_members_are_malformed() {
    let admin = AdminGateway::open().await;
    let long = "x".repeat(257);
    let long = format!(r#"{{"id":"{long}","config":{{}}}}"#);
    for (at, body) in [
        (0, r#"{"id":"a"}"#),
        (0, r#"{"config":{}}"#),
        (0, r#"{"id":7,"config":{}}"#),
        (0, r#"{"id":"","config":{}}"#),
        (0, r#"{"id":"a","config":"x"}"#),
        (0, r#"{"id":"a","config":null}"#),
        (0, r#"{"id":"a","config":{},"save":true}"#),
        (0, r#"{"id":"a","id":"b","config":{}}"#),
        (0, &long),
        (1, r#"{"id":"a","config":{}}"#),
        (3, r#"{"preset":7}"#),
        (3, r#"{"preset":""}"#),
        (3, r#"{"preset":"a","x":1}"#),
        (4, r#"{"presets":null}"#),
    ] {
        let (method, path, _) = ROUTES[at];
        let answer = answer(&admin, (method, path), Some("application/json"), body).await;
        assert_eq!(answer, r#"400 "malformed""#, "{method} {path}: {body}");
    }
    let name = "x".repeat(257);
    let path = format!("/presets/{name}");
    let answer = answer(&admin, ("PUT", &path), Some("application/json"), "{}").await;
    assert_eq!(answer, r#"400 "malformed""#);
    assert_eq!(admin.recorder.asked(), []);
}

#[tokio::test]
async fn body_size_is_limited() {
    let admin = AdminGateway::open().await;
    let fill = |length: usize| {
        let around = r#"{"id":"a","config":{"command":""}}"#.len();
        let filling = "x".repeat(length - around);
        format!(r#"{{"id":"a","config":{{"command":"{filling}"}}}}"#)
    };
    let mebibyte = 1024 * 1024;
    let route = ("POST", "/servers");
    let json = Some("application/json");
    assert_eq!(
        answer(&admin, route, json, &fill(mebibyte)).await,
        "201 null"
    );
    let too_large = answer(&admin, route, json, &fill(mebibyte + 1)).await;
    assert_eq!(too_large, r#"413 "too_large""#);
}
