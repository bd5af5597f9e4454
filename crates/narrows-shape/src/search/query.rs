//! Parses the lines of a query: the words with their weights, their concepts, and the wanted
//! action.

use super::actions::Actions;
use super::concepts::CONCEPTS;
use super::domains::DomainProfile;
use super::query_words;
use crate::terms::{self, ConceptMember, Language, Word};

/// The maximum number of lines of a query. Each line is another wording of the same request.
const MOST_LINES: usize = 16;
/// The maximum number of characters of a query.
const MOST_LETTERS: usize = 4000;
/// The maximum number of words or phrases of a line that are searched for.
const MOST_ASKS: usize = 64;
/// The length in bytes of German words that may be compounds.
const COMPOUND: std::ops::RangeInclusive<usize> = 8..=64;
/// The minimum number of letters of a word inside a compound.
const COMPOUND_PART: usize = 4;

/// The weight of a word that is part of a known phrase.
const IN_PHRASE: f32 = 0.4;
/// The weight of the concepts of a capitalised word inside an English sentence, which is probably a
/// name and not a verb.
const NAME: f32 = 0.5;
/// The weight of a phrase with other words in between, relative to an exact phrase.
const LOOSE: f32 = 0.6;
/// The maximum number of phrases of this kind that are searched for.
const MOST_LOOSE: usize = 6;
/// The lowest weight of a word that determines the action.
const LEAST_TO_ACT: f32 = 0.5;

/// One line of a query.
pub(super) struct Line {
    pub(super) asks: Vec<Ask>,
    /// The wanted actions, if the line indicates any.
    pub(super) actions: Actions,
    pub(super) about: DomainProfile,
}

/// A word or phrase to search for.
pub(super) struct Ask {
    /// The word, unless this is a phrase.
    pub(super) word: Option<Word>,
    /// The concepts of the word or phrase.
    pub(super) members: Vec<ConceptMember>,
    pub(super) weight: f32,
}

/// Returns the lines of a query that contain search terms.
pub(super) fn lines(query: &str) -> Vec<Line> {
    let end = query
        .char_indices()
        .nth(MOST_LETTERS)
        .map_or(query.len(), |(at, _)| at);
    let lines = query[..end].lines().filter(|line| !line.trim().is_empty());
    let lines = lines.take(MOST_LINES).map(|text| {
        let line = Line::read(text, true);
        // The names of some tools consist only of fillers.
        if line.asks.is_empty() {
            Line::read(text, false)
        } else {
            line
        }
    });
    lines.filter(|line| !line.asks.is_empty()).collect()
}

impl Line {
    fn read(text: &str, without_fillers: bool) -> Line {
        let said = query_words::read(text);
        let words: Vec<Word> = said.iter().map(|said| said.word.clone()).collect();
        let language = CONCEPTS.language(&words);
        let is_question = words
            .first()
            .is_some_and(|word| CONCEPTS.is_framing(language, &word.plain));
        let mut line = Line {
            asks: Vec::new(),
            actions: if is_question {
                Actions::READ
            } else {
                Actions::default()
            },
            about: DomainProfile::of_query(language, &words, &said, text),
        };
        let weights: Vec<f32> = said.iter().map(|said| said.weight).collect();
        let mut phrase_end = 0;
        for (at, said) in said.into_iter().enumerate() {
            let mut weight = said.weight;
            if at >= phrase_end
                && let Some((members, length)) = CONCEPTS.of_phrase(language, &words[at..])
            {
                line.push(None, members.to_vec(), weight);
                phrase_end = at + length;
            }
            if at < phrase_end {
                weight *= IN_PHRASE;
            }
            let is_letter = said.word.plain.chars().nth(1).is_none();
            let is_filler = is_letter || CONCEPTS.is_filler(language, &said.word.plain);
            if said.word.is_number() || without_fillers && is_filler {
                continue;
            }
            let mut members = members_of(language, &said.word);
            if said.is_name && language == Language::English {
                members.iter_mut().for_each(|member| member.weight *= NAME);
            }
            line.push(Some(said.word), members, weight);
        }
        line.push_loose(CONCEPTS.of_loose_phrases(language, words.iter().zip(weights)));
        for run in terms::signs(text) {
            for members in CONCEPTS.inside(Language::Chinese, run, 1) {
                line.push(None, members.to_vec(), 1.0);
            }
        }
        line
    }

    /// Adds phrases whose words are not adjacent, unless the query contains the same concept as an
    /// exact phrase.
    fn push_loose(&mut self, loose: Vec<ConceptMember>) {
        let phrases = self.asks.iter().filter(|ask| ask.word.is_none());
        let said = phrases.flat_map(|ask| ask.members.iter().map(|member| member.concept));
        let said: Vec<u16> = said.collect();
        let loose = loose
            .into_iter()
            .filter(|member| !said.contains(&member.concept));
        for ConceptMember { concept, weight } in loose.take(MOST_LOOSE) {
            let member = ConceptMember {
                concept,
                weight: 1.0,
            };
            self.push(None, vec![member], LOOSE * weight);
        }
    }

    fn push(&mut self, word: Option<Word>, members: Vec<ConceptMember>, weight: f32) {
        if self.asks.len() >= MOST_ASKS {
            return;
        }
        // The first verb determines the action; later words describe its object.
        if self.actions.is_empty() && weight >= LEAST_TO_ACT {
            self.actions = Actions::of(&members);
        }
        self.asks.push(Ask {
            word,
            members,
            weight,
        });
    }
}

/// Returns the concepts of a word. A word unknown in the language may be a compound or an English
/// word.
fn members_of(language: Language, word: &Word) -> Vec<ConceptMember> {
    let known = CONCEPTS.of_word(language, word);
    if !known.is_empty() {
        return known.to_vec();
    }
    if language == Language::German && COMPOUND.contains(&word.plain.len()) {
        let parts = CONCEPTS.inside(language, &word.plain, COMPOUND_PART);
        if !parts.is_empty() {
            return parts.concat();
        }
    }
    CONCEPTS.of_stem(&word.stem).to_vec()
}

#[cfg(test)]
mod tests;
