//! Tests of results in the format of `exec`, compared byte by byte.

use proptest::prelude::*;

use super::*;
use crate::settings::Encoding;

#[track_caller]
fn check(result: &str, expected: &str) {
    check_with(|_| {}, result, expected);
}

#[track_caller]
fn check_with(set: impl FnOnce(&mut FacadeSettings), result: &str, expected: &str) {
    let dressed =
        facade(FacadeMode::Lazy, set, Vec::new(), 80_000).format_result(raw(result), form(80_000));
    assert_eq!(dressed.as_str(), expected);
}

#[test]
fn json_in_a_single_text_becomes_data() {
    check(
        r#"{"content":[{"type":"text","text":"{\"b\": 1.50, \"a\": [1, 2]}"}]}"#,
        r#"{"content":[{"type":"text","text":"b: 1.5\na[2]: 1,2"}],"structuredContent":{"result":{"b": 1.50, "a": [1, 2]}}}"#,
    );
    check(
        r#"{"content":[{"type":"text","text":"[{\"id\":1,\"n\":\"x\"},{\"id\":2,\"n\":\"y\"}]"}]}"#,
        r#"{"content":[{"type":"text","text":"[2]{id,n}:\n  1,x\n  2,y"}],"structuredContent":{"result":[{"id":1,"n":"x"},{"id":2,"n":"y"}]}}"#,
    );
    for (text, data) in [
        ("42", "42"),
        (" true\\n", "true"),
        ("null", "null"),
        ("-0.0e5", "-0.0e5"),
    ] {
        check(
            &format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#),
            &format!(
                r#"{{"content":[{{"type":"text","text":"{data}"}}],"structuredContent":{{"result":{data}}}}}"#
            ),
        );
    }
}

#[test]
fn structured_content_that_repeats_text_is_ignored() {
    check(
        r#"{"content":[{"type":"text","text":"a\nb"}],"structuredContent":{"content":"a\u000ab"}}"#,
        r#"{"content":[{"type":"text","text":"a\nb"}],"structuredContent":{"result":{"content":"a\u000ab"}}}"#,
    );
    check(
        r#"{"content":[{"type":"text","text":"[1, 2]"}],"structuredContent":{"result":"[1, 2]"}}"#,
        r#"{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":{"result":{"result":"[1, 2]"}}}"#,
    );
    // If the object contains more than the text, the object is the data.
    check(
        r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{"content":"a","n":1}}"#,
        r#"{"content":[{"type":"text","text":"content: a\nn: 1"}],"structuredContent":{"result":{"content":"a","n":1}}}"#,
    );
}

