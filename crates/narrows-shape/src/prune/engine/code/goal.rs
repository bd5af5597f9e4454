//! What a goal asks for, as terms that words of code can be compared with.

use std::collections::{HashMap, HashSet};

use super::vocabulary::{WORDS, is_empty, is_opening, is_small};
use crate::prune::Span;
use crate::terms::{Language, fold, stem, words};

/// A set of terms, one bit each.
pub(super) type Terms = u64;

/// How many terms and names of a goal count. A goal is a question; of a whole
/// essay the beginning is taken.
const MOST: usize = 64;
/// So much of a goal is read.
const READ: usize = 4096;
/// No word is longer; what is, is data.
pub(super) const LONGEST: usize = 48;

/// A goal, taken apart.
pub(super) struct Goal {
    /// The terms as the goal has them, in small letters.
    terms: Vec<Box<str>>,
    /// Terms by their stem.
    exact: HashMap<Box<str>, Terms>,
    /// Terms by the concepts that they stand for, which are places in the table.
    related: Vec<Terms>,
    /// Terms by their first and last letters, to find words that share them.
    starts: HashMap<[u8; 3], Terms>,
    ends: HashMap<[u8; 3], Terms>,
    /// Names that the goal spells out, by [`name_key`], and whether they are
    /// written as code is.
    names: HashMap<u64, Mention>,
    /// The goal is about making something.
    pub(super) creates: bool,
    /// Small words (`from`, `is`): they count in names alone.
    pub(super) small: Terms,
    /// Every three letters of the goal in a row, whatever parts its words.
    trigrams: HashSet<[u8; 3]>,
    /// The first term, most often what is done.
    pub(super) first: Terms,
}

/// How the goal mentions a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mention {
    /// As a word that could be any other.
    Word,
    /// As code: `like_this`, `likeThis`, in backticks, before a bracket.
    Code,
}

/// The terms that a word stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Match {
    /// It is the word, but for its ending.
    pub(super) exact: Terms,
    /// It is short for the word, or the other way round, or has the same root.
    pub(super) akin: Terms,
    /// It means about the same.
    pub(super) near: Terms,
}

impl Match {
    pub(super) fn all(self) -> Terms {
        self.exact | self.akin | self.near
    }

    pub(super) fn add(&mut self, other: Match) {
        self.exact |= other.exact;
        self.akin |= other.akin;
        self.near |= other.near;
    }
}

impl Goal {
    pub(super) fn new(text: &str) -> Goal {
        let text = &text[..text.floor_char_boundary(READ)];
        let mut goal = Goal {
            terms: Vec::new(),
            exact: HashMap::new(),
            related: vec![0; WORDS.len()],
            starts: HashMap::new(),
            ends: HashMap::new(),
            names: HashMap::new(),
            creates: false,
            small: 0,
            first: 0,
            trigrams: trigrams(text).take(LONGEST * MOST).collect(),
        };
        let mut opening = true;
        let mut backticks = false;
        let mut at = 0;
        while at < text.len() && goal.names.len() < MOST {
            let rest = &text[at..];
            let length = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
            if length == 0 {
                let c = rest.chars().next().unwrap_or(' ');
                backticks ^= c == '`';
                opening |= matches!(c, '.' | ',' | ';' | ':' | '?' | '!' | '\n')
                    && !text[at + c.len_utf8()..].starts_with(is_name);
                at += c.len_utf8();
                continue;
            }
            let name = &rest[..length];
            let code = backticks || stands_as_code(text, at..at + length) || looks_like_code(name);
            goal.mention(name, if code { Mention::Code } else { Mention::Word });
            for word in words(name) {
                let word = fold(word);
                if opening && !code && (is_opening(&word) || is_empty(&word) || is_small(&word)) {
                    continue;
                }
                opening = false;
                goal.add(&word, code);
            }
            at += length;
        }
        goal.creates = goal.related(&stem("construct", Language::English)) & goal.first != 0;
        goal
    }

    /// How the goal mentions a name, if it does.
    pub(super) fn mentions(&self, key: u64) -> Option<Mention> {
        self.names.get(&key).copied()
    }

    /// The terms that a word of the text stands for; the word is folded.
    pub(super) fn matching(&self, word: &str) -> Match {
        if word.len() > LONGEST {
            return Match::default();
        }
        let root = stem(word, Language::English);
        let exact = self.exact.get(&*root).copied().unwrap_or(0);
        let near = self.related(&root);
        let mut akin = 0;
        if let Some(key) = ends_of(word) {
            let candidates = self.starts.get(&key.0).copied().unwrap_or(0);
            akin |= self.filtered(candidates, |term| shares_start(term, word));
            let candidates = self.ends.get(&key.1).copied().unwrap_or(0);
            akin |= self.filtered(candidates, |term| shares_end(term, word));
        }
        Match {
            exact,
            akin: akin & !exact,
            near: near & !exact & !akin,
        }
    }

    /// The terms that mean about the same as a word, by its stem.
    fn related(&self, root: &str) -> Terms {
        let members = WORDS.of_stem(root).iter();
        let terms = members.map(|member| self.related[usize::from(member.concept)]);
        terms.fold(0, |all, terms| all | terms)
    }

