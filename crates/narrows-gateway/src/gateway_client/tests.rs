use super::*;

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned().into()).expect("a test's JSON")
}

fn client(info: &str) -> Option<GatewayClient> {
    let hello = ClientHello {
        capabilities: Raw::empty_object(),
        client_info: raw(info),
    };
    GatewayClient::of(&hello, "me")
}

#[test]
fn gateways_are_recognised_by_name() {
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
fn looping_request_is_rejected() {
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
fn session_that_returns_to_its_origin_is_detected() {
    let first = client(r#"{"name":"x-through-proxy"}"#).expect("a gateway");
    assert!(!first.originates_here());
    let info = first.mark_info(&raw(r#"{"name":"x-through-proxy-through-proxy"}"#));
    let second = client(info.as_str()).expect("a gateway");
    assert!(second.originates_here());
}
