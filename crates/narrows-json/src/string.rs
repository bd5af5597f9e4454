//! Short strings, which are the most common, and strings known to be valid.
//!
//! Short strings are tested in words of 8 bytes. Long strings are passed to the loop in `blocks`,
//! or to memchr if only the closing quote is needed.

/// Returns the closing quote of a string that has no escapes and ends within `WORDS` words after
/// its start. With `ASCII`, returns `None` for strings with other characters.
#[inline(always)]
pub fn short<const WORDS: usize, const ASCII: bool>(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    for _ in 0..WORDS {
        let word = text.get(at..)?.first_chunk::<WORD>()?;
        if ASCII && u64::from_le_bytes(*word) & HIGH_BITS != 0 {
            return None;
        }
        if let Some(place) = special(word) {
            at += place;
            return (text.get(at) == Some(&b'"')).then_some(at);
        }
        at += WORD;
    }
    None
}

/// Returns the position after the string that starts with the quote at `quote`, in a text known to
/// be valid.
#[inline]
pub fn string_end(text: &[u8], quote: usize) -> usize {
    let word = text.get(quote + 1..).and_then(|rest| rest.first_chunk());
    if let Some(place) = word.and_then(special)
        && text.get(quote + 1 + place) == Some(&b'"')
    {
        return quote + place + 2;
    }
    long_string_end(text, quote)
}

/// Searches only for quotes and checks if they are escaped, because long texts have many more
/// escapes than quotes.
#[inline(never)]
fn long_string_end(text: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while let Some(found) = memchr::memchr(b'"', text.get(at..).unwrap_or_default()) {
        let found = at + found;
        // Each backslash is counted at most once, because a run of backslashes never extends past
        // the previous quote.
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
    text.len()
}

/// Returns the first backslash of a text. Escapes are often dense, as in JSON nested in JSON, so
/// two words are tested before the memchr search starts.
#[inline(always)]
pub(crate) fn backslash(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    for _ in 0..2 {
        let Some(word) = text[at..].first_chunk() else {
            break;
        };
        let marks = below(u64::from_le_bytes(*word) ^ (ONES * b'\\' as u64), 1);
        if marks != 0 {
            return Some(at + marks.trailing_zeros() as usize / 8);
        }
        at += WORD;
    }
    memchr::memchr(b'\\', &text[at..]).map(|found| at + found)
}

pub(crate) const WORD: usize = 8;
const ONES: u64 = u64::from_ne_bytes([1; WORD]);
const HIGH_BITS: u64 = ONES << 7;

/// Returns the position of the first quote, backslash or control character in a word.
#[inline(always)]
pub(crate) fn special(word: &[u8; WORD]) -> Option<usize> {
    let word = u64::from_le_bytes(*word);
    let marks = below(word ^ (ONES * b'"' as u64), 1)
        | below(word ^ (ONES * b'\\' as u64), 1)
        | below(word, 0x20);
    (marks != 0).then_some(marks.trailing_zeros() as usize / 8)
}

/// Sets the high bit of each byte below `bound`, which is at most 0x80. The borrow of the
/// subtraction may set bits after the first match wrongly, but never before it.
#[inline(always)]
fn below(word: u64, bound: u64) -> u64 {
    word.wrapping_sub(ONES * bound) & !word & HIGH_BITS
}
