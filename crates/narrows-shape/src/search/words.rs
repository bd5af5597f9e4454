//! Text as words that can be compared: split, in small letters, without accents
//! and without endings.

use std::collections::HashMap;
use std::rc::Rc;

use crate::prune::engine::terms::english;
use crate::prune::engine::terms::tokens::{self, Token};

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Small letters without accents.
    pub(super) plain: Rc<str>,
    /// The same without its English ending: what words are compared by.
    pub(super) stem: Rc<str>,
}

/// The words of a text, names split into their parts. A short name with digits
/// inside (`k8s`, `s3`, `oauth2`) is one word, since its parts say nothing.
/// Signs of scripts without spaces are a word each.
pub(super) fn words(text: &str) -> Vec<Word> {
    split(text, Word::new)
}

/// Reads many texts: a word that was there before is not made again.
#[derive(Default)]
pub(super) struct Reader {
    known: HashMap<Box<str>, Word>,
}

impl Reader {
    /// The words of a text, as [`words`] has them.
    pub(super) fn words(&mut self, text: &str) -> Vec<Word> {
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
    tokens::each(text, |token| match token {
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
        let stem = stem(&plain);
        Word {
            plain: plain.into(),
            stem: stem.into(),
        }
    }

    /// Digits say nothing about what a tool does.
    pub(super) fn is_number(&self) -> bool {
        self.plain.bytes().all(|byte| byte.is_ascii_digit())
    }
}

/// Small letters, those of the Latin script without their accents.
pub(super) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii() {
            folded.push(letter.to_ascii_lowercase());
            continue;
        }
        for letter in letter.to_lowercase() {
            match letter {
                'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' => folded.push('a'),
                'ç' => folded.push('c'),
                'è' | 'é' | 'ê' | 'ë' => folded.push('e'),
                'ì' | 'í' | 'î' | 'ï' => folded.push('i'),
                'ñ' => folded.push('n'),
                'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' => folded.push('o'),
                'ù' | 'ú' | 'û' | 'ü' => folded.push('u'),
                'œ' => folded.push_str("oe"),
                'æ' => folded.push_str("ae"),
                'ß' => folded.push_str("ss"),
                // Accents that stand alone, as decomposed text has them.
                '\u{0300}'..='\u{036F}' => {}
                _ => folded.push(letter),
            }
        }
    }
    folded
}

/// The word without its English endings.
pub(super) fn stem(plain: &str) -> String {
    let mut bytes = plain.as_bytes().to_vec();
    english::stem(&mut bytes);
    String::from_utf8(bytes).unwrap_or_else(|_| plain.to_owned())
}

/// The word without the endings that French, German and Spanish have in common
/// enough: whatever of them is cut is cut from the words of the table as well.
pub(super) fn stem_abroad(plain: &str) -> &str {
    let mut stem = plain;
    while let Some(shorter) = stem.strip_suffix(['a', 'e', 'i', 'o', 's', 'n', 'r', 't', 'm', 'z'])
        && shorter.len() >= 4
    {
        stem = shorter;
    }
    stem
}

/// The runs of letters of scripts without spaces between words.
pub(super) fn signs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter| !is_sign(letter))
        .filter(|run| !run.is_empty())
}

/// Whether a letter belongs to a script without spaces between words.
pub(super) fn is_sign(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
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
