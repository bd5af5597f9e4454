//! Splits text into words and into tokens, which are words and whole names.
//!
//! Names are split between a lower-case and an upper-case letter, before the last of several
//! capitals (`HTTPServer`), between letters and digits, and at other characters.
//! `HttpServer.read_timeout` gives the words `Http`, `Server`, `read`, `timeout` and the whole
//! name. `10.0.0.7` and `blk_38865049` also give themselves and their parts. Nothing is copied: a
//! token is a slice of the text.

/// A word or a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// The letters of one word, or the digits of one number.
    Word(&'a str),
    /// A name of several words or a number of several parts, with the number of preceding words
    /// that it consists of.
    Name(&'a str, usize),
}

/// Returns the words of a text.
pub(crate) fn words(text: &str) -> Words<'_> {
    Words { text, at: 0 }
}

/// The iterator returned by [`words`].
pub(crate) struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        while self.at < self.text.len() {
            let begin = self.at;
            let (class, width) = class(self.text, begin);
            self.at = match class {
                Class::Gap | Class::Joint => {
                    self.at += width;
                    continue;
                }
                Class::Sign => begin + width,
                _ => word_end(self.text, begin, class),
            };
            return Some(&self.text[begin..self.at]);
        }
        None
    }
}

/// Calls `each` for every token, in the order of the text. A name follows its words.
pub(crate) fn tokens<'a>(text: &'a str, mut each: impl FnMut(Token<'a>)) {
    let mut at = 0;
    while at < text.len() {
        let (class, width) = class(text, at);
        match class {
            Class::Gap | Class::Joint => at += width,
            Class::Sign => {
                each(Token::Word(&text[at..at + width]));
                at += width;
            }
            _ => at = name(text, at, &mut each),
        }
    }
}

/// Reads the tokens of the name at `begin` and returns its end.
fn name<'a>(text: &'a str, begin: usize, each: &mut impl FnMut(Token<'a>)) -> usize {
    let mut words = 0;
    let mut at = begin;
    // The end of the last word. Trailing joints, such as a full stop, are not part of the name.
    let mut end = begin;
    loop {
        let (class, width) = self::class(text, at);
        match class {
            Class::Gap | Class::Sign => break,
            Class::Joint => at += width,
            _ => {
                end = word_end(text, at, class);
                each(Token::Word(&text[at..end]));
                words += 1;
                at = end;
            }
        }
    }
    if words > 1 {
        each(Token::Name(&text[begin..end], words));
    }
    at
}

/// Returns the end of the word at `begin`, whose first character has the class `first`.
fn word_end(text: &str, begin: usize, first: Class) -> usize {
    let (_, width) = class(text, begin);
    let mut at = begin + width;
    let mut before = first;
    while at < text.len() {
        let (class, width) = class(text, at);
        match (before, class) {
            (Class::Digit, Class::Digit)
            | (Class::Lower, Class::Lower)
            | (Class::Upper, Class::Lower) => {}
            (Class::Upper, Class::Upper) => {
                // The last capital of `HTTPServer` before a lower-case letter begins a word.
                let next = at + width;
                if next < text.len() && self::class(text, next).0 == Class::Lower {
                    return at;
                }
            }
            _ => return at,
        }
        before = class;
        at += width;
    }
    at
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Gap,
    /// A character that joins the words of a name.
    Joint,
    Lower,
    Upper,
    Digit,
    /// A character that forms a word alone, in scripts without spaces.
    Sign,
}

/// Returns the class of the character at a position and its length in bytes. The end of the text
/// counts as a gap.
#[inline]
fn class(text: &str, at: usize) -> (Class, usize) {
    match text.as_bytes().get(at) {
        None => (Class::Gap, 1),
        Some(&byte) if byte < 0x80 => (ASCII[byte as usize], 1),
        Some(_) => match text[at..].chars().next() {
            Some(letter) => (wide(letter), letter.len_utf8()),
            None => (Class::Gap, 1),
        },
    }
}

const ASCII: [Class; 128] = {
    let mut classes = [Class::Gap; 128];
    let mut byte = 0;
    while byte < classes.len() {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            b'_' | b'.' | b'-' => Class::Joint,
            _ => Class::Gap,
        };
        byte += 1;
    }
    classes
};

fn wide(letter: char) -> Class {
    match letter {
        '\u{0E00}'..='\u{0EFF}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' => Class::Sign,
        '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}' => Class::Sign,
        _ if letter.is_uppercase() => Class::Upper,
        _ if letter.is_alphabetic() => Class::Lower,
        _ if letter.is_numeric() => Class::Digit,
        // Combining accents belong to the letter before them.
        '\u{0300}'..='\u{036F}' => Class::Lower,
        _ => Class::Gap,
    }
}

/// Returns the runs of characters in scripts without spaces that the tables cover.
pub(crate) fn signs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter| !is_sign(letter))
        .filter(|run| !run.is_empty())
}

/// Returns `true` if a character belongs to a script without spaces that the tables cover.
pub(crate) fn is_sign(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests;
