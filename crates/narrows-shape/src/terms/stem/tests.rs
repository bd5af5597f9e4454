use super::stem;
use crate::terms::Language;

#[track_caller]
fn same(words: &[&str]) {
    let stems: Vec<String> = words.iter().map(|word| stemmed(word)).collect();
    assert!(
        stems.windows(2).all(|two| two[0] == two[1]),
        "{words:?} gave {stems:?}"
    );
}

fn stemmed(word: &str) -> String {
    stem(word, Language::English).into_owned()
}

#[test]
fn word_forms_share_a_stem() {
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
    same(&["parse", "parses", "parser", "parsing", "parsed"]);
    same(&["serialize", "serializer", "serialization"]);
    same(&["validate", "validates", "validation", "validator"]);
}

#[test]
fn short_words_and_other_scripts_are_not_stemmed() {
    for word in [
        "use", "as", "class", "ion", "red", "ring", "bus", "is", "s", "", "über", "naïves",
    ] {
        assert_eq!(stemmed(word), word);
    }
}

#[test]
fn similar_looking_words_keep_different_stems() {
    for (one, other) in [("story", "store"), ("party", "part"), ("entity", "entit")] {
        assert_ne!(stemmed(one), stemmed(other));
    }
}

#[test]
fn foreign_endings_are_removed_from_long_words() {
    let same = |one, other, language| {
        assert_eq!(stem(one, language), stem(other, language), "{one} {other}");
    };
    same("directorios", "directorio", Language::Spanish);
    same("supprime", "supprimer", Language::French);
    same("losche", "loschen", Language::German);
    same("aufgabe", "aufgaben", Language::German);
    assert_eq!(stem("cree", Language::French), "cree");
    assert_eq!(stem("删除", Language::Chinese), "删除");
}

proptest::proptest! {
    #[test]
    fn any_word_has_a_stem(word in "\\PC{0,8}(izat|ing|ed|ies|ion|y|s|e|)") {
        for language in [Language::English, Language::French] {
            proptest::prop_assert!(stem(&word, language).len() <= word.len());
        }
    }
}
