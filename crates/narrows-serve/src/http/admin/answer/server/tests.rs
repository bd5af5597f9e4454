use std::sync::Arc;
use std::time::Duration;

use narrows_gateway::preset::{Denial, DenialReason, DenialSource};
use narrows_gateway::settings::Transport;
use narrows_gateway::{ToolReport, UpstreamReport};
use narrows_upstream::{Failure, FailureKind, Found, State as UpstreamState};
use narrows_wire::{Raw, Revision};
use serde_json::json;

use super::{Server, ServerDetails};

fn report(state: UpstreamState) -> UpstreamReport {
    let tool = |name: &str, denied| ToolReport {
        name: name.into(),
        published: format!("files__{name}"),
        raw: Raw::empty_object().with_member("name", &Raw::string(name)),
        denied,
        needs_task: false,
    };
    let denial = Denial {
        source: DenialSource::Preset("review".into()),
        why: DenialReason::NotNamed,
    };
    UpstreamReport {
        id: "my files".into(),
        slug: "files".into(),
        transport: Transport::WebSocket,
        state,
        tools: vec![tool("read", None), tool("write", Some(Arc::new(denial)))],
        prompts: 3,
        resources: 4,
        stderr: Vec::new(),
        templates: 5,
    }
}

fn up(server_info: Raw) -> UpstreamState {
    UpstreamState::Up {
        revision: Revision::V2025_06_18,
        took: Duration::from_micros(12_900),
        server_info,
        found: Found {
            transport: Transport::WebSocket,
            how: None,
            era: None,
        },
    }
}

#[test]
fn running_server_includes_its_info_and_tools() {
    let info = Raw::empty_object().with_member("name", &Raw::string("fs"));
    let encoded = serde_json::to_value(ServerDetails::from(&report(up(info)))).expect("JSON");
    assert_eq!(
        encoded,
        json!({
            "id": "my files", "slug": "files", "transport": "ws", "state": "up",
            "revision": "2025-06-18", "server_info": {"name": "fs"}, "took_ms": 12,
            "tools": 1, "hidden": 1, "prompts": 3, "resources": 4, "templates": 5, "tokens": encoded["tokens"],
            "tool_list": [
                {"name": "read", "published": "files__read", "tokens": encoded["tool_list"][0]["tokens"]},
                {
                    "name": "write", "published": "files__write",
                    "tokens": encoded["tool_list"][1]["tokens"],
                    "denied": "no entry of preset 'review' allows it",
                },
            ],
        })
    );
    let tokens = |at: usize| {
        encoded["tool_list"][at]["tokens"]
            .as_u64()
            .expect("a number")
    };
    assert!(tokens(0) > 0);
    // Hidden tools do not count.
    assert_eq!(encoded["tokens"], tokens(0));
}

#[test]
fn down_server_includes_the_reason() {
    let failure = Failure {
        kind: FailureKind::Connect,
        detail: "connection refused".into(),
        stderr: vec!["SECRET=1".into()],
        speaks: None,
        is_answer: false,
    };
    let state = UpstreamState::Down {
        failure: Arc::new(failure),
        attempts: 2,
        next_try: Some(tokio::time::Instant::now() + Duration::from_secs(90)),
    };
    let encoded = serde_json::to_value(Server::from(&report(state))).expect("JSON");
    assert_eq!(encoded["state"], "down");
    assert_eq!(encoded["reason"], "connection refused");
    assert_eq!(encoded["attempts"], 2);
    assert!(encoded["next_try_s"].as_u64() > Some(60), "{encoded}");
    assert!(!encoded.to_string().contains("SECRET"), "{encoded}");
}

#[test]
fn unknown_members_are_omitted() {
    for state in [UpstreamState::Disabled, UpstreamState::Starting] {
        let encoded = serde_json::to_value(Server::from(&report(state))).expect("JSON");
        for member in [
            "reason",
            "attempts",
            "next_try_s",
            "revision",
            "server_info",
            "took_ms",
        ] {
            assert!(encoded.get(member).is_none(), "{member}: {encoded}");
        }
    }
}

#[test]
fn server_info_must_be_an_object() {
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let deep = format!(r#"{{"deep":{deep}}}"#);
    for info in ["7".to_owned(), "[1]".to_owned(), deep] {
        let info = Raw::parse(info.into());
        let Ok(info) = info else { continue };
        let encoded = serde_json::to_value(Server::from(&report(up(info)))).expect("JSON");
        assert!(encoded.get("server_info").is_none(), "{encoded}");
    }
}
