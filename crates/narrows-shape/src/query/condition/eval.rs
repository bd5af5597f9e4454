//! Evaluates a condition for a row.

use std::cmp::Ordering;

use super::{Comparison, Condition, Literal};
use crate::prune::Deadline;
use crate::query::decimal;
use crate::query::json::Json;
use crate::query::path::Path;
use crate::query::pattern;

/// Comparisons of different types in one row. The first one is kept for a note.
#[derive(Debug, Default)]
pub(in crate::query) struct Mismatch {
    pub(in crate::query) first: Option<(String, &'static str)>,
}

impl Mismatch {
    fn add(&mut self, path: &Path, found: &Json<'_>) {
        if self.first.is_none() {
            self.first = Some((path.to_string(), found.type_name()));
        }
    }
}

impl Condition {
    /// Returns `true` if the row fulfils the condition. A missing field counts as null, and
    /// comparing different types gives false.
    pub(in crate::query) fn holds(
        &self,
        row: &Json<'_>,
        mismatch: &mut Mismatch,
        deadline: &Deadline<'_>,
    ) -> bool {
        let field = |path: &Path| path.of(row).unwrap_or(&Json::Null);
        match self {
            Condition::Any(parts) => parts.iter().any(|part| part.holds(row, mismatch, deadline)),
            Condition::All(parts) => parts.iter().all(|part| part.holds(row, mismatch, deadline)),
            Condition::Not(inner) => !inner.holds(row, mismatch, deadline),
            Condition::IsNull { path } => matches!(field(path), Json::Null),
            Condition::Compare {
                path,
                comparison,
                value,
            } => {
                let holds = comparison.holds(field(path), value);
                holds.unwrap_or_else(|| {
                    mismatch.add(path, field(path));
                    false
                })
            }
            Condition::In { path, values } => {
                let mut comparable = false;
                for value in values {
                    match equals(field(path), value) {
                        Some(true) => return true,
                        Some(false) => comparable = true,
                        None => {}
                    }
                }
                if !comparable {
                    mismatch.add(path, field(path));
                }
                false
            }
            Condition::Contains { path, value } => {
                contains(field(path), value).unwrap_or_else(|| {
                    mismatch.add(path, field(path));
                    false
                })
            }
            Condition::Matches { path, expression } => match field(path) {
                Json::Text(text) => pattern::find_at(expression, text, 0, deadline).is_some(),
                Json::Number(text) => pattern::find_at(expression, text, 0, deadline).is_some(),
                other => {
                    mismatch.add(path, other);
                    false
                }
            },
        }
    }
}

impl Comparison {
    /// Compares two values. Returns `None` if their types differ.
    fn holds(self, field: &Json<'_>, value: &Literal) -> Option<bool> {
        match self {
            Comparison::Equal => return equals(field, value),
            Comparison::NotEqual => return equals(field, value).map(|same| !same),
            _ => {}
        }
        let order = match (field, value) {
            (Json::Number(field), Literal::Number(value)) => decimal::compare(field, value),
            (Json::Text(field), Literal::Text(value)) => field.as_ref().cmp(value.as_str()),
            _ => return None,
        };
        Some(match self {
            Comparison::Less => order == Ordering::Less,
            Comparison::LessOrEqual => order != Ordering::Greater,
            Comparison::Greater => order == Ordering::Greater,
            _ => order != Ordering::Less,
        })
    }
}

fn equals(field: &Json<'_>, value: &Literal) -> Option<bool> {
    match (field, value) {
        (Json::Null, Literal::Null) => Some(true),
        (Json::Bool(field), Literal::Bool(value)) => Some(field == value),
        (Json::Number(field), Literal::Number(value)) => {
            Some(decimal::compare(field, value) == Ordering::Equal)
        }
        (Json::Text(field), Literal::Text(value)) => Some(field == value),
        _ => None,
    }
}

/// Returns `true` if a text contains the value as a substring, case-sensitively, or if an array
/// contains an equal element.
fn contains(field: &Json<'_>, value: &Literal) -> Option<bool> {
    match (field, value) {
        (Json::Text(field), Literal::Text(value)) => Some(field.contains(value.as_str())),
        (Json::Array(elements), value) => {
            let same = |element: &Json<'_>| equals(element, value) == Some(true);
            Some(elements.iter().any(same))
        }
        _ => None,
    }
}
