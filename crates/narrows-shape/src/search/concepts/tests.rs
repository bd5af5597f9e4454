use std::collections::HashSet;

use super::super::actions::Action;
use super::super::words;
use super::{CONCEPTS, Concepts, DOMAINS, Language};

const LANGUAGES: [&str; 5] = ["en", "fr", "de", "es", "zh"];

/// What is wrong with a table: lines that would be left out, in part or whole.
fn faults(table: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut names = HashSet::new();
    for (at, line) in table.lines().enumerate() {
        let mut fault = |what: &str| faults.push(format!("line {}: {what}", at + 1));
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((head, rest)) = line.split_once(':') else {
            fault("no colon");
            continue;
        };
        if let Some(language) = head.strip_prefix(['!', '?']) {
            if !LANGUAGES.contains(&language) {
                fault("no such language");
            }
            continue;
        }
        let (name, action) = head.split_once('@').unwrap_or((head, "read"));
        if !names.insert(name.trim()) {
            fault("a name that is there already");
        }
        if Action::parse(action.trim()).is_none() {
            fault("no such action");
        }
        let mut languages = vec!["en"];
        for (at, part) in rest.split('|').enumerate() {
            let list = match part.split_once(':') {
                _ if at == 0 => part,
                Some((language, list)) => {
                    languages.push(language.trim());
                    list
                }
                None => {
                    fault("a part without a language");
                    continue;
                }
            };
            if list
                .split(',')
                .any(|word| word.trim().trim_start_matches('~').is_empty())
            {
                fault("an empty word");
            }
        }
        if languages != LANGUAGES {
            fault("not each language once and in order");
        }
    }
    faults
}

#[test]
fn the_tables_are_well_formed() {
    assert_eq!(
        faults(include_str!("../concepts.txt")),
        Vec::<String>::new()
    );
    assert_eq!(faults(include_str!("../domains.txt")), Vec::<String>::new());
    assert!(CONCEPTS.len() > 200, "{}", CONCEPTS.len());
    assert!(DOMAINS.len() > 30, "{}", DOMAINS.len());
}

#[test]
fn faults_of_a_table_are_seen() {
    let table = "one @go: a | fr: b | de: c | es: d | zh: e\ntwo: a, , b\nthree";
    assert_eq!(faults(table).len(), 4, "{:?}", faults(table));
}

#[test]
fn words_of_a_concept_are_found_in_any_form() {
    let table =
        Concepts::parse("delete @delete: delete, get rid of, ~bin | de: löschen | zh: 删除");
    let word = |text: &str| words::words(text).remove(0);
    assert_eq!(table.of_stem(&word("Deleting").stem).len(), 1);
    assert_eq!(table.of_stem(&word("bin").stem)[0].weight, super::DOUBTFUL);
    assert_eq!(table.of_word(Language::German, &word("lösche")).len(), 1);
    assert!(table.of_word(Language::German, &word("delete")).is_empty());
    assert_eq!(table.tags().next(), Some(Some("delete")));
    let phrase = words::words("getting rid of them");
    let (members, length) = table
        .of_phrase(Language::English, &phrase)
        .expect("a phrase");
    assert_eq!((members.len(), length), (1, 3));
}

#[test]
fn words_are_found_inside_of_others() {
    let table = Concepts::parse("a: x | de: rechnung | zh: 发票\nb: y | de: kunde | zh: 删除, 删");
    let found = |language, run, least| -> Vec<u16> {
        let found = table.inside(language, run, least);
        found
            .into_iter()
            .map(|members| members[0].concept)
            .collect()
    };
    assert_eq!(found(Language::Chinese, "请删除这张发票吧", 1), [1, 0]);
    assert_eq!(found(Language::German, "kundenrechnung", 4), [1, 0]);
    assert!(found(Language::Chinese, "天", 1).is_empty());
    assert!(found(Language::Chinese, "", 1).is_empty());
}

#[test]
fn languages_are_told_apart() {
    let check = |text: &str, expected| {
        assert_eq!(CONCEPTS.language(&words::words(text)), expected, "{text}")
    };
    check("delete the old branch", Language::English);
    check("supprime la branche qui est trop vieille", Language::French);
    check("lösche den alten Zweig", Language::German);
    check("borra la rama que ya no se usa", Language::Spanish);
    check("lista de directorios permitidos", Language::Spanish);
    check("", Language::English);
}
