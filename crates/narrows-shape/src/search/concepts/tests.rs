use super::CONCEPTS;
use crate::search::actions::Action;
use crate::terms::{self, Language};

#[test]
fn concept_table_is_valid() {
    assert!(CONCEPTS.len() > 200, "{}", CONCEPTS.len());
    for tag in CONCEPTS.tags().flatten() {
        assert!(Action::parse(tag).is_some(), "{tag}");
    }
}

#[test]
fn languages_are_detected() {
    let check = |text: &str, expected| {
        assert_eq!(CONCEPTS.language(&terms::read(text)), expected, "{text}")
    };
    check("delete the old branch", Language::English);
    check("supprime la branche qui est trop vieille", Language::French);
    check("lösche den alten Zweig", Language::German);
    check("borra la rama que ya no se usa", Language::Spanish);
    check("lista de directorios permitidos", Language::Spanish);
    check("", Language::English);
}
