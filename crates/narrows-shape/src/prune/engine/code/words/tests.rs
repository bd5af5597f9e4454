use super::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(parts(text).collect::<Vec<_>>().join(" "), expected);
}

#[test]
fn names_are_split_in_every_style() {
    check("parse_http_header", "parse http header");
    check("parseHttpHeader", "parse Http Header");
    check("HTTPServer v2 sha256sum", "HTTP Server v 2 sha 256 sum");
    check("--max-len=10", "max len 10");
    check("", "");
    check("…!?", "");
}

#[test]
fn letters_beyond_ascii_are_letters() {
    check(
        "größe_Ähnlich élanVital 数値",
        "größe Ähnlich élan Vital 数値",
    );
}

#[test]
fn words_meet_whatever_their_ending_is() {
    let same = |words: &[&str]| {
        let stems: Vec<&str> = words.iter().map(|word| stem(word)).collect();
        assert!(stems.windows(2).all(|two| two[0] == two[1]), "{stems:?}");
    };
    same(&[
        "connect",
        "connects",
        "connected",
        "connecting",
        "connection",
        "connections",
    ]);
    same(&["parse", "parses", "parser", "parsing", "parsed"]);
    same(&["stop", "stops", "stopped", "stopping"]);
    same(&["entry", "entries"]);
    same(&["serialize", "serializer", "serialization"]);
    same(&["validate", "validation", "validator", "validates"]);
}

#[test]
fn short_words_keep_their_ending() {
    for word in ["is", "as", "bus", "red", "class", "ion", "é", ""] {
        assert_eq!(stem(word), word);
    }
}

#[test]
fn endings_are_cut_between_letters_only() {
    // The last letter before the ending has two equal bytes.
    assert_eq!(stem("xx\u{1000}ing"), "xx\u{1000}");
}

proptest::proptest! {
    #[test]
    fn any_word_has_a_stem_that_begins_it(word in "\\PC{0,8}(izat|ing|ed|ies|ion|y|s|e|)") {
        assert!(word.starts_with(stem(&word)));
        assert!(parts(&word).all(|part| word.contains(part)));
    }
}
