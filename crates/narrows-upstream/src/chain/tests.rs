use super::*;

fn below(chain: &str, file: Option<&Path>) -> Option<Recursion> {
    Ancestry::new(Some(chain), file).recursion()
}

#[test]
fn repeated_configuration_is_detected_at_any_depth() {
    let (one, other) = (Path::new("/etc/hosts"), Path::new("/etc/passwd"));
    let top = Ancestry::new(None, Some(one));
    assert_eq!(top.recursion(), None);
    let chain = top.for_children("a1");
    assert_eq!(below(&chain, Some(one)), Some(Recursion::SameConfiguration));
    assert_eq!(below(&chain, Some(other)), None);
    let chain = Ancestry::new(Some(&chain), Some(other)).for_children("b2");
    assert_eq!(below(&chain, Some(one)), Some(Recursion::SameConfiguration));
    assert_eq!(below(&chain, None), None);
}

#[test]
fn equivalent_paths_are_equal() {
    let plain = Ancestry::new(None, Some(Path::new("/etc/hosts")));
    let round = Path::new("/etc/../etc/./hosts");
    let chain = plain.for_children("a");
    assert_eq!(
        below(&chain, Some(round)),
        Some(Recursion::SameConfiguration)
    );
}

#[test]
fn built_in_default_is_never_a_repetition() {
    let chain = Ancestry::new(None, None).for_children("a");
    assert_eq!(below(&chain, None), None);
}

#[test]
fn chain_of_different_configurations_is_limited() {
    let mut chain = None;
    let mut depth = 0;
    loop {
        let ancestry = Ancestry::new(chain.as_deref(), None);
        if let Some(recursion) = ancestry.recursion() {
            assert_eq!(recursion, Recursion::TooDeep);
            break;
        }
        depth += 1;
        chain = Some(ancestry.for_children("a"));
    }
    assert_eq!(depth, MAX_CHAIN_LENGTH);
}

#[test]
fn requests_carry_the_marks_of_the_whole_chain() {
    let chain = Ancestry::new(None, Some(Path::new("/etc/hosts"))).for_children("a1");
    let header = Ancestry::new(Some(&chain), None).header("b2");
    assert_eq!(header, "a1,b2");
    for (mark, expected) in [("a1", true), ("b2", true), ("a", false), ("", false)] {
        assert_eq!(lists(&header, mark), expected, "{mark}");
    }
}

#[test]
fn any_environment_text_gives_a_valid_header() {
    let ancestry = Ancestry::new(Some("ä\n\u{0}x.y z,,;.,a.b.c"), None);
    assert_eq!(ancestry.header("m"), "x,,a,m");
    assert_eq!(ancestry.for_children("m"), "x.yz,.,a.bc,m");
}

#[test]
fn plain_request_keeps_all_its_marks() {
    let own = HeaderValue::from_static("top,me");
    for (came_with, expected) in [
        ("a", Some("a,top,me")),
        ("a,b,c,d,e,f,g", Some("a,b,c,d,e,f,g,top,me")),
        ("a,b,c,d,e,f,g,h", None),
        ("1,2,3,4,5,6,7,8,9,a", None),
        ("a, me", None),
        ("\u{e4}", None),
        ("", Some("top,me")),
    ] {
        let header = HeaderValue::from_bytes(came_with.as_bytes()).expect("a header");
        let sent = passed_on(&header, "me", &own);
        let sent = sent.as_ref().map(|sent| sent.to_str().expect("readable"));
        assert_eq!(sent, expected, "{came_with}");
    }
}
