//! The words that programmers exchange for each other: the table `words.txt`.

use std::sync::LazyLock;

use crate::terms::{ConceptTable, Language};

/// The table, read once.
pub(super) static WORDS: LazyLock<ConceptTable> =
    LazyLock::new(|| ConceptTable::parse(include_str!("words.txt")));

/// Whether a word of a question says nothing about the code that is meant.
pub(super) fn is_empty(word: &str) -> bool {
    WORDS.is_filler(Language::English, word)
}

/// Whether a word may open a question before it says what it is about (`Find
/// where …`, `I need to change …`). Further on it counts.
pub(super) fn is_opening(word: &str) -> bool {
    WORDS.is_framing(Language::English, word)
}

/// Whether a word is so small that it counts in names alone: `from_url`, `is_open`.
pub(super) fn is_small(word: &str) -> bool {
    WORDS.counts_in_names(Language::English, word)
}
