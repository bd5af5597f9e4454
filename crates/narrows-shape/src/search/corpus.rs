//! An index of the words and concepts in texts: BM25 over weighted fields, with alternatives for
//! each term.

use std::collections::HashMap;

use super::actions::Actions;
use super::concepts::CONCEPTS;
use super::query::Ask;
use crate::rank::{Bm25, frequency, rarity};
use crate::terms::{ConceptMember, Language, Word};

/// The fields of a tool are divided by their lengths before they are added up (BM25F), so the total
/// length does not count again. With the usual saturation of 1.2, a right tool is among the first
/// five for 76.2 % instead of 77.0 % of the requests of `bench/exposure`.
const BM25: Bm25 = Bm25 {
    saturation: 2.0,
    length: 0.0,
};
/// The weight of a synonym relative to the word itself.
const SYNONYM: f32 = 0.7;
/// The weight of a phrase. Phrases are rarely ambiguous and count as much as the exact word.
const PHRASE: f32 = 1.0;
/// The weight of the concepts of a single word that is part of a phrase.
const IN_PHRASE: f32 = 0.5;
/// The weight of verbs. Verbs occur in every server; their objects are more specific.
const VERB: f32 = 0.7;
/// The weight of a synonym in a tool's name relative to the word itself.
const SYNONYM_IN_NAME: f32 = 0.8;

/// The words of an index, identified by numbers.
#[derive(Default)]
pub(super) struct Vocabulary {
    numbers: HashMap<String, u32>,
    /// The concepts of each word.
    members: Vec<&'static [ConceptMember]>,
    /// Marks the words that may begin a phrase.
    opens: Vec<bool>,
}

impl Vocabulary {
    pub(super) fn number(&mut self, stem: &str) -> u32 {
        if let Some(&number) = self.numbers.get(stem) {
            return number;
        }
        let number = self.members.len() as u32;
        self.numbers.insert(stem.to_owned(), number);
        self.members.push(CONCEPTS.of_stem(stem));
        self.opens.push(CONCEPTS.opens_phrase(stem));
        number
    }

    fn get(&self, stem: &str) -> Option<u32> {
        self.numbers.get(stem).copied()
    }

    fn members(&self, number: u32) -> &'static [ConceptMember] {
        self.members
            .get(number as usize)
            .copied()
            .unwrap_or_default()
    }
}

/// A text that is being indexed.
pub(super) struct Text {
    terms: Vec<(u32, f32)>,
    /// The weight of each concept in the text.
    concepts: Vec<f32>,
}

impl Text {
    pub(super) fn new() -> Text {
        Text {
            terms: Vec::new(),
            concepts: vec![0.0; CONCEPTS.len()],
        }
    }

    /// Adds the words of a field with `weight`, and their concepts with `weight * part`.
    pub(super) fn add(
        &mut self,
        vocabulary: &mut Vocabulary,
        words: &[Word],
        weight: f32,
        part: f32,
    ) {
        let mut phrase_end = 0;
        for (at, word) in words.iter().enumerate() {
            if word.is_number() {
                continue;
            }
            let number = vocabulary.number(&word.stem);
            self.terms.push((number, weight));
            let mut add = |members: &[ConceptMember], weight: f32| {
                for member in members {
                    if let Some(has) = self.concepts.get_mut(usize::from(member.concept)) {
                        *has += member.weight * weight;
                    }
                }
            };
            if at >= phrase_end
                && vocabulary.opens.get(number as usize) == Some(&true)
                && let Some((members, length)) = CONCEPTS.of_phrase(Language::English, &words[at..])
            {
                add(members, weight * part);
                phrase_end = at + length;
            }
            let share = if at < phrase_end { IN_PHRASE } else { 1.0 };
            add(vocabulary.members(number), weight * part * share);
        }
    }
}

/// An index of texts, which cannot change after it has been built.
#[derive(Default)]
pub(super) struct Corpus {
    terms: Vec<Entries>,
    concepts: Vec<Entries>,
    texts: u32,
}

/// The texts that contain a word or concept, and its rarity.
#[derive(Default)]
struct Entries {
    texts: Vec<(u32, f32)>,
    rarity: f32,
}

impl Corpus {
    pub(super) fn of(texts: Vec<Text>) -> Corpus {
        let mut corpus = Corpus::default();
        for text in texts {
            corpus.push(text);
        }
        let texts = corpus.texts as f32;
        for entries in corpus.terms.iter_mut().chain(&mut corpus.concepts) {
            // A text with only a trace of the word counts as less than one text.
            let with = entries.texts.iter().map(|&(_, has)| (2.0 * has).min(1.0));
            let with: f32 = with.sum();
            entries.rarity = rarity(texts, with);
        }
        corpus
    }

