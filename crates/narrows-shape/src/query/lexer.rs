//! Tokens of `where`, `select`, `sort`, `group_by` and `aggregate`.

use super::error::Invalid;

/// The maximum number of characters of one argument.
pub(super) const MAX_CHARS: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum QueryToken {
    /// A bare word: a name or a keyword.
    Word(String),
    /// A name in backticks.
    Quoted(String),
    /// A string in single or double quotes.
    Text(String),
    /// A number in its original notation.
    Number(String),
    /// An operator: a comparison, or `!`, `&&`, `||`, `-`, `+`, `*`.
    Sign(&'static str),
    OpenParen,
    CloseParen,
    OpenBracket,
    CloseBracket,
    Comma,
    Dot,
    End,
}

/// A token and its byte offset.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) token: QueryToken,
    pub(super) at: usize,
}

pub(super) struct Lexer<'a> {
    argument: &'static str,
    text: &'a str,
    at: usize,
    peeked: Option<Placed>,
}

/// Operators and their canonical forms, the longer ones first.
const SIGNS: [(&str, &str); 17] = [
    ("==", "="),
    ("!=", "!="),
    ("<>", "!="),
    ("<=", "<="),
    (">=", ">="),
    ("=~", "matches"),
    ("&&", "and"),
    ("||", "or"),
    ("=", "="),
    ("<", "<"),
    (">", ">"),
    ("!", "not"),
    ("~", "matches"),
    ("-", "-"),
    ("+", "+"),
    ("*", "*"),
    (":", ":"),
];

impl<'a> Lexer<'a> {
    pub(super) fn new(argument: &'static str, text: &'a str) -> Result<Lexer<'a>, Invalid> {
        if text.chars().nth(MAX_CHARS).is_some() {
            let message = format!("has more than {MAX_CHARS} characters");
            return Err(Invalid::new(argument, message));
        }
        Ok(Lexer {
            argument,
            text,
            at: 0,
            peeked: None,
        })
    }

    pub(super) fn peek(&mut self) -> Result<&Placed, Invalid> {
        let next = match self.peeked.take() {
            Some(next) => next,
            None => self.read()?,
        };
        Ok(self.peeked.insert(next))
    }

    pub(super) fn next(&mut self) -> Result<Placed, Invalid> {
        match self.peeked.take() {
            Some(next) => Ok(next),
            None => self.read(),
        }
    }

    /// Consumes the next token if it is this keyword or an equivalent operator.
    pub(super) fn take_word(&mut self, word: &str) -> Result<bool, Invalid> {
        let is_it = match &self.peek()?.token {
            QueryToken::Word(next) => next.eq_ignore_ascii_case(word),
            QueryToken::Sign(sign) => *sign == word,
            _ => false,
        };
        if is_it {
            self.peeked = None;
        }
        Ok(is_it)
    }

    pub(super) fn take(&mut self, token: &QueryToken) -> Result<bool, Invalid> {
        let is_it = self.peek()?.token == *token;
        if is_it {
            self.peeked = None;
        }
        Ok(is_it)
    }

    /// Returns `true` if a name and an opening parenthesis follow.
    pub(super) fn at_call(&mut self) -> Result<bool, Invalid> {
        let is_name = matches!(self.peek()?.token, QueryToken::Word(_));
        // `self.at` is the end of the peeked token.
        Ok(is_name && self.text[self.at..].trim_start().starts_with('('))
    }

    /// Returns an error at a byte of the text.
    pub(super) fn expected(&self, at: usize, expected: &str) -> Invalid {
        let rest: String = self.text[at..].chars().take(20).collect();
        let found = match rest.trim() {
            "" => "the end".to_owned(),
            rest => format!("'{rest}'"),
        };
        self.error(at, format!("expected {expected}, found {found}"))
    }

    pub(super) fn error(&self, at: usize, message: String) -> Invalid {
        Invalid {
            argument: self.argument,
            position: Some(self.text[..at].chars().count() + 1),
            message,
            corrected: None,
        }
    }

    pub(super) fn starts_word(letter: char) -> bool {
        letter.is_alphabetic() || matches!(letter, '_' | '$' | '@')
    }

    pub(super) fn continues_word(letter: char) -> bool {
        letter.is_alphanumeric() || matches!(letter, '_' | '$' | '@' | '-')
    }

    fn read(&mut self) -> Result<Placed, Invalid> {
        let rest = self.text[self.at..].trim_start();
        let at = self.text.len() - rest.len();
        let (token, length) = self.token(rest, at)?;
        self.at = at + length;
        Ok(Placed { token, at })
    }

    /// Returns the token at the beginning of `rest` and its length in bytes.
    fn token(&self, rest: &str, at: usize) -> Result<(QueryToken, usize), Invalid> {
        let Some(first) = rest.chars().next() else {
            return Ok((QueryToken::End, 0));
        };
        let single = match first {
            '(' => Some(QueryToken::OpenParen),
            ')' => Some(QueryToken::CloseParen),
            '[' => Some(QueryToken::OpenBracket),
            ']' => Some(QueryToken::CloseBracket),
            ',' => Some(QueryToken::Comma),
            '.' => Some(QueryToken::Dot),
            _ => None,
        };
        if let Some(token) = single {
            return Ok((token, 1));
        }
        if let Some(length) = number(rest) {
            return Ok((QueryToken::Number(rest[..length].to_owned()), length));
        }
        if Lexer::starts_word(first) {
            let end = rest.find(|letter| !Lexer::continues_word(letter));
            let word = &rest[..end.unwrap_or(rest.len())];
            return Ok((QueryToken::Word(word.to_owned()), word.len()));
        }
        let unclosed = |quote| self.error(at, format!("the closing {quote} is missing"));
        match first {
            '`' => doubled(rest, '`')
                .map(|(name, length)| (QueryToken::Quoted(name), length))
                .ok_or_else(|| unclosed('`')),
            '\'' => single_quoted(rest)
                .map(|(text, length)| (QueryToken::Text(text), length))
                .ok_or_else(|| unclosed('\'')),
            '"' => double_quoted(rest)
                .map(|(text, length)| (QueryToken::Text(text), length))
                .ok_or_else(|| unclosed('"')),
            _ => SIGNS
                .iter()
                .find(|(written, _)| rest.starts_with(written))
                .map(|(written, sign)| (QueryToken::Sign(sign), written.len()))
                .ok_or_else(|| {
                    self.expected(at, "a field, a value, a comparison or a parenthesis")
                }),
        }
    }
}

