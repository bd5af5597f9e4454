use std::collections::HashSet;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::{JsonError, JsonReason};
use narrows_json::strategy::{json_object, json_string, json_text};

fn raw(text: &str) -> Raw {
    Raw::parse(Bytes::copy_from_slice(text.as_bytes())).expect("valid JSON")
}

fn read(text: &str) -> Result<Incoming, Error> {
    decode(Bytes::copy_from_slice(text.as_bytes()))
}

/// Summarises a decoded frame in one line, so that a test case fits on one line.
fn outline(incoming: Result<Incoming, Error>) -> String {
    match incoming {
        Ok(Incoming::Single(message)) => outline_one(Ok(message)),
        Ok(Incoming::Batch(entries)) => {
            let entries: Vec<String> = entries.into_iter().map(outline_one).collect();
            format!("batch [{}]", entries.join("; "))
        }
        Err(error) => outline_one(Err(error)),
    }
}

fn outline_one(message: Result<Message, Error>) -> String {
    let shown = |raw: Option<Raw>| raw.map_or("-".to_owned(), |raw| raw.as_str().to_owned());
    let shown_id = |id: Option<Id>| shown(id.map(|id| id.as_raw().clone()));
    match message {
        Ok(Message::Request(it)) => format!(
            "request {} {} {}",
            shown_id(Some(it.id)),
            it.method,
            shown(it.params)
        ),
        Ok(Message::Notification(it)) => format!("notification {} {}", it.method, shown(it.params)),
        Ok(Message::Response(it)) => match it.body {
            Ok(result) => format!("result {} {}", shown_id(it.id), result.as_str()),
            Err(error) => format!("error {} {}", shown_id(it.id), error.as_str()),
        },
        Err(Error::Parse(error)) => format!("parse: {error}"),
        Err(Error::Invalid { id, reason }) => format!("invalid {}: {reason}", shown_id(id)),
    }
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(outline(read(text)), expected, "{text}");
}

#[test]
fn requests_and_notifications_are_parsed() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        "request 1 ping -",
    );
    check(
        r#" {"method":"a/b","params":{"x": 1.0},"id":"i","jsonrpc":"2.0"} "#,
        r#"request "i" a/b {"x": 1.0}"#,
    );
    check(
        r#"{"jsonrpc":"2.0","id":-1.5,"method":"m","params":[1]}"#,
        "request -1.5 m [1]",
    );
    check(
        r#"{"jsonrpc":"2.0","method":"n","params":null}"#,
        "notification n -",
    );
    check(
        r#"{"jsonrpc":"2.0","method":"n","params":{},"extra":{"id":7}}"#,
        "notification n {}",
    );
}

#[test]
fn member_names_are_compared_decoded() {
    check(
        r#"{"json\u0072pc":"2\u002e0","\u0069d":1,"method":"p\u0069ng"}"#,
        "request 1 ping -",
    );
}

