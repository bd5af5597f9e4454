use std::time::Duration;

use narrows_gateway::SessionReport;
use narrows_gateway::settings::ModelReads;
use serde_json::json;

use super::Session;

fn report(endpoint: &str, is_server: bool) -> SessionReport {
    SessionReport {
        number: 7,
        endpoint: endpoint.into(),
        is_server,
        client: Some("cursor".into()),
        program: None,
        revision: "2025-06-18",
        model_reads: Some(ModelReads::Structured),
        own_preset: Some("dev".into()),
        presets: vec!["dev".into(), "public".into()],
        age: Duration::from_millis(61_900),
        silence: Duration::from_secs(3),
        calls_in_flight: 1,
        calls: 12,
    }
}

#[test]
fn session_times_are_whole_seconds() {
    let encoded = serde_json::to_value(Session::from(report("lazy", false))).expect("JSON");
    assert_eq!(
        encoded,
        json!({
            "number": 7, "endpoint": "lazy", "client": "cursor", "program": null,
            "revision": "2025-06-18", "model_reads": "structured", "own_preset": "dev", "presets": ["dev", "public"],
            "age_s": 61, "silence_s": 3, "calls_in_flight": 1, "calls": 12,
        })
    );
}

#[test]
fn server_session_is_not_reported_as_an_endpoint() {
    let encoded = serde_json::to_value(Session::from(report("lazy", true))).expect("JSON");
    assert_eq!(encoded["endpoint"], "servers/lazy");
}
