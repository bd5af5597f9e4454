use super::{FILLERS, FRAMING, stem};

#[track_caller]
fn same(words: &[&str]) {
    let stems: Vec<String> = words.iter().map(|word| stemmed(word)).collect();
    assert!(
        stems.windows(2).all(|two| two[0] == two[1]),
        "{words:?} gave {stems:?}"
    );
}

fn stemmed(word: &str) -> String {
    let mut bytes = word.as_bytes().to_vec();
    stem(&mut bytes);
    String::from_utf8(bytes).expect("only ASCII endings are cut")
}

#[test]
fn forms_of_a_word_are_one() {
    same(&[
        "allocate",
        "allocates",
        "allocated",
        "allocating",
        "allocation",
        "allocator",
    ]);
    same(&["stop", "stops", "stopped", "stopping"]);
    same(&["class", "classes"]);
    same(&["address", "addresses", "addressed"]);
    same(&["verify", "verifies", "verified"]);
    same(&["dependency", "dependencies"]);
    same(&["document", "documents", "documented", "documentation"]);
    same(&["connect", "connected", "connection", "connections"]);
    same(&["create", "created", "creation"]);
    same(&["file", "files"]);
    same(&["parse", "parser", "parsing"]);
}

#[test]
fn short_words_and_other_scripts_stay() {
    for word in ["use", "red", "ring", "bus", "is", "s", "", "über", "naïves"] {
        assert_eq!(stemmed(word), word);
    }
}

#[test]
fn the_lists_are_in_order() {
    assert!(FILLERS.is_sorted());
    assert!(FRAMING.is_sorted());
}
