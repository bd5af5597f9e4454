use http::HeaderMap;

use super::*;

#[track_caller]
fn check(header: &[u8], token: &str) {
    let value = HeaderValue::from_bytes(header).expect("a header");
    assert_eq!(bearer(&value), token);
}

#[test]
fn bearer_scheme_is_case_insensitive() {
    check(b"Bearer nrw_abc", "nrw_abc");
    check(b"bearer nrw_abc", "nrw_abc");
    check(b"BEARER   nrw_abc ", "nrw_abc");
}

#[test]
fn malformed_bearer_tokens_match_no_client() {
    check(b"Basic bnJ3OmFiYw==", "");
    check(b"nrw_abc", "");
    check(b"Bearer", "");
    check(b"Bearer ", "");
    check(b"Bearer\tnrw_abc", "");
    check(b"Bearer \xff", "");
}

#[test]
fn only_direct_loopback_requests_are_local() {
    let from = |peer: &str, headers: &HeaderMap| {
        is_local_request(&Head::read(headers), peer.parse().expect("an address"))
    };
    let plain = HeaderMap::new();
    for peer in ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"] {
        assert!(from(peer, &plain), "{peer}");
    }
    for peer in [
        "192.168.1.7",
        "0.0.0.0",
        "::",
        "2001:db8::1",
        "::ffff:10.0.0.1",
    ] {
        assert!(!from(peer, &plain), "{peer}");
    }
    let mut passed_on = HeaderMap::new();
    passed_on.insert("x-forwarded-for", HeaderValue::from_static("192.0.2.1"));
    assert!(!from("127.0.0.1", &passed_on));
}
