//! What a server is for, and what a query is about: profiles over the domains
//! of `domains.txt`. They choose between servers, not between the tools of one.

use std::sync::LazyLock;

use super::query_words::QueryWord;
use crate::terms::{self, ConceptMember, ConceptTable, Language, Word};

/// What servers are for.
static DOMAINS: LazyLock<ConceptTable> =
    LazyLock::new(|| ConceptTable::parse(include_str!("domains.txt")));

/// How much a text is about each domain.
#[derive(Clone, Debug)]
pub(super) struct Profile(Vec<f32>);

/// A query of a single word is less sure of its domain than one of many.
const DOUBT: f32 = 0.5;

impl Profile {
    pub(super) fn new() -> Profile {
        Profile(vec![0.0; DOMAINS.len()])
    }

    /// Adds words of a server or of its tools.
    pub(super) fn add(&mut self, words: &[Word], weight: f32) {
        self.add_words(Language::English, words, |_| weight);
    }

    /// To be called after the last word of a server, so that all are compared
    /// alike, however many tools they have.
    pub(super) fn finish(&mut self) {
        self.divide(0.0);
    }

    /// What a line of a query is about.
    pub(super) fn of_query(
        language: Language,
        words: &[Word],
        said: &[QueryWord],
        text: &str,
    ) -> Profile {
        let mut profile = Profile::new();
        profile.add_words(language, words, |at| {
            said.get(at).map_or(1.0, |said| said.weight)
        });
        for run in terms::signs(text) {
            for members in DOMAINS.inside(Language::Chinese, run, 1) {
                profile.add_members(members, 1.0);
            }
        }
        profile.divide(DOUBT);
        profile
    }

    /// From 0 to 1: how much of the same both are about.
    pub(super) fn likeness(&self, other: &Profile) -> f32 {
        self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum()
    }

    fn add_words(&mut self, language: Language, words: &[Word], weight: impl Fn(usize) -> f32) {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let (members, length) = match DOMAINS.of_phrase(language, &words[at..]) {
                Some(phrase) => phrase,
                None => match DOMAINS.of_word(language, word) {
                    // Names of products are the same everywhere.
                    [] => (DOMAINS.of_stem(&word.stem), 1),
                    members => (members, 1),
                },
            };
            self.add_members(members, weight(at));
            at += length;
        }
    }

    /// A word of several domains says less about each.
    fn add_members(&mut self, members: &[ConceptMember], weight: f32) {
        let share = weight / (members.len().max(1) as f32).sqrt();
        for member in members {
            if let Some(domain) = self.0.get_mut(usize::from(member.concept)) {
                *domain += share;
            }
        }
    }

    fn divide(&mut self, doubt: f32) {
        let length = self.0.iter().map(|part| part * part).sum::<f32>().sqrt();
        if length > 0.0 {
            self.0.iter_mut().for_each(|part| *part /= length + doubt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DOMAINS;

    #[test]
    fn the_table_is_whole() {
        assert!(DOMAINS.len() > 30, "{}", DOMAINS.len());
    }
}
