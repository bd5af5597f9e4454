//! The terms of a goal, with their weights.
//!
//! A term is a stemmed word or a whole name, identified only by its hash, so that texts are
//! searched without copying words. Each word of the goal is a concept with one term for itself and
//! one for each of its synonyms.

mod synonyms;

use crate::terms::{Language, Token, fold, fold_into, stem, tokens};
use synonyms::WORDS;

/// The maximum number of bytes of a goal that are read. The rest is ignored.
const GOAL_BYTES: usize = 16 << 10;
/// The maximum number of terms of a goal.
const MOST_TERMS: usize = 512;

/// A whole name is more specific than a word.
const NAME: f32 = 2.0;
const SYNONYM: f32 = 0.6;
/// Words that only phrase the question say little about its topic.
const FRAMING: f32 = 0.15;
/// Numbers that are part of a name occur everywhere; the name is what counts.
const NUMBER_IN_NAME: f32 = 0.3;
/// Weight of two words that are adjacent in the goal and close together in the text.
const PAIR: f32 = 0.4;
/// The largest distance of such a pair in the text, in words.
const PAIR_REACH: u32 = 2;

/// The terms of a goal, prepared for searching.
pub(super) struct GoalTerms {
    terms: Vec<GoalTerm>,
    /// A hash table of terms with open addressing. The size is a power of two, and `EMPTY` marks
    /// free places.
    places: Vec<u16>,
    /// The pairs of first bytes that occur, as a filter that rejects most words of a text.
    beginnings: Box<[u64; 1024]>,
    /// Adjacent concepts of the goal, sorted, each pair with its term.
    pairs: Vec<(u16, u16, u16)>,
}

const EMPTY: u16 = u16::MAX;

#[derive(Clone, Copy, Debug)]
pub(super) struct GoalTerm {
    hash: u64,
    /// The index of the goal's own word that the term belongs to.
    pub(super) concept: u16,
    pub(super) weight: f32,
}

impl GoalTerms {
    pub(super) fn of(goal: &str) -> GoalTerms {
        let goal = &goal[..goal.floor_char_boundary(GOAL_BYTES)];
        let mut wanted = wanted(goal, true);
        if wanted.is_empty() {
            wanted = self::wanted(goal, false);
        }
        wanted.truncate(MOST_TERMS);
        let mut terms = GoalTerms {
            terms: Vec::new(),
            places: Vec::new(),
            beginnings: Box::new([0; 1024]),
            pairs: Vec::new(),
        };
        // The goal's own words come first, so that none of them becomes a synonym of another.
        let mut own = Vec::new();
        for &(text, hash, weight) in &wanted {
            let concept = terms.terms.len();
            let plain = fold(text);
            terms.push(&plain, hash, concept, weight);
            own.resize(terms.len(), plain);
        }
        for (concept, word) in own.iter().enumerate() {
            let weight = terms.terms[concept].weight * SYNONYM;
            for synonym in synonyms::of(word) {
                terms.push(synonym, key(synonym, false), concept, weight);
            }
        }
        terms.places = places(&terms.terms);
        terms.pair_up(&wanted);
        terms
    }

    /// Adds a term for each pair of adjacent words in the goal.
    fn pair_up(&mut self, wanted: &[(&str, u64, f32)]) {
        let concepts = wanted.iter().filter_map(|&(_, hash, weight)| {
            let term = self.find(hash)?;
            (weight == 1.0).then_some(term)
        });
        let concepts: Vec<u16> = concepts.collect();
        let mut pairs: Vec<(u16, u16)> = concepts.windows(2).map(|two| (two[0], two[1])).collect();
        pairs.sort();
        pairs.dedup();
        for (first, second) in pairs {
            let term = self.terms.len() as u16;
            self.pairs.push((first, second, term));
            self.terms.push(GoalTerm {
                hash: 0,
                concept: term,
                weight: PAIR,
            });
        }
    }

