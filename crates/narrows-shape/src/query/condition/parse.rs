//! Parses a condition. `or` has the lowest precedence, followed by `and` and `not`.

use std::ops::Range;

use super::{Comparison, Condition, Literal};
use crate::query::error::Invalid;
use crate::query::lexer::{Lexer, QueryToken};
use crate::query::path::Path;
use crate::query::pattern;

/// The deepest nesting of parentheses and negations.
const MAX_LEVELS: usize = 32;

const VALUE: &str = "a value: a number, true, false, null or 'text' in quotes";
const OPERATOR: &str = "=, !=, <, <=, >, >=, contains, matches, in or is";

/// The maximum number of bare words that a correction puts in quotes.
const MAX_QUOTED: usize = 8;

pub(in crate::query) fn parse(text: &str) -> Result<Condition, Invalid> {
    read(text).map_err(|(error, bare)| Invalid {
        corrected: bare.and_then(|bare| quoted(text, bare)),
        ..error
    })
}

/// Returns the text with its bare words in quotes, if it is valid then.
fn quoted(text: &str, first: Range<usize>) -> Option<String> {
    let (mut text, mut bare) = (text.to_owned(), first);
    for _ in 0..MAX_QUOTED {
        let word = text.get(bare.clone())?.to_owned();
        text.replace_range(bare, &format!("'{word}'"));
        bare = match read(&text) {
            Ok(_) => return Some(text),
            Err((_, next)) => next?,
        };
    }
    None
}

/// Parses a condition. An error includes the position of a bare word in place of a value.
fn read(text: &str) -> Result<Condition, (Invalid, Option<Range<usize>>)> {
    let mut parser = Parser {
        lexer: Lexer::new("where", text).map_err(|error| (error, None))?,
        level: 0,
        bare: None,
    };
    let condition = parser.whole();
    condition.map_err(|error| (error, parser.bare))
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    level: usize,
    /// A bare word in a position where a value is expected.
    bare: Option<Range<usize>>,
}

