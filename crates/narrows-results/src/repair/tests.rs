use super::*;

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned().into()).expect("a test's JSON")
}

#[track_caller]
fn check(repair: fn(Raw) -> Repaired, input: &str, expected: &str) {
    let repaired = repair(raw(input));
    assert_eq!(repaired.result.as_str(), expected);
    assert_eq!(repaired.changed, input != expected);
}

#[test]
fn valid_result_is_unchanged() {
    for valid in [
        r#"{"content":[]}"#,
        r#"{"content":[{"type":"text","text":"a"}],"x":1.0,"isError":false}"#,
        r#"{ "content" : [ {"type":"thing","z":[1e400]} ] }"#,
        r#"{"task":{"taskId":"1"}}"#,
    ] {
        check(tool_result, valid, valid);
    }
}

#[test]
fn missing_type_is_inferred_from_the_fields() {
    check(
        tool_result,
        r#"{"content":[{"text":"a"},{"data":"","mimeType":"image/png"},{"data":"","mimeType":"audio/wav"},{"resource":{"uri":"x"}},{"uri":"u","name":"n"},{}],"k":1}"#
            .replace(",{}", "")
            .as_str(),
        r#"{"content":[{"text":"a","type":"text"},{"data":"","mimeType":"image/png","type":"image"},{"data":"","mimeType":"audio/wav","type":"audio"},{"resource":{"uri":"x"},"type":"resource"},{"uri":"u","name":"n","type":"resource_link"}],"k":1}"#,
    );
}

#[test]
fn invalid_results_become_text_and_structured_content() {
    check(
        tool_result,
        r#"{"a":1.0}"#,
        r#"{"content":[{"type":"text","text":"{\"a\":1.0}"}],"structuredContent":{"a":1.0}}"#,
    );
    check(
        tool_result,
        "[1]",
        r#"{"content":[{"type":"text","text":"[1]"}],"structuredContent":{"result":[1]}}"#,
    );
    check(
        tool_result,
        r#"{"content":[7]}"#,
        r#"{"content":[{"type":"text","text":"{\"content\":[7]}"}],"structuredContent":{"content":[7]}}"#,
    );
    check(
        tool_result,
        r#"{"content":[{"type":1}]}"#,
        r#"{"content":[{"type":"text","text":"{\"content\":[{\"type\":1}]}"}],"structuredContent":{"content":[{"type":1}]}}"#,
    );
}

#[test]
fn is_error_and_structured_content_are_kept() {
    check(
        tool_result,
        r#"{"isError":true,"content":"boom"}"#,
        r#"{"content":[{"type":"text","text":"{\"isError\":true,\"content\":\"boom\"}"}],"structuredContent":{"isError":true,"content":"boom"},"isError":true}"#,
    );
    check(
        tool_result,
        r#"{"structuredContent":{"a":1}}"#,
        r#"{"content":[{"type":"text","text":"{\"structuredContent\":{\"a\":1}}"}],"structuredContent":{"a":1}}"#,
    );
}

#[test]
fn prompt_results_are_repaired_too() {
    let valid = r#"{"messages":[{"role":"user","content":{"type":"text","text":"a"}}]}"#;
    check(prompt_result, valid, valid);
    check(
        prompt_result,
        r#"{"messages":[{"role":"user","content":{"text":"a"}}]}"#,
        r#"{"messages":[{"role":"user","content":{"text":"a","type":"text"}}]}"#,
    );
    check(
        prompt_result,
        "7",
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"7"}}]}"#,
    );
}

#[test]
fn newer_content_types_become_text_for_older_clients() {
    let result = r#"{"content":[{"type":"resource_link","uri":"x:1","name":"n"},{"type":"audio","data":"","mimeType":"audio/wav"},{"type":"text","text":"t"}],"k":1.0}"#;
    let link = r#"{"type":"text","text":"[n](x:1)"}"#;
    let audio = r#"{"type":"audio","data":"","mimeType":"audio/wav"}"#;
    let rest = r#"{"type":"text","text":"t"}],"k":1.0}"#;
    for (revision, expected) in [
        (Revision::V2025_06_18, result.to_owned()),
        (
            Revision::V2025_03_26,
            format!(r#"{{"content":[{link},{audio},{rest}"#),
        ),
        (
            Revision::V2024_11_05,
            format!(r#"{{"content":[{link},{{"type":"text","text":"[audio, audio/wav]"}},{rest}"#),
        ),
    ] {
        assert_eq!(for_revision(raw(result), revision).as_str(), expected);
    }
}
