//! The `find` argument of `exec`: a query that is validated before the tool is called and applied
//! to the text that the tool returns.

use narrows_shape::query::Refused;
use narrows_wire::{Kind, Raw};
use serde_json::{Map, Value};

use super::answer::{self, Page};
use super::argument_error::ArgumentError;
use super::arguments::{RecoverQuery, canonical};
use super::request::cursor;

/// A validated `find` argument.
#[derive(Debug, Clone)]
pub struct Find(Box<RecoverQuery>);

/// The lines or rows selected by `find`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLines {
    /// One line of metadata, then the numbered matches.
    pub text: String,
    /// The number of matching lines or rows; `None` if `find` only selects a part.
    pub matched: Option<usize>,
}

impl Find {
    /// Parses a query, or an object with arguments of `recover_text` except `prune_id` and
    /// `cursor`.
    pub fn read(find: &Raw) -> Result<Find, ArgumentError> {
        let is_object = |text: &str| text.trim_start().starts_with('{');
        let given = match find.as_text() {
            Some(text) if !is_object(&text) => {
                let query = Value::String(text.into_owned());
                Map::from_iter([("query".to_owned(), query)])
            }
            None if find.kind() != Kind::Object => {
                let message = "Argument 'find' must be a query such as \"FATAL timeout\", or an \
                    object such as {\"where\": \"total > 5\"}";
                return Err(message.to_owned().into());
            }
            _ => canonical(Some(find))?,
        };
        for name in ["prune_id", "cursor"] {
            if given.contains_key(name) {
                return Err(format!("Argument 'find' must not contain '{name}'").into());
            }
        }
        RecoverQuery::check(given).map(|asked| Find(Box::new(asked)))
    }

    /// Returns the receipt of the text to compare with.
    pub fn diff_with(&self) -> Option<&str> {
        self.0.diff_with.as_deref()
    }

    /// Returns the words of the query.
    pub fn words(&self) -> Option<&str> {
        self.0.arguments.get("query").and_then(Value::as_str)
    }

    /// Returns true if only the number of matches is requested.
    pub fn is_count(&self) -> bool {
        self.0.arguments.get("count_only") == Some(&Value::Bool(true))
    }

    /// Applies the query to a text. `receipt` identifies the stored text, so that `recover_text`
    /// can continue an answer longer than `max_chars` characters. `other` is the text of
    /// `diff_with`.
    pub fn apply(
        &self,
        text: &str,
        other: Option<&str>,
        receipt: &str,
        max_chars: usize,
    ) -> Result<FoundLines, Refused> {
        let answer = answer::apply(&self.0.query, text, other)?;
        let max_chars = self.0.max_chars.unwrap_or(max_chars);
        let next = |offset| cursor(offset, receipt, &self.0.arguments);
        let page = Page::write(&answer, 0, max_chars, next);
        Ok(FoundLines {
            text: page.map(|page| page.text).unwrap_or_default(),
            matched: answer.matched,
        })
    }
}
