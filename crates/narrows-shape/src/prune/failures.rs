//! Recognises errors and warnings in logs by their words.

/// The severity of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogSeverity {
    None,
    /// A line with one of the [`WARNINGS`].
    Warning,
    /// A line with one of the [`ERRORS`], which is protected.
    Error,
}

const ERRORS: [&str; 5] = ["error", "exception", "traceback", "panic", "fatal"];

const WARNINGS: [&str; 12] = [
    "fail",
    "warn",
    "critical",
    "severe",
    "abort",
    "denied",
    "refused",
    "timed out",
    "timeout",
    "crash",
    "unable",
    "forbidden",
];

/// Words that ask for errors without naming them.
const QUESTIONS: [&str; 9] = [
    "why",
    "led to",
    "investigate",
    "incident",
    "wrong",
    "problem",
    "issue",
    "cause",
    "broke",
];

/// Returns the severity of a line. Words match in any case, also inside other words.
pub(crate) fn severity(line: &str) -> LogSeverity {
    let bytes = line.as_bytes();
    let mut severity = LogSeverity::None;
    let mut seconds = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let letter = LETTERS[byte as usize];
        let begins = seconds >> letter & 1 != 0;
        seconds = SECONDS[letter as usize];
        if !begins {
            continue;
        }
        let rest = &bytes[at - 1..];
        if begins_with_one(rest, &ERRORS) {
            return LogSeverity::Error;
        }
        if severity == LogSeverity::None && begins_with_one(rest, &WARNINGS) {
            severity = LogSeverity::Warning;
        }
    }
    severity
}

/// Returns `true` if a goal asks for errors or warnings.
pub(super) fn is_asked_for(goal: &str) -> bool {
    let asks = |at: usize| begins_with_one(&goal.as_bytes()[at..], &QUESTIONS);
    severity(goal) != LogSeverity::None || (0..goal.len()).any(asks)
}

fn begins_with_one(text: &[u8], words: &[&str]) -> bool {
    let &[a, _, c, ..] = text else {
        return false;
    };
    words.iter().map(|word| word.as_bytes()).any(|word| {
        // Comparing two letters first rejects nearly every word.
        word[0] == a.to_ascii_lowercase()
            && word[2] == c.to_ascii_lowercase()
            && text.len() >= word.len()
            && text[..word.len()].eq_ignore_ascii_case(word)
    })
}

/// The index of each letter in the alphabet, ignoring case; 31 for other bytes.
const LETTERS: [u8; 256] = {
    let mut letters = [31; 256];
    let mut at = 0;
    while at < 26 {
        letters[b'a' as usize + at] = at as u8;
        letters[b'A' as usize + at] = at as u8;
        at += 1;
    }
    letters
};

/// The possible second letters of the words that begin with a given letter, as a filter that few
/// positions of a text pass.
const SECONDS: [u32; 32] = {
    let mut seconds = [0; 32];
    let mut at = 0;
    while at < ERRORS.len() + WARNINGS.len() {
        let word = match at < ERRORS.len() {
            true => ERRORS[at].as_bytes(),
            false => WARNINGS[at - ERRORS.len()].as_bytes(),
        };
        seconds[LETTERS[word[0] as usize] as usize] |= 1 << LETTERS[word[1] as usize];
        at += 1;
    }
    seconds
};

#[cfg(test)]
mod tests;
