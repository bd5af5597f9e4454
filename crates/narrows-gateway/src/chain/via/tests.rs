use super::*;

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned().into()).expect("a test's JSON")
}

#[test]
fn marks_lead_back_if_they_hold_our_own_or_are_too_many() {
    for (via, expected) in [
        ("", false),
        ("a", false),
        ("me", true),
        ("a, me ,b", true),
        ("mee,am", false),
        ("1,2,3,4,5,6,7", false),
        ("1,2,3,4,5,6,7,8", true),
        ("1,2,3,4,5,6,7,8,9", true),
    ] {
        assert_eq!(leads_back(via, "me"), expected, "{via}");
    }
}

#[test]
fn marks_are_added_and_removed_without_a_trace() {
    for text in [
        r#"{"name":"x"}"#,
        r#"{"name":"x","_meta":{"other":[1]}}"#,
        r#"{"_meta":{"a":{},"b":2},"name":"x"}"#,
    ] {
        let plain = raw(text);
        assert_eq!(of(&plain), None);
        let marked = with(&plain, &extended(None, "a"));
        let marked = with(&marked, &extended(of(&marked).as_deref(), "b"));
        assert_eq!(of(&marked).as_deref(), Some("a,b"), "{}", marked.as_str());
        assert_eq!(without(&marked).as_str(), text);
    }
}

#[test]
fn odd_meta_is_survived() {
    for text in [
        r#"{"_meta":7}"#,
        r#"{"_meta":{"narrows/via":7}}"#,
        r#"{"_meta":{"narrows/via":"a","narrows/via":"b"}}"#,
        "[]",
        "7",
    ] {
        let item = raw(text);
        let marked = with(&item, "m");
        if item.kind() == Kind::Object {
            assert_eq!(of(&marked).as_deref(), Some("m"), "{text}");
        }
        assert_eq!(of(&without(&marked)), None, "{text}");
    }
}

fn client(info: &str) -> Option<GatewayClient> {
    let hello = ClientHello {
        capabilities: Raw::empty_object(),
        client_info: raw(info),
    };
    GatewayClient::of(&hello, "me")
}

#[test]
fn gateways_are_recognised_by_their_name() {
    for (info, expected) in [
        (r#"{"name":"narrows-through-proxy"}"#, true),
        (r#"{"name":"x-through-proxy-through-proxy"}"#, true),
        (r#"{"name":"narrows"}"#, false),
        (r#"{"name":7}"#, false),
        ("{}", false),
    ] {
        assert_eq!(client(info).is_some(), expected, "{info}");
    }
}

#[test]
fn a_request_that_was_here_before_is_refused() {
    let client = client(r#"{"name":"narrows-through-proxy"}"#).expect("a gateway");
    let params = client.mark_params(None).expect("it is new");
    assert_eq!(
        params.as_ref().map(Raw::as_str),
        Some(r#"{"_meta":{"narrows/via":"me"}}"#)
    );
    let again = client.mark_params(params);
    assert!(matches!(again, Err(Error::OwnServer)), "{again:?}");
    let positions = client.mark_params(Some(raw("[1]")));
    assert!(matches!(positions, Err(Error::BadParams(_))));
}

#[test]
fn a_session_that_was_opened_for_one_of_ours_has_come_round() {
    let first = client(r#"{"name":"x-through-proxy"}"#).expect("a gateway");
    assert!(!first.has_come_round());
    let info = first.mark_info(&raw(r#"{"name":"x-through-proxy-through-proxy"}"#));
    let second = client(info.as_str()).expect("a gateway");
    assert!(second.has_come_round());
}
