//! Tests of masking: the parts of a response that are cut or preserved.

use narrows_shape::Mask;

use super::server::{Server, chunked, http};
use super::{ForwardRoute, PING, knowing, plain, result};

/// Calls a server that returns `answer`, and compares the response byte for byte.
async fn check(mask: Mask, answer: &str, expected: &str) {
    check_bytes(mask, http(200, "", answer), expected).await;
}

async fn check_bytes(mask: Mask, answer: Vec<u8>, expected: &str) {
    let server = Server::answering_with(answer).await;
    let mut up = plain("up", server.address);
    up.mask = mask;
    let route = ForwardRoute::start(knowing([up])).await;
    let reply = route.post("up", PING).await;
    assert_eq!((reply.status, reply.text()), (200, expected));
}

/// Masks strings above five characters and keeps the first two and the last one.
fn short() -> Mask {
    Mask::new(5, 2, 1)
}

/// The masked form of `abcdef` in JSON.
const CUT: &str =
    r#""ab\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars=6 head=2 tail=1] ...\nf""#;

#[tokio::test]
async fn long_string_keeps_its_ends_around_the_marker() {
    let marker = |chars: usize| {
        format!(
            "\\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars={chars} head=2000 tail=2000] ...\\n"
        )
    };
    let (head, tail) = ("h".repeat(2000), "t".repeat(2000));
    let long = format!("{head}{}{tail}", "é".repeat(6000));
    let answer = result(&format!(
        r#"{{"content":[{{"type":"text","text":"{long}"}}]}}"#
    ));
    let cut = format!("{head}{}{tail}", marker(10_000));
    let expected = result(&format!(
        r#"{{"content":[{{"type":"text","text":"{cut}"}}]}}"#
    ));
    check(Mask::default(), &answer, &expected).await;
    // Strings of exactly 4000 characters are kept.
    for (chars, cut) in [(4000, false), (4001, true)] {
        let text = "x".repeat(chars);
        let answer = result(&format!("\"{text}\""));
        let ends = "x".repeat(2000);
        let expected = match cut {
            true => result(&format!("\"{ends}{}{ends}\"", marker(chars))),
            false => answer.clone(),
        };
        check(Mask::default(), &answer, &expected).await;
    }
}

#[tokio::test]
async fn only_the_result_is_masked() {
    let answer = r#"{"jsonrpc":"2.0","id":"a long id","extra":"abcdef","result":{"a long key":["abcdef",{"deep":"abcdef"}],"n":1.0},"after":"abcdef"}"#;
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":"a long id","extra":"abcdef","result":{{"a long key":[{CUT},{{"deep":{CUT}}}],"n":1.0}},"after":"abcdef"}}"#
    );
    check(short(), answer, &expected).await;
    check(
        short(),
        r#"{"result":"abcdef","id":7}"#,
        &format!(r#"{{"result":{CUT},"id":7}}"#),
    )
    .await;
}

#[tokio::test]
async fn only_the_data_of_an_error_is_masked() {
    let answer = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"abcdef","data":{"a long key":"abcdef"},"more":"abcdef"}}"#;
    let expected = format!(
        r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":-1,"message":"abcdef","data":{{"a long key":{CUT}}},"more":"abcdef"}}}}"#
    );
    check(short(), answer, &expected).await;
    let answer = r#"{"error":{"data":"abcdef","message":"abcdef"},"id":7}"#;
    let expected = format!(r#"{{"error":{{"data":{CUT},"message":"abcdef"}},"id":7}}"#);
    check(short(), answer, &expected).await;
    check(
        short(),
        r#"{"id":7,"error":"abcdef"}"#,
        r#"{"id":7,"error":"abcdef"}"#,
    )
    .await;
}

