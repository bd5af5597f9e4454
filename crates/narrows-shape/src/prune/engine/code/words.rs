//! Text as words that can be compared: identifiers split, endings cut.

use std::borrow::Cow;

/// The words of a text as they stand there: names are split where a small letter
/// meets a capital one, where the last of several capitals begins a word
/// (`HTTPServer`), between letters and digits, and at whatever is neither.
pub(super) fn parts(text: &str) -> Parts<'_> {
    Parts { text, at: 0 }
}

/// See [`parts`].
pub(super) struct Parts<'a> {
    text: &'a str,
    at: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Letter {
    Small,
    Capital,
    Digit,
    Other,
}

fn letter(c: char) -> Letter {
    if c.is_ascii_lowercase() {
        Letter::Small
    } else if c.is_ascii_uppercase() {
        Letter::Capital
    } else if c.is_ascii_digit() {
        Letter::Digit
    } else if c.is_ascii() {
        Letter::Other
    } else if c.is_uppercase() {
        Letter::Capital
    } else if c.is_alphabetic() {
        Letter::Small
    } else if c.is_numeric() {
        Letter::Digit
    } else {
        Letter::Other
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = &self.text[self.at..];
        let skipped = rest.find(|c| letter(c) != Letter::Other)?;
        let start = self.at + skipped;
        let mut letters = self.text[start..].char_indices().peekable();
        let (_, first) = letters.next()?;
        let mut before = letter(first);
        let mut capitals = before == Letter::Capital;
        let mut end = self.text.len();
        while let Some((at, c)) = letters.next() {
            let now = letter(c);
            let splits = match (before, now) {
                (_, Letter::Other) => true,
                (Letter::Small, Letter::Capital) => true,
                (Letter::Digit, Letter::Small | Letter::Capital) => true,
                (Letter::Small | Letter::Capital, Letter::Digit) => true,
                (Letter::Capital, Letter::Capital) if capitals => letters
                    .peek()
                    .is_some_and(|&(_, next)| letter(next) == Letter::Small),
                _ => false,
            };
            if splits {
                end = start + at;
                break;
            }
            capitals &= now == Letter::Capital;
            before = now;
        }
        self.at = end;
        Some(&self.text[start..end])
    }
}

/// A word in small letters, without a copy where it is so already.
pub(super) fn lower(word: &str) -> Cow<'_, str> {
    if word
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.to_lowercase())
    }
}

/// A word without its ending, so that `connections`, `connecting` and `connected`
/// meet. Only meant for comparing: what is left need not be a word.
pub(super) fn stem(word: &str) -> &str {
    const ENDINGS: [&str; 19] = [
        "ingly", "ments", "ings", "edly", "ions", "able", "ment", "ing", "ion", "ers", "ors",
        "ies", "ed", "er", "or", "es", "ly", "s", "e",
    ];
    let ending = ENDINGS
        .iter()
        .find(|ending| word.len() >= ending.len() + 3 && word.ends_with(**ending));
    if word.ends_with("ss") {
        return word;
    }
    let cut = &word[..word.len() - ending.map_or(0, |ending| ending.len())];
    // `serialization`: as `serialize`.
    let cut = match cut.strip_suffix("at") {
        Some(rest) if rest.ends_with("iz") && rest.len() >= 4 => rest,
        _ => cut,
    };
    // `stopped`, `running`: the doubled letter goes.
    let cut = match cut.as_bytes() {
        [_, _, .., before, last]
            if before == last
                && last.is_ascii()
                && ending.is_some_and(|ending| ending.len() > 1)
                && !matches!(last, b'l' | b's' | b'e' | b'o') =>
        {
            &cut[..cut.len() - 1]
        }
        _ => cut,
    };
    // `entry`, `entries`: the `y` goes as `ies` does.
    cut.strip_suffix('y')
        .filter(|rest| rest.len() >= 3)
        .unwrap_or(cut)
}

#[cfg(test)]
mod tests;
