//! Synonyms that people use when they ask about software.

use std::sync::LazyLock;

use crate::terms::{ConceptTable, Language, fold, stem};

/// The parsed table `words.txt`.
pub(super) static WORDS: LazyLock<ConceptTable> =
    LazyLock::new(|| ConceptTable::parse(include_str!("words.txt")));

/// The stems of each concept.
static STEMS: LazyLock<Vec<Vec<&str>>> = LazyLock::new(|| {
    let mut stems = vec![Vec::new(); WORDS.len()];
    for (stem, members) in WORDS.stems() {
        for member in members {
            stems[usize::from(member.concept)].push(stem);
        }
    }
    // Sorting gives the same order in every process.
    stems.iter_mut().for_each(|stems| stems.sort_unstable());
    stems
});

/// Returns the stems of the synonyms of a word.
pub(super) fn of(word: &str) -> impl Iterator<Item = &'static str> {
    let plain = fold(word);
    let members = WORDS.of_stem(&stem(&plain, Language::English)).iter();
    members.flat_map(|member| STEMS[usize::from(member.concept)].iter().copied())
}
