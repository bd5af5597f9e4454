use std::collections::HashSet;

use super::{ConceptTable, Language};
use crate::terms::read;

const LANGUAGES: [&str; 5] = ["en", "fr", "de", "es", "zh"];

/// Returns the faults of a table: lines that parsing would ignore partly or completely.
fn faults(table: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut names = HashSet::new();
    for (at, line) in table.lines().enumerate() {
        let mut fault = |what: &str| faults.push(format!("line {}: {what}", at + 1));
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let is_empty = |word: &str| word.trim().trim_start_matches('~').is_empty();
        let Some((head, rest)) = line.split_once(':') else {
            if line.split(',').any(is_empty) {
                fault("an empty word");
            }
            if !line.contains(',') {
                fault("a word that stands for itself alone");
            }
            continue;
        };
        if let Some(language) = head.strip_prefix(['!', '?', '.']) {
            if !LANGUAGES.contains(&language) {
                fault("no such language");
            }
            if rest.split(',').any(is_empty) {
                fault("an empty word");
            }
            continue;
        }
        let (name, _) = head.split_once('@').unwrap_or((head, ""));
        if !names.insert(name.trim()) {
            fault("a name that is there already");
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
            if list.split(',').any(is_empty) {
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
fn concept_tables_are_valid() {
    for table in [
        include_str!("../../search/concepts.txt"),
        include_str!("../../search/domains.txt"),
        include_str!("../../prune/engine/code/words.txt"),
        include_str!("../../prune/engine/goal_terms/words.txt"),
    ] {
        assert_eq!(faults(table), Vec::<String>::new());
    }
}

#[test]
fn table_errors_are_detected() {
    let table = "one: a | fr: b | de: c | es: d | zh: e\none: a, , b\nthree\n!xx: y\n?en: a,,b";
    assert_eq!(faults(table).len(), 6, "{:?}", faults(table));
}

#[test]
fn concept_name_is_optional() {
    let table = ConceptTable::parse("begin, started\nstart, launch, lift off\n.en: is, Has");
    let mut stems: Vec<_> = table
        .stems()
        .map(|(stem, members)| (stem, members.len()))
        .collect();
    stems.sort_unstable();
    assert_eq!(stems, [("begin", 1), ("launch", 1), ("start", 2)]);
    assert!(table.counts_in_names(Language::English, "has"));
    assert!(!table.is_filler(Language::English, "has"));
}

#[test]
fn concept_words_match_in_any_form() {
    let table =
        ConceptTable::parse("delete @delete: delete, get rid of, ~bin | de: löschen | zh: 删除");
    let word = |text: &str| read(text).remove(0);
    assert_eq!(table.of_stem(&word("Deleting").stem).len(), 1);
    assert_eq!(table.of_stem(&word("bin").stem)[0].weight, super::DOUBTFUL);
    assert_eq!(table.of_word(Language::German, &word("lösche")).len(), 1);
    assert!(table.of_word(Language::German, &word("delete")).is_empty());
    assert_eq!(table.tags().next(), Some(Some("delete")));
    let phrase = read("getting rid of them");
    let (members, length) = table
        .of_phrase(Language::English, &phrase)
        .expect("a phrase");
    assert_eq!((members.len(), length), (1, 3));
}

#[test]
fn concept_words_match_inside_other_words() {
    let table =
        ConceptTable::parse("a: x | de: rechnung | zh: 发票\nb: y | de: kunde | zh: 删除, 删");
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
