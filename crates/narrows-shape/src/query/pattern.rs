//! The `query` argument: words, `"phrases"` and `/regular expressions/`.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::error::Invalid;
use crate::prune::Deadline;

/// Characters that a query may have.
const MAX_CHARS: usize = 1_000;

/// Words, phrases and expressions in one query.
const MAX_TERMS: usize = 32;

/// Bytes that a compiled expression may take. Matching costs at most the size of
/// the expression times that of the text, so this bounds the slowest match.
const MAX_COMPILED: usize = 256 * 1024;

/// Bytes for the cache of an expression's states.
const MAX_STATES: usize = 2 * 1024 * 1024;

/// Parentheses within parentheses in an expression.
const MAX_NESTING: u32 = 32;

/// Longer haystacks are searched in windows of this size, so that a caller can
/// stop between two of them.
const WINDOW: usize = 16 * 1024;

/// Bytes that neighbouring windows share: a match that is not longer is found
/// wherever it stands.
const OVERLAP: usize = 4 * 1024;

/// Words that are counted alone in a query that finds nothing, and the characters
/// that are shown of each.
const MAX_COUNTED: usize = 12;
const MAX_WORD_SHOWN: usize = 30;

const WITHIN_ONE_LINE: &str = "a /regex/ matches within one line; \\n never matches";

/// A checked query: lines or rows match that hold all terms of one alternative.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    alternatives: Vec<Vec<Regex>>,
    /// The words of a query that has nothing else.
    words: Vec<Box<str>>,
    /// The query as an expression, for one that finds nothing as words but
    /// looks like an expression: `ERROR|FATAL`, `id=\d+`.
    as_expression: Option<Regex>,
    /// The query has signs of JSON, which is searched as it is shown, too.
    pub(super) has_json_signs: bool,
    /// The reason why a term cannot match within one line.
    line_note: Option<&'static str>,
}

impl Pattern {
    pub(super) fn parse(query: &str) -> Result<Pattern, Invalid> {
        let invalid = |message: String| Invalid::new("query", message);
        let count = query.chars().take(MAX_CHARS + 1).count();
        if query.trim().is_empty() || count > MAX_CHARS {
            return Err(invalid(format!("must have 1 to {MAX_CHARS} characters")));
        }
        let mut alternatives = vec![Vec::new()];
        let terms = terms(query.trim());
        let is_plain = terms.iter().all(|term| matches!(term, Term::Word(_)));
        for (at, term) in terms.iter().enumerate() {
            let is_last = at + 1 == terms.len();
            let last = alternatives
                .last_mut()
                .expect("there is one from the start");
            match term {
                Term::Word("OR") if !last.is_empty() && !is_last => alternatives.push(Vec::new()),
                Term::Word(text) | Term::Phrase(text) => last.push(literal(text)?),
                Term::Expression { text, any_case } => {
                    let any_case = *any_case || !has_capitals(text);
                    last.push(expression(text, any_case).map_err(invalid)?);
                }
            }
        }
        if terms.len() > MAX_TERMS {
            return Err(invalid(format!("must have at most {MAX_TERMS} words")));
        }
        let looks_so = is_plain && query.contains(['|', '*', '+', '?', '^', '$', '[', '\\']);
        let as_expression = looks_so
            .then(|| expression(query.trim(), !has_capitals(query)).ok())
            .flatten();
        let words = match &alternatives[..] {
            [one] if one.len() > 1 => terms.iter().filter_map(Term::word).collect(),
            _ => Vec::new(),
        };
        Ok(Pattern {
            alternatives,
            words,
            as_expression,
            has_json_signs: query.contains([':', ',']),
            line_note: terms.iter().find_map(Term::line_note),
        })
    }

    /// Returns a note if a term of the query cannot match within one line.
    pub(super) fn line_note(&self) -> Option<&'static str> {
        self.line_note
    }

    /// The query read as a regular expression, if it looks like one.
    pub(super) fn as_expression(&self) -> Option<Pattern> {
        let expression = self.as_expression.clone()?;
        Some(Pattern {
            line_note: demands_newline(expression.as_str()).then_some(WITHIN_ONE_LINE),
            alternatives: vec![vec![expression]],
            words: Vec::new(),
            as_expression: None,
            has_json_signs: self.has_json_signs,
        })
    }

    /// The words of the query, each as a pattern of its own with its name. Empty
    /// if there is one word, or anything else than words that must all match.
    pub(super) fn words(&self) -> Vec<(String, Pattern)> {
        let terms = self.alternatives.first().map_or(&[][..], |terms| terms);
        if self.words.len() != terms.len() || terms.len() > MAX_COUNTED {
            return Vec::new();
        }
        let word = |(name, term): (&str, &Regex)| {
            let shown: String = name.chars().take(MAX_WORD_SHOWN).collect();
            let cut = if shown.len() < name.len() { "…" } else { "" };
            let alone = Pattern {
                alternatives: vec![vec![term.clone()]],
                words: Vec::new(),
                as_expression: None,
                has_json_signs: self.has_json_signs,
                line_note: None,
            };
            (format!("{shown}{cut}"), alone)
        };
        let names = self.words.iter().map(|name| &**name);
        names.zip(terms).map(word).collect()
    }

    /// Returns true if the text holds all terms of an alternative.
    pub(super) fn is_match(&self, text: &str, deadline: &Deadline<'_>) -> bool {
        let holds = |term: &Regex| find_at(term, text, 0, deadline).is_some();
        self.alternatives
            .iter()
            .any(|terms| terms.iter().all(holds))
    }

    /// The places in a long line of the terms by which it matches; some of them
    /// once the deadline has passed, which the caller checks.
    pub(super) fn places(&self, text: &str, deadline: &Deadline<'_>) -> Vec<Range<usize>> {
        let holds = |term: &Regex| find_at(term, text, 0, deadline).is_some();
        let matching = self
            .alternatives
            .iter()
            .filter(|terms| terms.iter().all(holds));
        let mut places = Vec::new();
        for term in matching.flatten() {
            let mut from = 0;
            while let Some(found) = find_at(term, text, from, deadline) {
                // An empty match still moves on.
                from = text.ceil_char_boundary(found.end.max(found.start + 1));
                places.push(found);
                // Every match may cost the scan of a whole window.
                if from >= text.len() || deadline.check().is_err() {
                    break;
                }
            }
        }
        places.sort_by_key(|place| place.start);
        places
    }
}