#[tokio::test]
async fn error_beside_a_result_is_not_masked() {
    check(
        short(),
        r#"{"id":7,"result":"abcdef","error":{"data":"abcdef"}}"#,
        &format!(r#"{{"id":7,"result":{CUT},"error":{{"data":"abcdef"}}}}"#),
    )
    .await;
    check(
        short(),
        r#"{"id":7,"error":{"data":"abcdef"},"result":"abcdef"}"#,
        &format!(r#"{{"id":7,"error":{{"data":"abcdef"}},"result":{CUT}}}"#),
    )
    .await;
}

#[tokio::test]
async fn ten_thousand_levels_are_masked() {
    let depth = 10_000;
    let nested = |inner: &str| {
        let (open, close) = (r#"[{"k":"#.repeat(depth / 2), "}]".repeat(depth / 2));
        result(&format!("{open}{inner}{close}"))
    };
    check(short(), &nested("1"), &nested("1")).await;
    check(short(), &nested(r#""abcdef""#), &nested(CUT)).await;
}

#[tokio::test]
async fn numbers_and_escapes_are_unchanged() {
    let answer = result(
        r#"{"n":[12345678901234567890123456789,1.0,-0.0,1E+2,1e400],"e":"\u00e9\/\ud800\n","t":true,"z":null}"#,
    );
    check(Mask::default(), &answer, &answer).await;
    // An escape counts as one character, and so does a lone surrogate.
    let kept = result(r#""\u0061\n\ud83d\ude00\ud800\\""#);
    check(short(), &kept, &kept).await;
}

#[tokio::test]
async fn mask_limits_are_per_server() {
    let answer = result(r#"["abcdef","abcde"]"#);
    for (mask, text) in [
        (Mask::new(0, 2, 1), r#"["abcdef","abcde"]"#.to_owned()),
        (Mask::new(-1, 0, 0), r#"["abcdef","abcde"]"#.to_owned()),
        (short(), format!(r#"[{CUT},"abcde"]"#)),
        (
            Mask::new(5, 0, 0),
            r#"["\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars=6 head=0 tail=0] ...\n","abcde"]"#.to_owned(),
        ),
        (
            Mask::new(5, 9, 9),
            r#"["abcdef\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars=6 head=6 tail=6] ...\nabcdef","abcde"]"#.to_owned(),
        ),
    ] {
        check(mask, &answer, &result(&text)).await;
    }
    let server = Server::answering_with(http(200, "", &answer)).await;
    let (mut one, mut other) = (plain("one", server.address), plain("other", server.address));
    (one.mask, other.mask) = (short(), Mask::Off);
    let route = ForwardRoute::start(knowing([one, other])).await;
    let masked = result(&format!(r#"[{CUT},"abcde"]"#));
    assert_eq!(route.post("one", PING).await.text(), masked);
    assert_eq!(route.post("other", PING).await.text(), answer);
}

#[tokio::test]
async fn chunks_may_end_anywhere() {
    let answer = r#"{"id":7,"result":["é€😀é€😀","\ud83d\ude00\u00e9abcdef","ok"],"x":1.25}"#;
    let expected = r#"{"id":7,"result":["é€\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars=6 head=2 tail=1] ...\n😀","\ud83d\ude00\u00e9\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars=8 head=2 tail=1] ...\nf","ok"],"x":1.25}"#;
    for size in [1, 2, 3, 7, 1000] {
        check_bytes(short(), chunked(answer.as_bytes(), size), expected).await;
    }
}

#[tokio::test]
async fn error_status_response_is_masked_and_keeps_its_status() {
    let answer =
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"forbidden","data":"abcdef"}}"#;
    for status in [403, 404, 500, 503] {
        let server =
            Server::answering_with(http(status, "www-authenticate: Basic\r\n", answer)).await;
        let mut up = plain("up", server.address);
        up.mask = short();
        let route = ForwardRoute::start(knowing([up])).await;
        let reply = route.post("up", PING).await;
        let expected = answer.replace(r#""abcdef""#, CUT);
        assert_eq!((reply.status, reply.text()), (status, &*expected));
        assert_eq!(reply.header("www-authenticate"), None);
    }
}
