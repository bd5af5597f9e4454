use http::header::HeaderName;

use super::*;

fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    headers
}

#[track_caller]
fn check_accept(values: &[&'static str], expected: &str) {
    let lines: Vec<_> = values.iter().map(|value| ("accept", *value)).collect();
    let accept = Head::read(&headers(&lines)).accept;
    let shown = match (accept.json, accept.events) {
        (true, true) => "both",
        (true, false) => "json",
        (false, true) => "events",
        (false, false) => "neither",
    };
    assert_eq!(shown, expected, "{values:?}");
}

#[test]
fn accept_header_selects_response_formats() {
    check_accept(&[], "both");
    check_accept(&["application/json, text/event-stream"], "both");
    check_accept(&["text/event-stream;q=0.9 , application/json;q=1"], "both");
    check_accept(&["*/*"], "both");
    check_accept(&["application/json"], "json");
    check_accept(&["Application/JSON; charset=utf-8"], "json");
    check_accept(&["application/*"], "json");
    check_accept(&["text/event-stream"], "events");
    check_accept(&["text/*"], "events");
    check_accept(&["text/html"], "neither");
    check_accept(&[""], "neither");
    check_accept(&["application/json;q=0, text/event-stream"], "events");
    check_accept(&["*/*;q=0.000"], "neither");
    check_accept(&["*/*;q=0.001"], "both");
    check_accept(&["application/json", "text/event-stream"], "both");
}

#[track_caller]
fn check_json(value: &'static str, expected: bool) {
    assert_eq!(
        Head::read(&headers(&[("content-type", value)])).is_json(),
        expected,
        "{value}"
    );
}

#[test]
fn only_json_content_types_are_json() {
    check_json("application/json", true);
    check_json("application/json; charset=utf-8", true);
    check_json("APPLICATION/JSON;charset=UTF-8", true);
    check_json("application/jsonp", false);
    check_json("text/plain", false);
    check_json("text/plain; application/json", false);
    check_json("", false);
    assert!(!Head::read(&HeaderMap::new()).is_json());
}

#[test]
fn duplicate_headers_are_detected() {
    let once = headers(&[
        ("host", "a"),
        ("origin", "b"),
        ("x-other", "1"),
        ("x-other", "2"),
    ]);
    assert!(!Head::read(&once).repeated);
    for name in [
        "host",
        "origin",
        "content-type",
        "mcp-session-id",
        "mcp-protocol-version",
    ] {
        assert!(
            Head::read(&headers(&[(name, "a"), (name, "a")])).repeated,
            "{name}"
        );
    }
}

#[test]
fn duplicate_tokens_and_proxies_are_detected() {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", HeaderValue::from_static("Bearer a"));
    let head = Head::read(&headers);
    assert_eq!(head.authorization.unwrap(), "Bearer a");
    assert!(!head.repeated && !head.passed_on);
    headers.append("authorization", HeaderValue::from_static("Bearer a"));
    headers.insert("x-forwarded-for", HeaderValue::from_static("192.0.2.1"));
    let head = Head::read(&headers);
    assert!(head.repeated && head.passed_on);
}
