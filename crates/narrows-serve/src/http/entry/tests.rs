use super::*;

#[track_caller]
fn check(header: &[u8], token: &str) {
    let value = HeaderValue::from_bytes(header).expect("a header");
    assert_eq!(bearer(&value), token);
}

#[test]
fn a_bearer_token_is_read_however_its_scheme_is_written() {
    check(b"Bearer nrw_abc", "nrw_abc");
    check(b"bearer nrw_abc", "nrw_abc");
    check(b"BEARER   nrw_abc ", "nrw_abc");
}

#[test]
fn what_is_no_bearer_token_is_a_token_of_nobody() {
    check(b"Basic bnJ3OmFiYw==", "");
    check(b"nrw_abc", "");
    check(b"Bearer", "");
    check(b"Bearer ", "");
    check(b"Bearer\tnrw_abc", "");
    check(b"Bearer \xff", "");
}