    fn push(&mut self, mut text: Text) {
        let number = self.texts;
        self.texts += 1;
        text.terms.sort_unstable_by_key(|entry| entry.0);
        for same in text.terms.chunk_by(|a, b| a.0 == b.0) {
            push(
                &mut self.terms,
                same[0].0 as usize,
                number,
                same.iter().map(|entry| entry.1).sum(),
            );
        }
        for (concept, has) in text.concepts.into_iter().enumerate() {
            if has > 0.0 {
                push(&mut self.concepts, concept, number, has);
            }
        }
    }

    /// Returns the rarity of a word.
    pub(super) fn rarity(&self, term: u32) -> f32 {
        self.terms
            .get(term as usize)
            .map_or(0.0, |entries| entries.rarity)
    }

    /// Returns the score of each text, from 0 to 1. Of the alternatives for one term, only the best
    /// counts.
    pub(super) fn score(&self, vocabulary: &Vocabulary, asks: &[Ask]) -> Vec<f32> {
        let mut scores = vec![0.0; self.texts as usize];
        let mut best = vec![0.0_f32; self.texts as usize];
        let mut touched: Vec<u32> = Vec::new();
        let mut most = 0.0;
        for ask in asks {
            let mut most_of_ask = 0.0_f32;
            let mut add = |entries: Option<&Entries>, weight: f32| {
                let Some(entries) = entries else { return };
                let weight = weight * entries.rarity;
                most_of_ask = most_of_ask.max(weight);
                for &(text, has) in &entries.texts {
                    let best = &mut best[text as usize];
                    if *best == 0.0 {
                        touched.push(text);
                    }
                    *best = best.max(weight * has);
                }
            };
            if let Some(term) = ask
                .word
                .as_ref()
                .and_then(|word| vocabulary.get(&word.stem))
            {
                add(self.terms.get(term as usize), 1.0);
            }
            // A word with many meanings is weak evidence for each of them.
            let crowd = (ask.members.len().max(1) as f32).powf(-0.25);
            let meant = crowd * if ask.word.is_some() { SYNONYM } else { PHRASE };
            for member in &ask.members {
                add(
                    self.concepts.get(usize::from(member.concept)),
                    meant * member.weight,
                );
            }
            let is_verb = !Actions::of(&ask.members).is_empty();
            let weight = ask.weight * if is_verb { VERB } else { 1.0 };
            for text in touched.drain(..) {
                scores[text as usize] += weight * best[text as usize];
                best[text as usize] = 0.0;
            }
            most += weight * most_of_ask;
        }
        if most > 0.0 {
            scores.iter_mut().for_each(|score| *score /= most);
        }
        scores
    }
}

fn push(all: &mut Vec<Entries>, at: usize, text: u32, weight: f32) {
    if all.len() <= at {
        all.resize_with(at + 1, Entries::default);
    }
    let has = frequency(weight, BM25.half(1.0, 1.0));
    all[at].texts.push((text, has));
}

/// The wanted words and concepts by number, to measure their share in a name.
pub(super) struct Wanted {
    terms: Vec<f32>,
    concepts: Vec<f32>,
}

impl Wanted {
    pub(super) fn new(vocabulary: &Vocabulary, asks: &[Ask]) -> Wanted {
        let mut wanted = Wanted {
            terms: vec![0.0; vocabulary.members.len()],
            concepts: vec![0.0; CONCEPTS.len()],
        };
        for ask in asks {
            if let Some(term) = ask
                .word
                .as_ref()
                .and_then(|word| vocabulary.get(&word.stem))
            {
                raise(&mut wanted.terms, term as usize, ask.weight);
            }
            for member in &ask.members {
                raise(
                    &mut wanted.concepts,
                    usize::from(member.concept),
                    ask.weight * member.weight,
                );
            }
        }
        wanted
    }

    /// Returns the share of a name that the query asks for, from 0 to 1. `name` holds the words and
    /// their shares.
    pub(super) fn covers(&self, vocabulary: &Vocabulary, name: &[(u32, f32)]) -> f32 {
        let covered = name.iter().map(|&(word, share)| {
            let own = self.terms.get(word as usize).copied().unwrap_or_default();
            let members = vocabulary.members(word).iter();
            let meant = members.map(|member| {
                let asked = self.concepts.get(usize::from(member.concept)).copied();
                SYNONYM_IN_NAME * member.weight * asked.unwrap_or_default()
            });
            share * meant.fold(own, f32::max)
        });
        covered.sum()
    }
}

fn raise(all: &mut [f32], at: usize, weight: f32) {
    if let Some(known) = all.get_mut(at) {
        *known = known.max(weight);
    }
}
