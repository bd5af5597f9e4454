//! The `query` argument: words, `"phrases"` and `/regular expressions/`.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::error::Invalid;
use crate::prune::Deadline;

/// The maximum number of characters of a query.
const MAX_CHARS: usize = 1_000;

/// The maximum number of words, phrases and expressions in one query.
const MAX_TERMS: usize = 32;

/// The largest compiled expression in bytes. Matching costs at most the size of the expression
/// times that of the text, so this bounds the slowest match.
const MAX_COMPILED: usize = 256 * 1024;

/// The size of the cache for an expression's states, in bytes.
const MAX_STATES: usize = 2 * 1024 * 1024;

/// The deepest nesting of parentheses in an expression.
const MAX_NESTING: u32 = 32;

/// The window in which longer texts are searched, so that a caller can stop between two windows.
const WINDOW: usize = 16 * 1024;

/// The bytes that neighbouring windows share. A match of at most this length is found at any
/// position.
const OVERLAP: usize = 4 * 1024;

/// The maximum number of words that are counted individually if a query finds nothing, and the
/// characters shown of each.
const MAX_COUNTED: usize = 12;
const MAX_WORD_SHOWN: usize = 30;

const WITHIN_ONE_LINE: &str = "a /regex/ matches within one line; \\n never matches";

/// A parsed query. A line or row matches if it contains all terms of one alternative.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    alternatives: Vec<Vec<Regex>>,
    /// The words of a query that consists only of words.
    words: Vec<Box<str>>,
    /// The query as a regular expression, as a fallback if it looks like one and finds nothing as
    /// words: `ERROR|FATAL`, `id=\d+`.
    as_expression: Option<Regex>,
    /// Set if the query contains JSON punctuation. Rows are then searched in their compact form,
    /// too.
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
                .expect("the list starts with one alternative");
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
            [one] if one.len() > 1 => terms.iter().filter_map(Term::literal_word).collect(),
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

    /// Returns the query as a regular expression, if it looks like one.
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

    /// Returns each word of the query with a pattern of its own. The result is empty if the query
    /// has only one word, or contains anything but words that must all match.
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

    /// Returns `true` if the text contains all terms of an alternative.
    pub(super) fn is_match(&self, text: &str, deadline: &Deadline<'_>) -> bool {
        let holds = |term: &Regex| find_at(term, text, 0, deadline).is_some();
        self.alternatives
            .iter()
            .any(|terms| terms.iter().all(holds))
    }

    /// Returns the positions of the matching terms in a long line. After the deadline, which the
    /// caller checks, the result may be incomplete.
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
                // An empty match must still advance the position.
                from = text.ceil_char_boundary(found.end.max(found.start + 1));
                places.push(found);
                // Each match may cost the scan of a whole window.
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

/// Returns the first match from `from` on. Returns `None` after the deadline, which the caller
/// checks.
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
        // A match at the very end of a window may be due to `$`. The next window repeats the search
        // unless the match began before it.
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
    /// Returns the text if it is searched literally.
    fn literal_word(&self) -> Option<Box<str>> {
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

/// Returns `true` if an expression contains a line feed that is not optional and not part of a
/// character class.
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

/// Parses an expression between slashes. The closing slash must be followed by flags, white space
/// or the end, so that `/usr/lib/x` stays a word.
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

/// Returns `true` if an expression contains capital letters, which makes it case-sensitive.
fn has_capitals(expression: &str) -> bool {
    let mut letters = expression.chars();
    while let Some(letter) = letters.next() {
        match letter {
            // The letter of an escape such as `\S` does not count.
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
            // The last line of the error contains the reason; the lines before it mark the
            // position.
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim();
            let why = why.strip_prefix("error: ").unwrap_or(why).to_owned();
            format!(
                "is not a valid regular expression ({why}); look-around and \
                 back-references are not supported"
            )
        }
    })
}