#[test]
fn responses_are_parsed() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":[]}}"#,
        r#"result 1 {"a":[]}"#,
    );
    check(r#"{"jsonrpc":"2.0","id":1,"result":null}"#, "result 1 null");
    check(
        r#"{"jsonrpc":"2.0","id":"x","error":{"code":-1}}"#,
        r#"error "x" {"code":-1}"#,
    );
    check(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, "error - {}");
    check(r#"{"jsonrpc":"2.0","error":{}}"#, "error - {}");
}

#[test]
fn invalid_json_is_a_parse_error() {
    check("", "parse: unexpected end of the text at byte 0");
    check(
        "{\"jsonrpc\":\"2.0\"",
        "parse: expected a comma or a closing brace at byte 16",
    );
    check(
        r#"[{"jsonrpc":"2.0","method":"m"},]"#,
        "parse: expected a value at byte 32",
    );
    check(
        r#"{"jsonrpc":"2.0","method":"m"} x"#,
        "parse: text after the value at byte 31",
    );
    check("[1] 2", "parse: text after the value at byte 4");
    check("1 2", "parse: text after the value at byte 2");
    let error = decode(Bytes::from_static(b"{\"a\":\"\xff\"}")).unwrap_err();
    assert_eq!(
        error,
        Error::Parse(JsonError {
            offset: 6,
            reason: JsonReason::NotUtf8
        })
    );
}

#[test]
fn invalid_messages_are_rejected() {
    check("1", "invalid -: neither an object nor a batch");
    check("\"x\"", "invalid -: neither an object nor a batch");
    check("[]", "invalid -: an empty batch");
    check("{}", "invalid -: the jsonrpc member is missing");
    check(
        r#"{"jsonrpc":"2.0","id":1}"#,
        "invalid 1: neither a method nor a result nor an error",
    );
}

#[test]
fn missing_version_is_rejected_with_the_id() {
    check(
        r#"{"id":"a","method":"m"}"#,
        "invalid \"a\": the jsonrpc member is missing",
    );
    check(
        r#"{"jsonrpc":"1.0","id":2,"method":"m"}"#,
        "invalid 2: jsonrpc is not \"2.0\"",
    );
    check(
        r#"{"jsonrpc":2.0,"id":2,"method":"m"}"#,
        "invalid 2: jsonrpc is not \"2.0\"",
    );
}

#[test]
fn ids_are_strings_or_numbers_of_bounded_length() {
    check(
        r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
        "invalid -: the id of a request is null",
    );
    check(
        r#"{"jsonrpc":"2.0","id":null,"result":1}"#,
        "invalid -: a result without an id",
    );
    check(
        r#"{"jsonrpc":"2.0","result":1}"#,
        "invalid -: a result without an id",
    );
    for id in ["true", "{}", "[1]"] {
        check(
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#),
            "invalid -: the id is neither a string nor a number",
        );
    }
    let id = format!("\"{}\"", "x".repeat(1022));
    check(
        &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#),
        &format!("request {id} m -"),
    );
    let id = "1".repeat(1025);
    check(
        &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#),
        "invalid -: the id is too long",
    );
}

#[test]
fn methods_are_strings_of_bounded_length() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
        "invalid 1: the method is not a string",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
        "invalid 1: the method is not a string",
    );
    let method = "x".repeat(1024);
    check(
        &format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#),
        &format!("notification {method} -"),
    );
    check(
        &format!(r#"{{"jsonrpc":"2.0","method":"{method}x"}}"#),
        "invalid -: the method is too long",
    );
}

#[test]
fn params_are_objects_or_arrays() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}"#,
        "invalid 1: params are neither an object nor an array",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":0}"#,
        "invalid 1: params are neither an object nor an array",
    );
}

#[test]
fn response_has_exactly_one_of_result_and_error() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#,
        "invalid 1: both a result and an error",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"error":"x"}"#,
        "invalid 1: the error is not an object",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","result":1}"#,
        "invalid 1: both a request and a response",
    );
}

#[test]
fn duplicate_members_are_rejected() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#,
        "invalid -: a member occurs twice",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","m\u0065thod":"n"}"#,
        "invalid 1: a member occurs twice",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{},"params":{}}"#,
        "invalid 1: a member occurs twice",
    );
    check(
        r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"result":1}"#,
        "invalid 1: a member occurs twice",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":1,"result":1}"#,
        "invalid 1: a member occurs twice",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"error":{},"error":{}}"#,
        "invalid 1: a member occurs twice",
    );
    check(
        r#"{"jsonrpc":"2.0","method":"m","x":1,"x":2}"#,
        "notification m -",
    );
}

#[test]
fn invalid_batch_entry_does_not_affect_the_rest() {
    check(
        r#" [ {"jsonrpc":"2.0","id":1,"method":"m"}, 5, [] ,{"id":3}, {"jsonrpc":"2.0","id":4,"result":{}} ] "#,
        "batch [request 1 m -; invalid -: a batch entry is not an object; \
         invalid -: a batch entry is not an object; invalid 3: the jsonrpc member is missing; result 4 {}]",
    );
}

#[test]
fn batch_size_is_limited() {
    let batch = |n| format!("[{}]", vec!["1"; n].join(","));
    assert!(matches!(read(&batch(1000)), Ok(Incoming::Batch(entries)) if entries.len() == 1000));
    check(
        &batch(1001),
        "invalid -: a batch of more than 1,000 entries",
    );
}

