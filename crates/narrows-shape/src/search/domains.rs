//! Profiles of servers and queries over the domains of `domains.txt`. They distinguish servers
//! rather than the tools of one server.

use std::sync::LazyLock;

use super::query_words::QueryWord;
use crate::terms::{self, ConceptMember, ConceptTable, Language, Word};

/// The parsed table of domains.
static DOMAINS: LazyLock<ConceptTable> =
    LazyLock::new(|| ConceptTable::parse(include_str!("domains.txt")));

/// The weight of each domain in a text.
#[derive(Clone, Debug)]
pub(super) struct DomainProfile(Vec<f32>);

/// Reduces the weight of short queries, because a single word is weak evidence for a domain.
const DOUBT: f32 = 0.5;

impl DomainProfile {
    pub(super) fn new() -> DomainProfile {
        DomainProfile(vec![0.0; DOMAINS.len()])
    }

    /// Adds words of a server or of its tools.
    pub(super) fn add(&mut self, words: &[Word], weight: f32) {
        self.add_words(Language::English, words, |_| weight);
    }

    /// Normalises the profile, so that servers are comparable regardless of the number of their
    /// tools. Must be called after the last word.
    pub(super) fn finish(&mut self) {
        self.divide(0.0);
    }

    /// Returns the profile of a line of a query.
    pub(super) fn of_query(
        language: Language,
        words: &[Word],
        said: &[QueryWord],
        text: &str,
    ) -> DomainProfile {
        let mut profile = DomainProfile::new();
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

    /// Returns the similarity of two profiles, from 0 to 1.
    pub(super) fn likeness(&self, other: &DomainProfile) -> f32 {
        self.0.iter().zip(&other.0).map(|(a, b)| a * b).sum()
    }

    fn add_words(&mut self, language: Language, words: &[Word], weight: impl Fn(usize) -> f32) {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let (members, length) = match DOMAINS.of_phrase(language, &words[at..]) {
                Some(phrase) => phrase,
                None => match DOMAINS.of_word(language, word) {
                    // Product names are the same in all languages.
                    [] => (DOMAINS.of_stem(&word.stem), 1),
                    members => (members, 1),
                },
            };
            self.add_members(members, weight(at));
            at += length;
        }
    }

    /// Adds the domains of a word. A word with several domains counts less for each.
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
    fn domain_table_is_valid() {
        assert!(DOMAINS.len() > 30, "{}", DOMAINS.len());
    }
}