/// Compiles the expression of `matches`.
pub(super) fn matcher(text: &str) -> Result<Regex, String> {
    let inner = text
        .strip_prefix('/')
        .and_then(|text| text.strip_suffix('/'));
    expression(inner.unwrap_or(text), false)
}

/// Returns the first match from `from` on, or `None` once the deadline has
/// passed, which the caller checks.
pub(super) fn find_at(
    term: &Regex,
    text: &str,
    from: usize,
    deadline: &Deadline<'_>,
) -> Option<Range<usize>> {
    let mut from = from;
    loop {
        let end = text.floor_char_boundary(from + WINDOW);
        if end >= text.len() {
            return term.find_at(text, from).map(|found| found.range());
        }
        let next = text.floor_char_boundary(end - OVERLAP);
        // A match at the very end of a window may be one of `$`. It is searched
        // again in the next window, unless it began before that.
        if let Some(found) = term.find_at(&text[..end], from)
            && (found.end() < end || found.start() < next)
        {
            return Some(found.range());
        }
        from = next;
        deadline.check().ok()?;
    }
}

enum Term<'a> {
    Word(&'a str),
    Phrase(&'a str),
    Expression { text: &'a str, any_case: bool },
}

impl Term<'_> {
    /// The text that is searched as it is.
    fn word(&self) -> Option<Box<str>> {
        match self {
            Term::Word(text) | Term::Phrase(text) => Some((*text).into()),
            Term::Expression { .. } => None,
        }
    }

    fn line_note(&self) -> Option<&'static str> {
        match self {
            Term::Expression { text, .. } if demands_newline(text) => Some(WITHIN_ONE_LINE),
            Term::Phrase(text) if text.contains('\n') => Some("a phrase matches within one line"),
            _ => None,
        }
    }
}

/// Returns true if an expression holds a line feed that is neither optional nor
/// one of several characters of a class.
fn demands_newline(expression: &str) -> bool {
    let mut letters = expression.chars().peekable();
    let mut in_class = false;
    while let Some(letter) = letters.next() {
        let is_newline = match letter {
            '\n' => true,
            '\\' => letters.next() == Some('n'),
            '[' => {
                in_class = true;
                false
            }
            ']' => {
                in_class = false;
                false
            }
            _ => false,
        };
        let is_optional = matches!(letters.peek(), Some('?' | '*'));
        if is_newline && !in_class && !is_optional {
            return true;
        }
    }
    false
}

fn terms(query: &str) -> Vec<Term<'_>> {
    let mut terms = Vec::new();
    let mut rest = query;
    while !rest.is_empty() {
        let (term, length) = match rest.as_bytes()[0] {
            b'"' => phrase(rest),
            b'/' => slashes(rest),
            _ => None,
        }
        .unwrap_or_else(|| {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            (Term::Word(&rest[..end]), end)
        });
        terms.push(term);
        rest = rest[length..].trim_start();
    }
    terms
}

fn phrase(text: &str) -> Option<(Term<'_>, usize)> {
    let end = text[1..].find('"')?;
    (end > 0).then(|| (Term::Phrase(&text[1..=end]), end + 2))
}

/// An expression ends at a slash that is followed by white space or nothing,
/// so that `/usr/lib/x` stays a word.
fn slashes(text: &str) -> Option<(Term<'_>, usize)> {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        if bytes[at] == b'/' && at > 1 {
            let behind = &text[at + 1..];
            let flags = behind.find(char::is_whitespace).unwrap_or(behind.len());
            let flags = &behind[..flags];
            if flags
                .chars()
                .all(|flag| matches!(flag, 'i' | 'g' | 'm' | 's' | 'u'))
            {
                let term = Term::Expression {
                    text: &text[1..at],
                    any_case: flags.contains('i'),
                };
                return Some((term, at + 1 + flags.len()));
            }
        }
        at += 1 + usize::from(bytes[at] == b'\\');
    }
    None
}

/// Returns true if an expression names capital letters, which then count.
fn has_capitals(expression: &str) -> bool {
    let mut letters = expression.chars();
    while let Some(letter) = letters.next() {
        match letter {
            // `\S` is no capital.
            '\\' => _ = letters.next(),
            letter if letter.is_uppercase() => return true,
            _ => {}
        }
    }
    false
}

fn literal(text: &str) -> Result<Regex, Invalid> {
    expression(&regex::escape(text), true).map_err(|message| Invalid::new("query", message))
}

fn expression(text: &str, any_case: bool) -> Result<Regex, String> {
    let built = RegexBuilder::new(text)
        .case_insensitive(any_case)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_STATES)
        .nest_limit(MAX_NESTING)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => {
            "is a regular expression that is too large; use fewer repetitions, or [a-z] for \\w"
                .to_owned()
        }
        error => {
            // The last line of the error says why, those before draw the place.
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim();
            let why = why.strip_prefix("error: ").unwrap_or(why).to_owned();
            format!(
                "is no regular expression of this kind ({why}); look-around and \
                 back-references are not supported"
            )
        }
    })
}