    fn filtered(&self, mut candidates: Terms, fits: impl Fn(&str) -> bool) -> Terms {
        let mut found = 0;
        while candidates != 0 {
            let at = candidates.trailing_zeros() as usize;
            candidates &= candidates - 1;
            if fits(&self.terms[at]) {
                found |= 1 << at;
            }
        }
        found
    }

    fn mention(&mut self, name: &str, how: Mention) {
        let key = name_key(name);
        let known = self.names.entry(key).or_insert(how);
        *known = (*known).max(how);
    }

    fn add(&mut self, word: &str, code: bool) {
        let small = !code && is_small(word);
        if word.len() > LONGEST || (!code && is_empty(word)) || self.terms.len() >= MOST {
            return;
        }
        if word.len() < 2 && !word.bytes().all(|byte| byte.is_ascii_digit()) && !code {
            return;
        }
        let root = stem(word, Language::English);
        if self.exact.contains_key(&*root) {
            return;
        }
        let bit = 1 << self.terms.len();
        self.exact.insert((*root).into(), bit);
        for member in WORDS.of_stem(&root) {
            self.related[usize::from(member.concept)] |= bit;
        }
        if small {
            self.small |= bit;
        } else {
            if self.first == 0 {
                self.first = bit;
            }
            if let Some((start, end)) = ends_of(word) {
                *self.starts.entry(start).or_default() |= bit;
                *self.ends.entry(end).or_default() |= bit;
            }
        }
        self.terms.push(word.into());
    }

    /// Which share of the letters of a name, three in a row, the goal has.
    pub(super) fn likeness(&self, name: &str) -> f32 {
        let (mut all, mut shared) = (0, 0);
        for three in trigrams(name).take(LONGEST) {
            all += 1;
            shared += usize::from(self.trigrams.contains(&three));
        }
        if all == 0 {
            0.0
        } else {
            shared as f32 / all as f32
        }
    }

    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }
}

/// Calls back with each term of a set.
pub(super) fn each_term(mut terms: Terms, mut with: impl FnMut(usize)) {
    while terms != 0 {
        with(terms.trailing_zeros() as usize);
        terms &= terms - 1;
    }
}

/// The same for `read_file`, `readFile` and `_read_file`.
pub(super) fn name_key(name: &str) -> u64 {
    let mut key = NameKey::default();
    name.chars().for_each(|c| key.push(c));
    key.finish()
}

/// A [`name_key`] in the making: FNV-1a over the letters.
#[derive(Clone, Copy)]
pub(super) struct NameKey(u64);

impl Default for NameKey {
    fn default() -> NameKey {
        NameKey(0xcbf2_9ce4_8422_2325)
    }
}

impl NameKey {
    pub(super) fn push(&mut self, c: char) {
        if c == '_' || c == '$' {
            return;
        }
        let c = c.to_ascii_lowercase() as u64;
        self.0 = (self.0 ^ c).wrapping_mul(0x0100_0000_01b3);
    }

    pub(super) fn finish(self) -> u64 {
        self.0
    }
}

pub(super) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Whether the name at this place is called, or has a dot within.
fn stands_as_code(text: &str, at: Span) -> bool {
    let behind = &text[at.end..];
    let dot_behind = behind
        .strip_prefix('.')
        .is_some_and(|rest| rest.starts_with(is_name));
    behind.starts_with('(') || dot_behind || text[..at.start].ends_with('.')
}

fn looks_like_code(name: &str) -> bool {
    let mut before = ' ';
    let mut capitals = 0;
    for c in name.chars() {
        if c == '_' || c == '$' || (c.is_uppercase() && before.is_lowercase()) {
            return true;
        }
        capitals += usize::from(c.is_uppercase());
        before = c;
    }
    // `IOLoop`, but not `HTTP`.
    capitals >= 2 && before.is_lowercase() && name.len() > capitals + 1
}

fn trigrams(text: &str) -> impl Iterator<Item = [u8; 3]> {
    let mut letters = text
        .bytes()
        .filter(u8::is_ascii_alphanumeric)
        .map(|byte| byte.to_ascii_lowercase());
    let mut three = [0, letters.next().unwrap_or(0), letters.next().unwrap_or(0)];
    letters.map(move |letter| {
        three = [three[1], three[2], letter];
        three
    })
}

fn ends_of(word: &str) -> Option<([u8; 3], [u8; 3])> {
    let bytes = word.as_bytes();
    let start = *bytes.first_chunk::<3>()?;
    let end = *bytes.last_chunk::<3>()?;
    Some((start, end))
}

/// One is short for the other (`cov`, `covariance`), or both grow from one root.
fn shares_start(term: &str, word: &str) -> bool {
    let (short, long) = if term.len() < word.len() {
        (term, word)
    } else {
        (word, term)
    };
    let common = short
        .bytes()
        .zip(long.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    common == short.len() || (common >= 5 && common * 5 >= long.len() * 3)
}

/// One ends with the other: `username`, `name`.
fn shares_end(term: &str, word: &str) -> bool {
    let (short, long) = if term.len() < word.len() {
        (term, word)
    } else {
        (word, term)
    };
    short.len() >= 4 && long.ends_with(short)
}

#[cfg(test)]
mod tests;
