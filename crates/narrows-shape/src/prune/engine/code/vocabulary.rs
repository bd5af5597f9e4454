//! Synonyms that programmers use: the table `words.txt`.

use std::sync::LazyLock;

use crate::terms::{ConceptTable, Language};

/// The parsed table.
pub(super) static WORDS: LazyLock<ConceptTable> =
    LazyLock::new(|| ConceptTable::parse(include_str!("words.txt")));

/// Returns `true` if a word is a filler, which says nothing about the code.
pub(super) fn is_empty(word: &str) -> bool {
    WORDS.is_filler(Language::English, word)
}

/// Returns `true` if a word may open a question before its topic (`Find where …`, `I need to change
/// …`). Later in the question, the word counts.
pub(super) fn is_opening(word: &str) -> bool {
    WORDS.is_framing(Language::English, word)
}

/// Returns `true` if a word is so small that it counts only in names: `from_url`, `is_open`.
pub(super) fn is_small(word: &str) -> bool {
    WORDS.counts_in_names(Language::English, word)
}
