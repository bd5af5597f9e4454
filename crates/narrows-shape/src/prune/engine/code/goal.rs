//! Parses a goal into terms that can be compared with words of code.

use std::collections::{HashMap, HashSet};

use super::vocabulary::{WORDS, is_empty, is_opening, is_small};
use crate::prune::Span;
use crate::terms::{Language, fold, stem, words};

/// A set of terms, one bit each.
pub(super) type Terms = u64;

/// The maximum number of terms and names of a goal that count. A goal is a question; only the
/// beginning of a longer text counts.
const MOST: usize = 64;
/// The maximum number of bytes of a goal that are read.
const READ: usize = 4096;
/// The longest word, in bytes. Anything longer is data.
pub(super) const LONGEST: usize = 48;

/// A parsed goal.
pub(super) struct Goal {
    /// The terms of the goal in lower case.
    terms: Vec<Box<str>>,
    /// The terms by their stems.
    exact: HashMap<Box<str>, Terms>,
    /// The terms by the concepts that they belong to, which are indices into the table.
    related: Vec<Terms>,
    /// The terms by their first and last three bytes, to find words that share them.
    starts: HashMap<[u8; 3], Terms>,
    ends: HashMap<[u8; 3], Terms>,
    /// The names in the goal, by [`name_key`], and whether they are written as code.
    names: HashMap<u64, Mention>,
    /// Set if the goal is about creating something.
    pub(super) creates: bool,
    /// Small words (`from`, `is`), which count only in names.
    pub(super) small: Terms,
    /// All trigrams of the goal, across word boundaries.
    trigrams: HashSet<[u8; 3]>,
    /// The first term, usually the action.
    pub(super) first: Terms,
}

/// The form in which the goal mentions a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mention {
    /// An ordinary word.
    Word,
    /// Code: `like_this`, `likeThis`, in backticks, or before a bracket.
    Code,
}

/// The terms that a word matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TermMatch {
    /// Terms with the same stem.
    pub(super) exact: Terms,
    /// Terms that abbreviate the word or the reverse, or that share its beginning or end.
    pub(super) akin: Terms,
    /// Terms with a similar meaning.
    pub(super) near: Terms,
}

impl TermMatch {
    pub(super) fn all(self) -> Terms {
        self.exact | self.akin | self.near
    }

    pub(super) fn add(&mut self, other: TermMatch) {
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

    /// Returns the form in which the goal mentions a name, if it does.
    pub(super) fn mentions(&self, key: u64) -> Option<Mention> {
        self.names.get(&key).copied()
    }

    /// Returns the terms that a folded word of the text matches.
    pub(super) fn matching(&self, word: &str) -> TermMatch {
        if word.len() > LONGEST {
            return TermMatch::default();
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
        TermMatch {
            exact,
            akin: akin & !exact,
            near: near & !exact & !akin,
        }
    }

    /// Returns the terms with a similar meaning to a word, given its stem.
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

    /// Returns the share of a name's trigrams that also occur in the goal.
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

/// Calls `with` for each term of a set.
pub(super) fn each_term(mut terms: Terms, mut with: impl FnMut(usize)) {
    while terms != 0 {
        with(terms.trailing_zeros() as usize);
        terms &= terms - 1;
    }
}

/// Returns a key that is the same for `read_file`, `readFile` and `_read_file`.
pub(super) fn name_key(name: &str) -> u64 {
    let mut key = NameKey::default();
    name.chars().for_each(|c| key.push(c));
    key.finish()
}

/// Computes a [`name_key`] incrementally, as FNV-1a over the characters.
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

/// Returns `true` if the name at this position is called or is part of a dotted path.
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
    // True for `IOLoop`, but not for `HTTP`.
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

/// Returns `true` if one word abbreviates the other (`cov`, `covariance`), or if both begin with
/// the same root.
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

/// Returns `true` if one word ends with the other, such as `username` and `name`.
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
