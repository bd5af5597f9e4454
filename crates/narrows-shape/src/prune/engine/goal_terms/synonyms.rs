//! Words that people use for one another when they ask about software.

use std::sync::LazyLock;

use crate::terms::{ConceptTable, Language, fold, stem};

/// The table `words.txt`, read once.
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
    // The same order in every process.
    stems.iter_mut().for_each(|stems| stems.sort_unstable());
    stems
});

/// Returns the synonyms of a word, by their stems.
pub(super) fn of(word: &str) -> impl Iterator<Item = &'static str> {
    let plain = fold(word);
    let members = WORDS.of_stem(&stem(&plain, Language::English)).iter();
    members.flat_map(|member| STEMS[usize::from(member.concept)].iter().copied())
}
