use narrows_gateway::EndpointReport;
use serde_json::json;

use super::{endpoint, path};

#[test]
fn endpoint_includes_its_path() {
    let report = EndpointReport {
        name: "full".into(),
        preset: Some("review".into()),
        expose: "lazy",
        sessions: 1,
        tools: 2,
        prompts: 3,
        resources: 4,
    };
    let encoded = serde_json::to_value(endpoint(report, 6)).expect("JSON");
    assert_eq!(
        encoded,
        json!({
            "name": "full", "path": "/mcp/full", "preset": "review", "expose": "lazy",
            "sessions": 1, "tools": 2, "prompts": 3, "resources": 4, "tokens": 6,
        })
    );
}

#[test]
fn paths_are_percent_encoded() {
    assert_eq!(path("default"), "/mcp");
    assert_eq!(path("a-b_c.d~9"), "/mcp/a-b_c.d~9");
    assert_eq!(path("a/b ü"), "/mcp/a%2Fb%20%C3%BC");
}
