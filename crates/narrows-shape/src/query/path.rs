//! Paths to the fields of a row: `a.b[0]`, with other names in backticks.

use std::fmt;

use super::error::Invalid;
use super::json::Json;
use super::lexer::{Lexer, QueryToken};

/// Words that cannot be unquoted field names.
const RESERVED: [&str; 8] = ["and", "or", "not", "in", "is", "true", "false", "null"];

/// The location of a value in a row. The empty path is the row itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Path {
    pub(super) steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

impl Path {
    /// Parses a path at the lexer's position.
    pub(super) fn parse(lexer: &mut Lexer<'_>) -> Result<Path, Invalid> {
        let mut first = lexer.next()?;
        // Accepts `$.a` as in JSONPath and `.a` as in jq.
        if first.token == QueryToken::Word("$".into()) && lexer.peek()?.token == QueryToken::Dot {
            first = lexer.next()?;
        }
        if first.token == QueryToken::Dot {
            first = lexer.next()?;
        }
        let first = match first.token {
            QueryToken::Word(word) if !is_reserved(&word) => word,
            QueryToken::Quoted(name) | QueryToken::Text(name) => name,
            _ => return Err(lexer.expected(first.at, "a field name")),
        };
        let mut steps = vec![Step::Key(first)];
        loop {
            match lexer.peek()?.token {
                QueryToken::Dot => {
                    lexer.next()?;
                    let name = lexer.next()?;
                    match name.token {
                        QueryToken::Word(name)
                        | QueryToken::Quoted(name)
                        | QueryToken::Number(name) => {
                            steps.push(Step::Key(name));
                        }
                        _ => return Err(lexer.expected(name.at, "a field name")),
                    }
                }
                QueryToken::OpenBracket => {
                    lexer.next()?;
                    steps.push(index(lexer)?);
                }
                _ => return Ok(Path { steps }),
            }
        }
    }

    /// Returns the value at this path. A key of the row that is spelt like the path (`"a.b"`)
    /// matches as well, because flattened exports contain such keys.
    pub(super) fn of<'j, 'a>(&self, row: &'j Json<'a>) -> Option<&'j Json<'a>> {
        self.nested(row).or_else(|| {
            let has_dots = self.steps.len() > 1;
            has_dots.then(|| row.member(&self.dotted()))?
        })
    }

    fn nested<'j, 'a>(&self, row: &'j Json<'a>) -> Option<&'j Json<'a>> {
        let mut value = row;
        for step in &self.steps {
            value = match step {
                Step::Key(key) => value
                    .member(key)
                    .or_else(|| value.element(key.parse().ok()?))?,
                Step::Index(index) => value.element(*index)?,
            };
        }
        Some(value)
    }

    fn dotted(&self) -> String {
        let text = |step: &Step| match step {
            Step::Key(key) => key.clone(),
            Step::Index(index) => index.to_string(),
        };
        let steps: Vec<String> = self.steps.iter().map(text).collect();
        steps.join(".")
    }
}

/// Parses the rest of `[0]` or `["a name"]`.
fn index(lexer: &mut Lexer<'_>) -> Result<Step, Invalid> {
    let inner = lexer.next()?;
    let step = match inner.token {
        QueryToken::Number(digits) => digits.parse().ok().map(Step::Index),
        QueryToken::Text(name) | QueryToken::Quoted(name) => Some(Step::Key(name)),
        _ => None,
    };
    let step = step.ok_or_else(|| lexer.expected(inner.at, "an index, counted from 0"))?;
    let close = lexer.next()?;
    match close.token {
        QueryToken::CloseBracket => Ok(step),
        _ => Err(lexer.expected(close.at, "']'")),
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.steps.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => {
                    if at > 0 {
                        f.write_str(".")?;
                    }
                    match is_plain(key) {
                        true => f.write_str(key)?,
                        false => write!(f, "`{}`", key.replace('`', "``"))?,
                    }
                }
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    let mut letters = key.chars();
    let starts = letters.next().is_some_and(Lexer::starts_word);
    starts && letters.all(Lexer::continues_word) && !is_reserved(key)
}

pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED
        .iter()
        .any(|other| other.eq_ignore_ascii_case(word))
}
