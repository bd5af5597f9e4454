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
        assert_eq!(is_looped(via, "me"), expected, "{via}");
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
