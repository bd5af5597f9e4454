use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

#[track_caller]
fn check_cursor(json: &str, expected: Result<usize, BadToken>) {
    for text in [
        STANDARD.encode(json),
        URL_SAFE.encode(json),
        STANDARD_NO_PAD.encode(json),
        URL_SAFE_NO_PAD.encode(json),
    ] {
        assert_eq!(parse_cursor(&text), expected, "{json}");
    }
}

#[test]
fn cursor_is_base64_of_its_offset() {
    assert_eq!(STANDARD.decode(cursor(25)).unwrap(), b"{\"offset\": 25}");
    check_cursor("{\"offset\":25}", Ok(25));
    check_cursor(" { \"offset\" : 0 , \"x\":\"~~~???\"} ", Ok(0));
}

#[test]
fn invalid_cursors_are_rejected() {
    for json in [
        "{\"offset\":-1}",
        "{\"offset\":1.5}",
        "{\"offset\":1.0}",
        "{\"offset\":1e2}",
        "{\"offset\":\"1\"}",
        "{\"offset\":null}",
        "{\"offset\":99999999999999999999}",
        "{\"offset\":1,\"offset\":2}",
        "{}",
        "[1]",
        "1",
        "{\"offset\":1",
        "",
    ] {
        check_cursor(json, Err(BadToken));
    }
    for text in ["", "%%%", "eyJ", "not base64", "=", "é"] {
        assert_eq!(parse_cursor(text), Err(BadToken));
    }
    let long = format!("{{\"offset\":1{}}}", " ".repeat(300));
    check_cursor(&long, Err(BadToken));
}

#[test]
fn wrapped_uri_contains_server_and_uri() {
    let wrapped = wrap_uri("files", "file:///a?b=é");
    let base64 = wrapped.strip_prefix("proxy://resource/").unwrap();
    assert_eq!(
        URL_SAFE.decode(base64).unwrap(),
        "{\"server\":\"files\",\"uri\":\"file:///a?b=é\"}".as_bytes()
    );
    let json = "{\"uri\": \"u~~>>??\", \"server\": \"s\"}";
    for base64 in [STANDARD.encode(json), URL_SAFE_NO_PAD.encode(json)] {
        let wrapped = format!("proxy://resource/{base64}");
        assert_eq!(
            unwrap_uri(&wrapped),
            Some(("s".to_owned(), "u~~>>??".to_owned()))
        );
    }
}

#[test]
fn other_uris_are_not_unwrapped() {
    let wrap = |json: &str| format!("proxy://resource/{}", URL_SAFE.encode(json));
    for uri in [
        "file:///a".to_owned(),
        "proxy://resource/".to_owned(),
        "proxy://resource/@@@".to_owned(),
        wrap("{\"server\":\"s\"}"),
        wrap("{\"server\":\"s\",\"uri\":1}"),
        wrap("{\"server\":\"s\",\"uri\":\"a\",\"uri\":\"b\"}"),
        wrap("[\"s\",\"u\"]"),
        wrap_uri("s", &"x".repeat(64 * 1024)),
    ] {
        assert_eq!(unwrap_uri(&uri), None, "{uri:.80}");
    }
}

#[test]
fn request_id_is_split_at_its_last_colon() {
    assert_eq!(ask_id("a:b", 7), "a:b:7");
    assert_eq!(parse_ask_id("a:b:7"), Some(("a:b", 7)));
    for text in [
        "",
        "a",
        "a:",
        "a:x",
        "a:-1",
        "a:+1",
        "a:01",
        "a: 1",
        "a:99999999999999999999",
    ] {
        assert_eq!(parse_ask_id(text), None, "{text}");
    }
}

#[test]
fn event_id_has_two_numbers() {
    assert_eq!(event_id(3, 14), "3-14");
    assert_eq!(parse_event_id("3-14"), Some((3, 14)));
    for text in ["", "3", "3-", "-3", "3-1-4", "3-x", "+3-1", "03-1", "3--1"] {
        assert_eq!(parse_event_id(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn tokens_round_trip(server in ".{0,20}", uri in ".{0,60}", one: u64, two: u64, offset: usize) {
        prop_assert_eq!(parse_cursor(&cursor(offset)), Ok(offset));
        prop_assert_eq!(unwrap_uri(&wrap_uri(&server, &uri)), Some((server.clone(), uri)));
        let ask = ask_id(&server, one);
        prop_assert_eq!(parse_ask_id(&ask), Some((&*server, one)));
        prop_assert_eq!(parse_event_id(&event_id(one, two)), Some((one, two)));
    }

    #[test]
    fn any_text_is_parsed_safely(text in ".{0,80}") {
        let _ = (parse_cursor(&text), parse_ask_id(&text), parse_event_id(&text));
        let _ = unwrap_uri(&format!("proxy://resource/{text}"));
    }
}

#[test]
fn part_cursor_contains_its_query() {
    let of = Raw::from_static(r#"{"query":"é \"x\""}"#);
    let cursor = part_cursor(70_000, &of);
    assert_eq!(parse_part_cursor(&cursor), Ok((70_000, of)));
    let refused = |json: &str| parse_part_cursor(&URL_SAFE.encode(json)) == Err(BadToken);
    assert!(refused("{}") && refused("[]") && refused(r#"{"offset":1}"#));
    assert!(refused(r#"{"offset":-1,"of":{}}"#) && refused(r#"{"offset":1,"offset":2,"of":{}}"#));
    assert_eq!(parse_part_cursor("?"), Err(BadToken));
    assert_eq!(parse_part_cursor(&"A".repeat(PART_MAX + 4)), Err(BadToken));
}