    /// Adds a term for a folded text, unless one with the same hash exists.
    fn push(&mut self, text: &str, hash: u64, concept: usize, weight: f32) {
        if let Some(known) = self.terms.iter_mut().find(|term| term.hash == hash) {
            known.weight = known.weight.max(weight);
        } else if self.terms.len() < MOST_TERMS {
            self.terms.push(GoalTerm {
                hash,
                concept: concept as u16,
                weight,
            });
            for pair in beginnings(text) {
                self.beginnings[pair / 64] |= 1 << (pair % 64);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }

    pub(super) fn get(&self, term: u16) -> GoalTerm {
        self.terms[term as usize]
    }

    /// Calls `hit` for every term in the text and returns the number of words in it.
    pub(super) fn search(&self, text: &str, scratch: &mut String, mut hit: impl FnMut(u16)) -> u32 {
        let mut words = 0;
        // The last concept found, and the number of words up to it.
        let mut last: Option<(u16, u32)> = None;
        tokens(text, |token| {
            let (text, is_name) = match token {
                Token::Word(text) => {
                    words += 1;
                    (text, false)
                }
                Token::Name(text, _) => (text, true),
            };
            let pair = beginning(text);
            if self.beginnings[pair / 64] & (1 << (pair % 64)) != 0
                && let Some(term) = self.find(hash(text, is_name, scratch))
            {
                hit(term);
                if is_name {
                    return;
                }
                let concept = self.terms[term as usize].concept;
                if let Some((before, place)) = last
                    && words - place <= PAIR_REACH
                    && let Some(pair) = self.pair(before, concept)
                {
                    hit(pair);
                }
                last = Some((concept, words));
            }
        });
        words
    }

    fn pair(&self, first: u16, second: u16) -> Option<u16> {
        let key = |&(before, after, _): &(u16, u16, u16)| (before, after);
        let at = self
            .pairs
            .binary_search_by_key(&(first, second), key)
            .ok()?;
        Some(self.pairs[at].2)
    }

    fn find(&self, hash: u64) -> Option<u16> {
        let mask = self.places.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let term = self.places[at];
            if term == EMPTY {
                return None;
            }
            if self.terms[term as usize].hash == hash {
                return Some(term);
            }
            at = (at + 1) & mask;
        }
    }
}

/// Returns the words and names of a goal with their hashes and weights. Without `sieve`, the result
/// includes fillers, because a goal may consist of nothing else.
fn wanted(goal: &str, sieve: bool) -> Vec<(&str, u64, f32)> {
    let mut wanted = Vec::new();
    let mut scratch = String::new();
    tokens(goal, |token| match token {
        Token::Word(word) => {
            let plain = fold(word);
            let is_letter = plain.len() == 1 && !is_number(&plain);
            let weight = if sieve && (is_letter || WORDS.is_filler(Language::English, &plain)) {
                0.0
            } else if WORDS.is_framing(Language::English, &plain) {
                FRAMING
            } else {
                1.0
            };
            wanted.push((word, hash(word, false, &mut scratch), weight));
        }
        Token::Name(name, words) => {
            let parts = wanted.iter_mut().rev().take(words);
            for (_, _, weight) in parts.filter(|(part, _, _)| is_number(part)) {
                *weight = NUMBER_IN_NAME;
            }
            wanted.push((name, hash(name, true, &mut scratch), NAME));
        }
    });
    wanted.retain(|&(_, _, weight)| weight > 0.0);
    wanted
}

fn is_number(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
}

/// Returns a filter key from the first two bytes in lower case, which is enough to reject most
/// words.
fn beginning(text: &str) -> usize {
    let byte = |at: usize| match text.as_bytes().get(at) {
        Some(byte) if byte.is_ascii() => usize::from(byte.to_ascii_lowercase()),
        // Letters such as `é` and `œ`, which fold to ASCII, begin with these bytes.
        Some(0xc3 | 0xc5) => ACCENTED,
        Some(_) => OTHER,
        None => 0,
    };
    // After a non-ASCII first byte, the second byte is ignored, because upper-case and lower-case
    // letters may differ in both.
    match byte(0) {
        first @ (ACCENTED | OTHER) => first << 8 | first,
        first => first << 8 | byte(1),
    }
}

const ACCENTED: usize = 0xff;
const OTHER: usize = 0xfe;

/// Returns the filter keys of all texts that fold to `folded`.
fn beginnings(folded: &str) -> [usize; 4] {
    let own = beginning(folded);
    let first = own & 0xff00;
    [
        own,
        first | ACCENTED,
        first | OTHER,
        ACCENTED << 8 | ACCENTED,
    ]
}

/// Returns the hash of a word or name. Words are stemmed; names are not, and never equal a word.
fn hash(text: &str, is_name: bool, scratch: &mut String) -> u64 {
    scratch.clear();
    fold_into(text, scratch);
    match is_name {
        true => key(scratch, true),
        false => key(&stem(scratch, Language::English), false),
    }
}

/// Returns the hash of a folded name or of the stem of a word.
fn key(known: &str, is_name: bool) -> u64 {
    let seed = 0xcbf2_9ce4_8422_2325 ^ u64::from(is_name);
    let mixed = known.bytes().fold(seed, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    mixed ^ mixed >> 32
}

fn places(terms: &[GoalTerm]) -> Vec<u16> {
    let size = (terms.len() * 4).next_power_of_two().max(8);
    let mut places = vec![EMPTY; size];
    for (index, term) in terms.iter().enumerate() {
        let mut at = term.hash as usize & (size - 1);
        while places[at] != EMPTY {
            at = (at + 1) & (size - 1);
        }
        places[at] = index as u16;
    }
    places
}

#[cfg(test)]
mod tests;
