//! Strings: where nearly all bytes of a large message are, and the only place
//! where they can be anything else than ASCII.
//!
//! Blocks of 32 bytes are tested at once by a loop without branches, which
//! compilers turn into vector instructions for any machine; inside the block
//! that has what is looked for, words of 8 bytes find its place.

use super::{Found, fault};

/// The end of the string whose opening quote stands at `quote`.
#[inline]
pub(super) fn string(text: &[u8], quote: usize) -> Found {
    let mut not_ascii = false;
    match short_string(text, quote, &mut not_ascii) {
        Some(end) if !not_ascii => Ok(end),
        _ => long_string(text, quote),
    }
}

/// The end of a string in a text known to be valid.
#[inline]
pub(super) fn skip(text: &[u8], quote: usize) -> usize {
    match short_string(text, quote, &mut false) {
        Some(end) => end,
        None => skip_long(text, quote),
    }
}

/// Keys and short values end within the first word, and this much is small
/// enough to be inlined where they are met.
#[inline(always)]
fn short_string(text: &[u8], quote: usize, not_ascii: &mut bool) -> Option<usize> {
    let place = find_in_word(chunk(text, quote + 1)?, not_ascii)?;
    let end = quote + 1 + place;
    (text.get(end) == Some(&b'"')).then_some(end + 1)
}

/// Only quotes matter here, and of those the ones that are not escaped, so
/// this looks for nothing else: long texts have many more escapes than quotes.
#[inline(never)]
fn skip_long(text: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while let Some(found) = memchr::memchr(b'"', text.get(at..).unwrap_or_default()) {
        let found = at + found;
        // Each backslash is counted for one quote only: a run of them ends at
        // the quote before, at the latest.
        let backslashes = text[at..found]
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count();
        at = found + 1;
        if backslashes % 2 == 0 {
            return at;
        }
    }
    debug_assert!(false, "only checked texts are skipped through");
    text.len()
}

#[inline(never)]
fn long_string(text: &[u8], quote: usize) -> Found {
    let mut search = Search::default();
    let mut at = quote + 1;
    loop {
        at = search.next(text, at);
        match text.get(at) {
            Some(b'"') => break,
            Some(b'\\') => at = escape(text, at)?,
            Some(_) => return fault(at, "a control character in a string"),
            None => return fault(at, "the text ends inside a string"),
        }
    }
    if search.not_ascii {
        utf8(text, quote + 1, at)?;
    }
    Ok(at + 1)
}

fn escape(text: &[u8], at: usize) -> Found {
    match text.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => match text.get(at + 2..at + 6) {
            // Lone surrogates are allowed: the grammar knows nothing of pairs.
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => Ok(at + 6),
            _ => fault(at, "a \\u escape without four hex digits"),
        },
        _ => fault(at, "an unknown escape"),
    }
}

/// Both ends stand beside an ASCII character, as does every place the scanner
/// gives out: a slice of a checked text is UTF-8 as well.
fn utf8(text: &[u8], start: usize, end: usize) -> Found<()> {
    match simdutf8::compat::from_utf8(&text[start..end]) {
        Ok(_) => Ok(()),
        Err(error) => fault(start + error.valid_up_to(), "not UTF-8"),
    }
}

/// Finds the bytes that a string cannot simply contain, one after the other:
/// quotes, backslashes and control characters.
#[derive(Default)]
pub(crate) struct Search {
    /// Set if a byte before the last place given out, or shortly after it, is
    /// not ASCII.
    not_ascii: bool,
    /// Escapes come in swarms, as in JSON within JSON. While they do, the next
    /// one is looked for word by word before whole blocks are tested.
    crowded: bool,
}

impl Search {
    /// The next such byte at or after `at`; the text's length if none comes.
    #[inline(always)]
    pub(crate) fn next(&mut self, text: &[u8], at: usize) -> usize {
        let found = match self.crowded {
            true => self.near(text, at),
            false => self.far(text, at),
        };
        self.crowded = found < at + 2 * WORD;
        found
    }

    #[inline(always)]
    fn near(&mut self, text: &[u8], at: usize) -> usize {
        let mut at = at;
        for _ in 0..2 {
            let Some(word) = chunk(text, at) else { break };
            if let Some(place) = find_in_word(word, &mut self.not_ascii) {
                return at + place;
            }
            at += WORD;
        }
        self.far(text, at)
    }

    #[inline(always)]
    fn far(&mut self, text: &[u8], at: usize) -> usize {
        let mut at = at;
        while let Some(block) = chunk::<BLOCK>(text, at) {
            let mut special = false;
            let mut high = false;
            // No `||`: a branch would keep this from becoming vector instructions.
            for &byte in block {
                special |= (byte == b'"') | (byte == b'\\') | (byte < 0x20);
                high |= byte >= 0x80;
            }
            self.not_ascii |= high;
            if special {
                break;
            }
            at += BLOCK;
        }
        while let Some(word) = chunk(text, at) {
            if let Some(place) = find_in_word(word, &mut self.not_ascii) {
                return at + place;
            }
            at += WORD;
        }
        while let Some(&byte) = text.get(at) {
            self.not_ascii |= byte >= 0x80;
            if byte == b'"' || byte == b'\\' || byte < 0x20 {
                break;
            }
            at += 1;
        }
        at
    }
}

const BLOCK: usize = 32;
const WORD: usize = 8;

/// Where the first special byte of a word stands.
#[inline(always)]
fn find_in_word(word: &[u8; WORD], not_ascii: &mut bool) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; WORD]);
    const HIGH_BITS: u64 = ONES << 7;
    let word = u64::from_le_bytes(*word);
    *not_ascii |= word & HIGH_BITS != 0;
    // A byte is below a bound if subtracting the bound sets its high bit. A
    // borrow can mark the bytes after a true match wrongly, never one before.
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let marks = (quote.wrapping_sub(ONES) & !quote)
        | (backslash.wrapping_sub(ONES) & !backslash)
        | (word.wrapping_sub(ONES * 0x20) & !word);
    let marks = marks & HIGH_BITS;
    (marks != 0).then_some(marks.trailing_zeros() as usize / 8)
}

#[inline(always)]
fn chunk<const N: usize>(text: &[u8], at: usize) -> Option<&[u8; N]> {
    text.get(at..)?.first_chunk()
}

#[cfg(test)]
mod tests;