#[test]
fn toon_over_budget_falls_back_to_json() {
    // Nested lists are longer as TOON.
    let data = r#"[[[1,2],[3]],[[4],[5,6]]]"#;
    let result = format!(r#"{{"content":[{{"type":"text","text":"{data}"}}]}}"#);
    let dressed = |room: usize| {
        let set = |settings: &mut FacadeSettings| settings.encoding = Encoding::Toon;
        let facade = facade(FacadeMode::Lazy, set, Vec::new(), 80_000);
        texts(&facade.format_result(raw(&result), form(room))).concat()
    };
    let toon = dressed(usize::MAX);
    let length = toon.chars().count();
    assert!(length > data.len(), "{toon}");
    assert_eq!(dressed(length), toon);
    assert_eq!(dressed(length - 1), data);
    assert_eq!(dressed(data.len()), data);
    // If neither form fits, the configured one is used.
    assert_eq!(dressed(data.len() - 1), toon);
}

#[test]
fn nested_json_is_parsed_once_more_only() {
    check(
        r#"{"content":[{"type":"text","text":"\"{\\\"a\\\":1}\""}]}"#,
        r#"{"content":[{"type":"text","text":"a: 1"}],"structuredContent":{"result":{"a":1}}}"#,
    );
    check(
        r#"{"content":[{"type":"text","text":"\"word\""}]}"#,
        r#"{"content":[{"type":"text","text":"\"word\""}],"structuredContent":{"result":"word"}}"#,
    );
    check(
        r#"{"content":[{"type":"text","text":"\"\\\"\\\\\\\"1\\\\\\\"\\\"\""}]}"#,
        r#"{"content":[{"type":"text","text":"\"\\\"1\\\"\""}],"structuredContent":{"result":"\"1\""}}"#,
    );
}

#[test]
fn plain_text_becomes_a_string() {
    check(
        r#"{"content":[{"type":"text","text":"not {json} \u00e9"}],"_meta":{"x":1.0}}"#,
        r#"{"content":[{"type":"text","text":"not {json} \u00e9"}],"_meta":{"x":1.0},"structuredContent":{"result":"not {json} \u00e9"}}"#,
    );
    check(
        r#"{"content":[{"type":"text","text":""}]}"#,
        r#"{"content":[{"type":"text","text":""}],"structuredContent":{"result":""}}"#,
    );
    check(
        r#"{"content":[{"type":"text","text":"{\"a\": tru"}]}"#,
        r#"{"content":[{"type":"text","text":"{\"a\": tru"}],"structuredContent":{"result":"{\"a\": tru"}}"#,
    );
}

#[test]
fn empty_content_becomes_null() {
    for content in [
        r#"{"content":[]}"#,
        r#"{"content":[],"structuredContent":null}"#,
    ] {
        check(
            content,
            r#"{"content":[{"type":"text","text":"null"}],"structuredContent":{"result":null}}"#,
        );
    }
    check(
        r#"{"x":1}"#,
        r#"{"x":1,"content":[{"type":"text","text":"null"}],"structuredContent":{"result":null}}"#,
    );
}

#[test]
fn structured_content_becomes_the_data() {
    check(
        r#"{"structuredContent":{"b":12345678901234567890123,"a":1},"content":[{"type":"text","text":"said otherwise"}],"isError":false}"#,
        r#"{"structuredContent":{"result":{"b":12345678901234567890123,"a":1}},"content":[{"type":"text","text":"{\"b\":12345678901234567890123,\"a\":1}"}],"isError":false}"#,
    );
    check(
        r#"{"content":[],"structuredContent":{"result":[1]}}"#,
        r#"{"content":[{"type":"text","text":"result[1]: 1"}],"structuredContent":{"result":{"result":[1]}}}"#,
    );
}

#[test]
fn content_items_keep_other_members() {
    check(
        r#"{"content":[{"annotations":{"priority":1.0},"type":"text","text":"{\"a\":1}","_meta":{}}]}"#,
        r#"{"content":[{"annotations":{"priority":1.0},"type":"text","text":"a: 1","_meta":{}}],"structuredContent":{"result":{"a":1}}}"#,
    );
}

#[test]
fn other_content_types_are_unchanged() {
    for content in [
        r#"[{"type":"text","text":"{\"a\":1}"},{"type":"text","text":"2"}]"#,
        r#"[{"type":"image","data":"AA==","mimeType":"image/png"}]"#,
        r#"[{"type":"audio","data":"AA==","mimeType":"audio/wav"}]"#,
        r#"[{"type":"resource","resource":{"uri":"x:1","text":"{}"}}]"#,
        r#"[{"type":"resource_link","uri":"x:1","name":"x"}]"#,
        r#"[{"type":"text","text":7}]"#,
        r#"[{"type":"text","text":"1","text":"2"}]"#,
        r#"["text"]"#,
        r#"{}"#,
    ] {
        let alone = format!(r#"{{"content":{content},"x":1.0}}"#);
        check(&alone, &alone);
        check(
            &format!(r#"{{"content":{content},"structuredContent":{{"a":1.0}}}}"#),
            &format!(r#"{{"content":{content},"structuredContent":{{"result":{{"a":1.0}}}}}}"#),
        );
    }
}

#[test]
fn error_results_and_non_results_are_unchanged() {
    for result in [
        r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"isError":true,"structuredContent":{"a":1}}"#,
        r#"{"content":[],"content":[]}"#,
        r#"[]"#,
        r#"7"#,
    ] {
        check(result, result);
    }
}

#[test]
fn truncated_results_keep_their_text() {
    check(
        r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"_meta":{"narrows/receipt":{}}}"#,
        r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"_meta":{"narrows/receipt":{}}}"#,
    );
    check(
        r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"_meta":{"narrows/receipt":{}},"structuredContent":{"a":1}}"#,
        r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"_meta":{"narrows/receipt":{}},"structuredContent":{"a":1}}"#,
    );
}

