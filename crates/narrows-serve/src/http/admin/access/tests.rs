use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderValue};

use super::bearer;

#[track_caller]
fn check(values: &[&[u8]], expected: Option<&str>) {
    let mut headers = HeaderMap::new();
    for value in values {
        let value = HeaderValue::from_bytes(value).expect("a header");
        headers.append(AUTHORIZATION, value);
    }
    assert_eq!(bearer(&headers).ok(), expected);
}

#[test]
fn bearer_token_is_parsed() {
    check(&[b"Bearer nra_x"], Some("nra_x"));
    check(&[b"bearer  nra_x "], Some("nra_x"));
    check(&[b"BEARER nra_x y"], Some("nra_x y"));
}

#[test]
fn other_headers_have_no_token() {
    check(&[], None);
    check(&[b""], None);
    check(&[b"Bearer"], None);
    check(&[b"nra_x"], None);
    check(&[b"Basic bnJhX3g="], None);
    check(&[b"Bearer \xff"], None);
    check(&[b"Bearer nra_x", b"Bearer nra_x"], None);
}