impl Parser<'_> {
    fn whole(&mut self) -> Result<Condition, Invalid> {
        let condition = self.any()?;
        let next = self.lexer.next()?;
        match next.token {
            QueryToken::End => Ok(condition),
            _ => Err(self.lexer.expected(next.at, "and, or, or the end")),
        }
    }

    fn any(&mut self) -> Result<Condition, Invalid> {
        let first = self.all()?;
        let mut parts = vec![first];
        while self.lexer.take_word("or")? {
            parts.push(self.all()?);
        }
        Ok(one_or(parts, Condition::Any))
    }

    fn all(&mut self) -> Result<Condition, Invalid> {
        let first = self.negation()?;
        let mut parts = vec![first];
        while self.lexer.take_word("and")? {
            parts.push(self.negation()?);
        }
        Ok(one_or(parts, Condition::All))
    }

    fn negation(&mut self) -> Result<Condition, Invalid> {
        let at = self.lexer.peek()?.at;
        if self.lexer.take_word("not")? {
            self.enter(at)?;
            let inner = self.negation()?;
            self.level -= 1;
            return Ok(Condition::Not(Box::new(inner)));
        }
        if self.lexer.take(&QueryToken::OpenParen)? {
            self.enter(at)?;
            let inner = self.any()?;
            self.level -= 1;
            let close = self.lexer.next()?;
            return match close.token {
                QueryToken::CloseParen => Ok(inner),
                _ => Err(self.lexer.expected(close.at, "and, or, or ')'")),
            };
        }
        self.comparison()
    }

    fn enter(&mut self, at: usize) -> Result<(), Invalid> {
        self.level += 1;
        if self.level > MAX_LEVELS {
            let message = format!("more than {MAX_LEVELS} levels of parentheses and not");
            return Err(self.lexer.error(at, message));
        }
        Ok(())
    }

    fn comparison(&mut self) -> Result<Condition, Invalid> {
        let path = Path::parse(&mut self.lexer)?;
        let negated = self.lexer.take_word("not")?;
        let sign = self.lexer.next()?;
        let word = match &sign.token {
            QueryToken::Sign(sign) => (*sign).to_owned(),
            QueryToken::Word(word) => word.to_ascii_lowercase(),
            _ => return Err(self.lexer.expected(sign.at, OPERATOR)),
        };
        let comparison = match word.as_str() {
            "=" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            "contains" => {
                let value = self.value()?;
                return Ok(negate(negated, Condition::Contains { path, value }));
            }
            "matches" => return Ok(negate(negated, self.matches(path)?)),
            "in" => {
                let values = self.values()?;
                return Ok(negate(negated, Condition::In { path, values }));
            }
            "is" if !negated => return self.is_null(path),
            _ => return Err(self.lexer.expected(sign.at, OPERATOR)),
        };
        if negated {
            return Err(self.lexer.expected(sign.at, "contains, matches or in"));
        }
        let value = self.value()?;
        Ok(match (comparison, value) {
            (Comparison::Equal, Literal::Null) => Condition::IsNull { path },
            (Comparison::NotEqual, Literal::Null) => negate(true, Condition::IsNull { path }),
            (comparison, value) => Condition::Compare {
                path,
                comparison,
                value,
            },
        })
    }

    fn matches(&mut self, path: Path) -> Result<Condition, Invalid> {
        let next = self.lexer.next()?;
        let QueryToken::Text(text) = next.token else {
            let expected = "a regular expression in quotes";
            return Err(self.lexer.expected(next.at, expected));
        };
        let expression = pattern::matcher(&text)
            .map_err(|message| self.lexer.error(next.at, format!("'{text}' {message}")))?;
        Ok(Condition::Matches { path, expression })
    }

    fn is_null(&mut self, path: Path) -> Result<Condition, Invalid> {
        let negated = self.lexer.take_word("not")?;
        let at = self.lexer.peek()?.at;
        match self.lexer.take_word("null")? {
            true => Ok(negate(negated, Condition::IsNull { path })),
            false => Err(self.lexer.expected(at, "null or not null")),
        }
    }

    fn values(&mut self) -> Result<Vec<Literal>, Invalid> {
        let open = self.lexer.next()?;
        let close = match open.token {
            QueryToken::OpenParen => QueryToken::CloseParen,
            QueryToken::OpenBracket => QueryToken::CloseBracket,
            _ => return Err(self.lexer.expected(open.at, "values in parentheses")),
        };
        let mut values = vec![self.value()?];
        loop {
            let next = self.lexer.next()?;
            match next.token {
                QueryToken::Comma => values.push(self.value()?),
                token if token == close => return Ok(values),
                _ => return Err(self.lexer.expected(next.at, "',' or ')'")),
            }
        }
    }

    fn value(&mut self) -> Result<Literal, Invalid> {
        let next = self.lexer.next()?;
        match next.token {
            QueryToken::Text(text) => Ok(Literal::Text(text)),
            QueryToken::Number(text) => Ok(Literal::Number(text)),
            QueryToken::Word(word) => match word.to_ascii_lowercase().as_str() {
                "true" => Ok(Literal::Bool(true)),
                "false" => Ok(Literal::Bool(false)),
                "null" | "none" => Ok(Literal::Null),
                _ => {
                    self.bare = Some(next.at..next.at + word.len());
                    Err(self.lexer.expected(next.at, VALUE))
                }
            },
            _ => Err(self.lexer.expected(next.at, VALUE)),
        }
    }
}

fn one_or(mut parts: Vec<Condition>, many: fn(Vec<Condition>) -> Condition) -> Condition {
    match parts.len() {
        1 => parts.remove(0),
        _ => many(parts),
    }
}

fn negate(negated: bool, condition: Condition) -> Condition {
    match negated {
        true => Condition::Not(Box::new(condition)),
        false => condition,
    }
}