#[test]
fn structured_content_readers_get_the_shorter_text() {
    let result = r#"{"content":[{"type":"text","text":"[{\"id\":1},{\"id\":2}]"}]}"#;
    let text = r#"{"content":[{"type":"text","text":"[2]{id}:\n  1\n  2"}]}"#;
    let both = r#"{"content":[{"type":"text","text":"[2]{id}:\n  1\n  2"}],"structuredContent":{"result":[{"id":1},{"id":2}]}}"#;
    let facade = lazy(Vec::new());
    let dressed = |form: ResultForm| facade.format_result(raw(result), form);
    assert_eq!(dressed(form(80_000)).as_str(), both);
    let structured = ResultForm {
        reads_structured: true,
        ..form(80_000)
    };
    assert_eq!(dressed(structured).as_str(), text);
    let keep = ResultForm {
        structured: Structured::Keep,
        ..structured
    };
    assert_eq!(dressed(keep).as_str(), both);
    let drop = ResultForm {
        structured: Structured::Drop,
        ..form(80_000)
    };
    assert_eq!(dressed(drop).as_str(), text);
    // `structuredContent` alone would exceed the budget.
    assert_eq!(dressed(form(18)).as_str(), text);
    // The data is added as text, because the model reads only texts.
    let several = r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"structuredContent":{"n":1}}"#;
    let dressed = facade.format_result(raw(several), structured);
    assert_eq!(
        dressed.as_str(),
        r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"text","text":"{\"n\":1}"}]}"#
    );
}

#[test]
fn settings_select_the_encoding() {
    let nested = r#"{"content":[{"type":"text","text":"{\"a\": {\"b\": {\"c\": 1}}}"}]}"#;
    let structured = r#""structuredContent":{"result":{"a": {"b": {"c": 1}}}}"#;
    let with =
        |text: &str| format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],{structured}}}"#);
    let json = r#"{\"a\":{\"b\":{\"c\":1}}}"#;
    let toon = r"a:\n  b:\n    c: 1";
    let encoding = |encoding| move |settings: &mut FacadeSettings| settings.encoding = encoding;
    check_with(encoding(Encoding::Shorter), nested, &with(toon));
    check_with(encoding(Encoding::Toon), nested, &with(toon));
    check_with(encoding(Encoding::Json), nested, &with(json));
    check_with(|settings| settings.toon_min_size = 2, nested, &with(json));
    // Data that TOON cannot represent stays JSON.
    check_with(
        encoding(Encoding::Toon),
        r#"{"content":[{"type":"text","text":"{\"a\": 1e999}"}]}"#,
        r#"{"content":[{"type":"text","text":"{\"a\":1e999}"}],"structuredContent":{"result":{"a": 1e999}}}"#,
    );
    check_with(
        encoding(Encoding::Toon),
        r#"{"content":[{"type":"text","text":"{ }"}]}"#,
        r#"{"content":[{"type":"text","text":"{}"}],"structuredContent":{"result":{ }}}"#,
    );
}

#[test]
fn very_long_data_is_not_reencoded() {
    let data = format!("[{}1]", "1, ".repeat(400_000));
    let text = Raw::string(&data);
    let content = format!(r#"[{{"type":"text","text":{}}}]"#, text.as_str());
    // Without a budget.
    let dressed = lazy(Vec::new()).format_result(
        raw(&format!(r#"{{"content":{content}}}"#)),
        form(usize::MAX),
    );
    let expected = format!(r#"{{"content":{content},"structuredContent":{{"result":{data}}}}}"#);
    assert_eq!(dressed.as_str(), expected);
}

#[test]
fn deeply_nested_data_does_not_overflow_the_stack() {
    let data = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let content = format!(r#""content":[{{"type":"text","text":"{data}"}}]"#);
    let dressed = lazy(Vec::new()).format_result(raw(&format!("{{{content}}}")), form(usize::MAX));
    let expected = format!(r#"{{{content},"structuredContent":{{"result":{data}}}}}"#);
    assert_eq!(dressed.as_str(), expected);
}

proptest! {
    #[test]
    fn any_result_can_be_formatted(
        text in ".{0,40}",
        json in r#"[\[\]{}",:0-9a\\ ]{0,20}"#,
        twice in any::<bool>(),
    ) {
        for text in [&text, &json] {
            let text = Raw::string(text);
            let text = if twice { Raw::string(text.as_str()) } else { text };
            let result = raw(&format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, text.as_str()));
            let dressed = lazy(Vec::new()).format_result(result, form(usize::MAX));
            prop_assert!(dressed.member("structuredContent").and_then(|data| data.member("result")).is_some());
            prop_assert!(Raw::parse(dressed.into_bytes()).is_ok());
        }
    }
}
