use super::*;

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned().into()).expect("a test's JSON")
}

#[test]
fn own_mark_or_too_many_marks_indicate_a_loop() {
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
fn marks_are_added_and_removed_without_trace() {
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
fn unusual_meta_is_accepted() {
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
