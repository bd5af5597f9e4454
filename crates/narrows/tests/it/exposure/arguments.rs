//! Tests that the arguments of `exec` are validated against the tool's own schema.

use narrows_testkit::scripted::{Installed, Script};
use serde_json::{Value, json};

use super::{LazyClient, WAYS, only, tool, wrong};

const TYPESCRIPT: &str =
    r#"{path: string; mode?: "r" | "w"; max?: number; deep?: {list?: number[]}}"#;

fn strict() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string" },
            "mode": { "enum": ["r", "w"] },
            "max": { "type": "integer" },
            "deep": {
                "type": "object",
                "properties": { "list": { "type": "array", "items": { "type": "number" } } },
            },
        },
        "required": ["path"],
    })
}

fn server() -> Installed {
    let any = json!({ "type": "object", "properties": { "a": { "type": "string" } },
        "additionalProperties": true });
    let typed = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
    let patterns = json!({ "type": "object", "properties": { "a": {} },
        "patternProperties": { "^x-": { "type": "string" } } });
    let closed = json!({ "type": "object", "additionalProperties": false });
    Script::new("ds")
        .tool(tool("strict", "", &strict()))
        .tool(tool("any", "", &any))
        .tool(tool("typed", "", &typed))
        .tool(tool("patterns", "", &patterns))
        .tool(tool("closed", "", &closed))
        .tool(json!({ "name": "unsaid" }).to_string())
        .install()
}

/// Checks that calls are refused with a message that contains these words, and that they do not
/// reach the server.
async fn check_refused(cases: &[(&str, Value, &[&str])]) {
    let server = server();
    for transport in WAYS {
        let mut lazy = transport.open(&only("ds", &server)).await;
        let before = server.received();
        for (name, arguments, words) in cases {
            let reported = wrong(&lazy.exec("ds", name, arguments.clone()).await);
            let message = reported["error"].as_str().unwrap_or_default();
            let about = format!("{} {name} {arguments}: {reported}", lazy.transport);
            assert!(
                message.starts_with("Argument validation failed: "),
                "{about}"
            );
            for word in *words {
                assert!(message.contains(word), "no {word} in {about}");
            }
            assert!(reported["tool_schema"].is_string(), "{about}");
            if *name == "strict" {
                assert_eq!(reported["tool_schema"], TYPESCRIPT, "{about}");
            }
        }
        assert_eq!(server.received(), before, "the server was asked");
    }
}

async fn passes(lazy: &mut LazyClient, server: &Installed, tool: &str, arguments: &Value) {
    let result = lazy.exec("ds", tool, arguments.clone()).await;
    let about = format!("{} {tool} {arguments}: {result}", lazy.transport);
    assert_ne!(result["isError"], true, "{about}");
    let said = format!(r#"ds called "{tool}" with {arguments}"#);
    assert_eq!(result["structuredContent"]["result"], said, "{about}");
    assert!(server.count_received(&arguments.to_string()) > 0, "{about}");
}

#[tokio::test]
async fn missing_argument_is_rejected() {
    let missing = "Argument validation failed: Missing required argument: 'path'";
    check_refused(&[
        ("strict", json!({}), &[missing]),
        ("strict", json!({ "mode": "r" }), &[missing]),
        ("strict", Value::Null, &[missing]),
    ])
    .await;
}

#[tokio::test]
async fn unknown_argument_is_rejected() {
    check_refused(&[
        (
            "strict",
            json!({ "path": "a", "zzz": 1 }),
            &["Unknown argument: 'zzz'"],
        ),
        ("closed", json!({ "zzz": 1 }), &["Unknown argument: 'zzz'"]),
        (
            "patterns",
            json!({ "x-a": "1", "y": 1 }),
            &["Unknown argument: 'y'"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn argument_of_the_wrong_type_is_rejected() {
    check_refused(&[
        ("strict", json!({ "path": 5 }), &["path", "string"]),
        ("strict", json!({ "path": "a", "max": 1.5 }), &["max"]),
        ("strict", json!({ "path": "a", "max": "many" }), &["max"]),
        (
            "strict",
            json!({ "path": "a", "deep": { "list": [1, "b"] } }),
            &["deep"],
        ),
        ("typed", json!({ "n": "one" }), &["n"]),
        ("patterns", json!({ "x-a": 1 }), &["x-a"]),
    ])
    .await;
}

#[tokio::test]
async fn argument_outside_its_enum_is_rejected() {
    check_refused(&[(
        "strict",
        json!({ "path": "a", "mode": "x" }),
        &["mode", "r", "w"],
    )])
    .await;
}

#[tokio::test]
async fn valid_arguments_are_passed() {
    let server = server();
    for transport in WAYS {
        let mut lazy = transport.open(&only("ds", &server)).await;
        for (tool, arguments) in [
            (
                "strict",
                json!({ "path": "a", "mode": "w", "max": 3, "deep": { "list": [1, 2.5] } }),
            ),
            ("any", json!({ "a": "b", "zzz": [1] })),
            ("typed", json!({ "n": 1, "m": 2 })),
            ("patterns", json!({ "a": null, "x-b": "c" })),
            ("closed", json!({})),
            ("unsaid", json!({ "anything": { "at": "all" } })),
        ] {
            passes(&mut lazy, &server, tool, &arguments).await;
        }
        // Some models write the object as a text, or omit it.
        let written = json!(r#"{"path": "b"}"#);
        let result = lazy.exec("ds", "strict", written).await;
        let said = r#"ds called "strict" with {"path":"b"}"#;
        assert_eq!(result["structuredContent"]["result"], said);
        let result = lazy.exec("ds", "closed", Value::Null).await;
        let said = r#"ds called "closed" with {}"#;
        assert_eq!(result["structuredContent"]["result"], said);
    }
}

/// The arguments are so long that they are checked off the async threads.
#[tokio::test]
async fn long_arguments_are_validated() {
    let server = server();
    let long = "a".repeat(300_000);
    for transport in WAYS {
        let mut lazy = transport.open(&only("ds", &server)).await;
        passes(&mut lazy, &server, "strict", &json!({ "path": long })).await;
        let result = lazy.exec("ds", "strict", json!({ "pth": long })).await;
        let error = &wrong(&result)["error"];
        let expected = "Argument validation failed: Missing required argument: 'path'; \
             Unknown argument: 'pth' (did you mean 'path'?)";
        assert_eq!(error, expected, "{}", lazy.transport);
    }
}