#[test]
fn bodies_share_the_memory_of_their_frame() {
    let frame = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
    let Ok(Incoming::Single(Message::Response(response))) = decode(frame.clone()) else {
        panic!("a response");
    };
    assert_eq!(
        response.body.unwrap().as_bytes().as_ptr(),
        frame[33..].as_ptr()
    );
}

#[test]
fn id_does_not_retain_its_frame() {
    let frame = Bytes::from(br#"{"jsonrpc":"2.0","id":1,"method":"m"}"#.to_vec());
    let Ok(Incoming::Single(Message::Request(request))) = decode(frame.clone()) else {
        panic!("a request");
    };
    assert!(frame.is_unique(), "held by {:?}", request.id);
}

#[test]
fn ids_are_compared_by_value() {
    let id = |text| Id::from_raw(raw(text)).expect("an id");
    assert_eq!(id(r#""a""#), id(r#""\u0061""#));
    assert_ne!(id("\"1\""), id("1"));
    assert_ne!(id("1"), id("2"));
    assert_ne!(id(r#""\ud800""#), id(r#""\ud801""#));
    assert_eq!(id(r#""\ud800""#), id(r#""\ud800""#));
    assert_eq!(id("5"), Id::number(5));
    assert_eq!(id("\"x\""), Id::string("x"));
    assert_eq!(id("5.0").as_u64(), Some(5));
    assert_eq!(id("\"5\"").as_u64(), None);
    let set: HashSet<Id> = [id(r#""a""#), id(r#""\u0061""#), id("1")].into();
    assert_eq!(set.len(), 2);
    for text in ["null", "true", "{}", "[]"] {
        assert_eq!(Id::from_raw(raw(text)), None);
    }
}

#[test]
fn deeply_nested_params_are_accepted() {
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let text = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{deep}}}"#);
    check(&text, &format!("notification m {deep}"));
}

fn any_id() -> impl Strategy<Value = Id> {
    prop_oneof![
        any::<u64>().prop_map(Id::number),
        json_string().prop_map(|text| Id::from_raw(raw(&text)).expect("an id")),
    ]
}

proptest! {
    #[test]
    fn requests_round_trip(id in any_id(), method in ".{0,20}", params in proptest::option::of(json_object())) {
        let params = params.map(|params| raw(&params));
        let request = decode(encode_request(&id, &method, params.as_ref()));
        let method = Box::from(method);
        prop_assert_eq!(request, Ok(Incoming::Single(Message::Request(Request { id, method, params }))));
    }

    #[test]
    fn notifications_round_trip(method in ".{0,20}", params in proptest::option::of(json_object())) {
        let params = params.map(|params| raw(&params));
        let notification = decode(encode_notification(&method, params.as_ref()));
        let method = Box::from(method);
        prop_assert_eq!(notification, Ok(Incoming::Single(Message::Notification(Notification { method, params }))));
    }

    #[test]
    fn results_round_trip(id in any_id(), result in json_text()) {
        let result = raw(&result);
        let whole = encode_result(&id, &result);
        prop_assert_eq!(&result_parts(&id, result.clone()).concat()[..], &whole[..]);
        let response = Response { id: Some(id), body: Ok(result) };
        prop_assert_eq!(decode(whole), Ok(Incoming::Single(Message::Response(response))));
    }

    #[test]
    fn errors_round_trip(id in proptest::option::of(any_id()), error in json_object()) {
        let error = raw(&error);
        let decoded = decode(encode_error(id.as_ref(), &error));
        let response = Response { id, body: Err(error) };
        prop_assert_eq!(decoded, Ok(Incoming::Single(Message::Response(response))));
    }

    #[test]
    fn batches_round_trip(ids in proptest::collection::vec(any_id(), 1..5)) {
        let entries: Vec<Bytes> = ids.iter().map(|id| encode_result(id, &Raw::empty_object())).collect();
        let batch = [b"[", &entries.join(&b", "[..])[..], b"]"].concat();
        let expected = ids.into_iter().map(|id| {
            Ok(Message::Response(Response { id: Some(id), body: Ok(Raw::empty_object()) }))
        });
        prop_assert_eq!(decode(Bytes::from(batch)), Ok(Incoming::Batch(expected.collect())));
    }
}
