//! The `where` argument: conditions on the fields of a row.

mod eval;
mod parse;

use std::fmt;

use regex::Regex;

pub(super) use self::eval::Mismatch;
pub(super) use self::parse::parse;
use super::path::Path;

/// A parsed condition.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    Compare {
        path: Path,
        comparison: Comparison,
        value: Literal,
    },
    Contains {
        path: Path,
        value: Literal,
    },
    Matches {
        path: Path,
        expression: Regex,
    },
    In {
        path: Path,
        values: Vec<Literal>,
    },
    IsNull {
        path: Path,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
}

impl Condition {
    /// Adds every path of the condition to a list.
    pub(super) fn collect_paths<'c>(&'c self, into: &mut Vec<&'c Path>) {
        match self {
            Condition::Any(parts) | Condition::All(parts) => {
                parts.iter().for_each(|part| part.collect_paths(into));
            }
            Condition::Not(inner) => inner.collect_paths(into),
            Condition::Compare { path, .. }
            | Condition::Contains { path, .. }
            | Condition::Matches { path, .. }
            | Condition::In { path, .. }
            | Condition::IsNull { path } => into.push(path),
        }
    }
}

impl Comparison {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

/// Writes the condition in a form that can be parsed again.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Any(parts) => joined(f, parts, " or "),
            Condition::All(parts) => joined(f, parts, " and "),
            Condition::Not(inner) => write!(f, "not ({inner})"),
            Condition::Compare {
                path,
                comparison,
                value,
            } => write!(f, "{path} {} {value}", comparison.as_str()),
            Condition::Contains { path, value } => write!(f, "{path} contains {value}"),
            Condition::Matches { path, expression } => {
                let text = Literal::Text(expression.as_str().to_owned());
                write!(f, "{path} matches {text}")
            }
            Condition::In { path, values } => {
                write!(f, "{path} in (")?;
                for (at, value) in values.iter().enumerate() {
                    let comma = if at > 0 { ", " } else { "" };
                    write!(f, "{comma}{value}")?;
                }
                f.write_str(")")
            }
            Condition::IsNull { path } => write!(f, "{path} is null"),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, parts: &[Condition], word: &str) -> fmt::Result {
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            f.write_str(word)?;
        }
        match part {
            Condition::Any(_) | Condition::All(_) => write!(f, "({part})")?,
            part => write!(f, "{part}")?,
        }
    }
    Ok(())
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("null"),
            Literal::Bool(value) => write!(f, "{value}"),
            Literal::Number(text) => f.write_str(text),
            Literal::Text(text) if text.contains(['\\', '\'']) => {
                let text = serde_json::to_string(text).expect("a string can always be serialised");
                f.write_str(&text)
            }
            Literal::Text(text) => write!(f, "'{text}'"),
        }
    }
}

#[cfg(test)]
mod tests;