/// Returns the length of the JSON number at the beginning of a text.
fn number(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let sign = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(sign);
    if whole == 0 {
        return None;
    }
    let mut length = sign + whole;
    if bytes.get(length) == Some(&b'.') && digits(length + 1) > 0 {
        length += 1 + digits(length + 1);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits(length + 1 + sign);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    Some(length)
}

/// Parses a quoted name, in which two quotes represent one.
fn doubled(text: &str, quote: char) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter == quote && letters.next_if(|(_, next)| *next == quote).is_none() {
            return Some((name, at + quote.len_utf8()));
        }
        name.push(letter);
    }
    None
}

/// Parses a single-quoted string. Only `\'` and `''` are escapes. Any other backslash belongs to a
/// regular expression.
fn single_quoted(text: &str) -> Option<(String, usize)> {
    let mut inner = String::new();
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' if letters.next_if(|(_, next)| *next == '\'').is_some() => inner.push('\''),
            '\'' if letters.next_if(|(_, next)| *next == '\'').is_some() => inner.push('\''),
            '\'' => return Some((inner, at + 1)),
            letter => inner.push(letter),
        }
    }
    None
}

/// Parses a JSON string. Escapes that JSON does not define are kept unchanged, because models also
/// write regular expressions in double quotes.
fn double_quoted(text: &str) -> Option<(String, usize)> {
    let bytes = text.as_bytes();
    let mut end = 1;
    while *bytes.get(end)? != b'"' {
        end += 1 + usize::from(bytes[end] == b'\\');
    }
    let written = text.get(..=end)?;
    let inner =
        serde_json::from_str(written).unwrap_or_else(|_| written[1..end].replace("\\\"", "\""));
    Some((inner, end + 1))
}
