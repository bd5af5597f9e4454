//! Owned words that can be stored and compared: folded and stemmed.

use std::collections::HashMap;
use std::rc::Rc;

use super::Language;
use super::fold::fold;
use super::split::{Token, tokens};
use super::stem::stem;

/// One word, folded and stemmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word in lower case without accents.
    pub(crate) plain: Rc<str>,
    /// The stem of `plain` in English, by which words are compared.
    pub(crate) stem: Rc<str>,
}

/// Reads the words of a text and splits names into their parts. A short name with digits inside
/// (`k8s`, `s3`, `oauth2`) is one word, because its parts have no meaning. In scripts without
/// spaces, each character is a word.
pub(crate) fn read(text: &str) -> Vec<Word> {
    split(text, Word::new)
}

/// A reader for many texts that allocates each distinct word once.
#[derive(Default)]
pub(crate) struct WordReader {
    known: HashMap<Box<str>, Word>,
}

impl WordReader {
    /// Reads the words of a text in the same way as [`read`].
    pub(crate) fn words(&mut self, text: &str) -> Vec<Word> {
        split(text, |word| {
            if let Some(known) = self.known.get(word) {
                return known.clone();
            }
            let new = Word::new(word);
            self.known.insert(word.into(), new.clone());
            new
        })
    }
}

fn split(text: &str, mut make: impl FnMut(&str) -> Word) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    tokens(text, |token| match token {
        Token::Word(word) => words.push(make(word)),
        Token::Name(name, parts) => {
            if is_short_name(name) {
                words.truncate(words.len().saturating_sub(parts));
                words.push(make(name));
            }
        }
    });
    words
}

impl Word {
    fn new(text: &str) -> Word {
        let plain = fold(text);
        Word {
            stem: (*stem(&plain, Language::English)).into(),
            plain: plain.into(),
        }
    }

    /// Returns `true` for numbers, which say nothing about the purpose of a tool.
    pub(crate) fn is_number(&self) -> bool {
        self.plain.bytes().all(|byte| byte.is_ascii_digit())
    }
}

fn is_short_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.len() <= 6
        && bytes.iter().all(u8::is_ascii_alphanumeric)
        && bytes.iter().any(u8::is_ascii_digit)
        && bytes.first().is_some_and(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests;
