//! Text as words, and as tokens: names whole, and the words they are made of.
//!
//! Names are split where a small letter meets a capital one, where the last of
//! several capitals begins a word (`HTTPServer`), between letters and digits, and
//! at whatever is neither. `HttpServer.read_timeout` is the words `Http`, `Server`, `read`, `timeout`
//! and itself; `10.0.0.7` and `blk_38865049` are themselves and their parts.
//! Nothing is copied: a token is a piece of the text.

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Letters of one word, or the digits of one number.
    Word(&'a str),
    /// A name of several words, a number of several parts, or a mix of both, and
    /// how many words came before it that it is made of.
    Name(&'a str, usize),
}

/// Returns the words of a text.
pub(crate) fn words(text: &str) -> Words<'_> {
    Words { text, at: 0 }
}

/// See [`words`].
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

/// Calls `each` for every token, in the order of the text; a name comes after
/// the words it is made of.
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

/// The tokens of the name that begins here; returns where it ends.
fn name<'a>(text: &'a str, begin: usize, each: &mut impl FnMut(Token<'a>)) -> usize {
    let mut words = 0;
    let mut at = begin;
    // Behind the last word: joints at the end (a full stop) are no part of the name.
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

/// Where the word ends that begins here with this class.
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
                // The last capital of `HTTPServer` before a small letter opens a word.
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
    /// What holds the words of a name together.
    Joint,
    Lower,
    Upper,
    Digit,
    /// A letter that is a word: scripts without spaces.
    Sign,
}

/// The class of the letter at a place, and how many bytes it takes. Behind the
/// end there is a gap.
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
        // Accents that stand alone belong to the letter before them.
        '\u{0300}'..='\u{036F}' => Class::Lower,
        _ => Class::Gap,
    }
}

/// Returns the runs of letters of scripts without spaces between words that the
/// tables know.
pub(crate) fn signs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter| !is_sign(letter))
        .filter(|run| !run.is_empty())
}

/// Returns true if a letter belongs to such a script.
pub(crate) fn is_sign(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests;
