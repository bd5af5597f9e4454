use expect_test::expect_file;
use serde_json::Value;

use super::description;

/// Update with `UPDATE_EXPECT=1 cargo test -p narrows-serve description`.
#[test]
fn api_description_matches_the_document() {
    let kept = expect_file!["../../../../../docs/openapi.json"];
    kept.assert_eq(&description::text());
}

#[test]
fn every_operation_lists_refusals_and_has_a_unique_id() {
    let api: Value = serde_json::from_str(&description::text()).expect("JSON");
    let mut names = Vec::new();
    let paths = api["paths"].as_object().expect("paths");
    for (path, item) in paths {
        assert!(path.starts_with("/api/v1/"), "{path}");
        for (method, operation) in item.as_object().expect("operations") {
            let responses = &operation["responses"];
            for status in ["400", "401", "403", "429"] {
                assert!(responses[status].is_object(), "{method} {path}: {status}");
            }
            let has_body = operation["requestBody"].is_object();
            assert_eq!(responses["415"].is_object(), has_body, "{method} {path}");
            names.push(operation["operationId"].to_string());
        }
    }
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
}

/// Nothing else checks that references in the description resolve.
#[test]
fn every_reference_resolves() {
    let api: Value = serde_json::from_str(&description::text()).expect("JSON");
    let mut left = vec![&api];
    let mut seen = 0;
    while let Some(value) = left.pop() {
        match value {
            Value::Array(values) => left.extend(values),
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get("$ref") {
                    let pointer = reference.trim_start_matches('#');
                    assert!(api.pointer(pointer).is_some(), "{reference}");
                    seen += 1;
                }
                left.extend(members.values());
            }
            _ => {}
        }
    }
    assert!(seen > 100, "{seen}");
}
