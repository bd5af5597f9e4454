//! The `aggregate` and `group_by` arguments: values computed over many rows.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;

use super::decimal::{self, Decimal};
use super::error::Invalid;
use super::json::{Json, write_text};
use super::lexer::{Lexer, QueryToken};
use super::path::Path;

/// One column of an aggregation, such as `sum(total)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Aggregate {
    pub(super) function: Function,
    /// `None` for `count`, which counts rows.
    pub(super) path: Option<Path>,
    alias: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Count,
    Sum,
    Average,
    Least,
    Greatest,
    CountDistinct,
}

const FUNCTIONS: &str = "count, sum(field), avg(field), min(field), max(field) or \
    count_distinct(field)";

impl Aggregate {
    pub(super) fn count() -> Aggregate {
        Aggregate {
            function: Function::Count,
            path: None,
            alias: None,
        }
    }

    /// Parses one column at the lexer's position.
    pub(super) fn parse(lexer: &mut Lexer<'_>) -> Result<Aggregate, Invalid> {
        let name = lexer.next()?;
        let function = match &name.token {
            QueryToken::Word(word) => Function::named(word),
            _ => None,
        };
        let function = function.ok_or_else(|| lexer.expected(name.at, FUNCTIONS))?;
        let mut path = None;
        let mut function = function;
        if lexer.take(&QueryToken::OpenParen)? {
            if lexer.take_word("distinct")? {
                function = Function::CountDistinct;
            }
            let is_all = lexer.take_word("*")? || lexer.peek()?.token == QueryToken::CloseParen;
            if !is_all {
                path = Some(Path::parse(lexer)?);
            }
            let close = lexer.next()?;
            if close.token != QueryToken::CloseParen {
                return Err(lexer.expected(close.at, "')'"));
            }
        } else if lexer.take_word(":")? {
            path = Some(Path::parse(lexer)?);
        }
        if path.is_none() && function != Function::Count {
            let at = lexer.peek()?.at;
            let expected = format!("a field, as in {}(field)", function.as_str());
            return Err(lexer.expected(at, &expected));
        }
        let alias = match lexer.take_word("as")? {
            true => Some(Path::parse(lexer)?.to_string()),
            false => None,
        };
        Ok(Aggregate {
            function,
            path,
            alias,
        })
    }
}

/// Writes the name of the column.
impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.alias, &self.path) {
            (Some(alias), _) => f.write_str(alias),
            (None, Some(path)) => write!(f, "{}({path})", self.function.as_str()),
            (None, None) => f.write_str(self.function.as_str()),
        }
    }
}

impl Function {
    fn named(word: &str) -> Option<Function> {
        Some(match word.to_ascii_lowercase().as_str() {
            "count" => Function::Count,
            "sum" | "total" => Function::Sum,
            "avg" | "average" | "mean" => Function::Average,
            "min" => Function::Least,
            "max" => Function::Greatest,
            "count_distinct" | "distinct" | "nunique" => Function::CountDistinct,
            _ => return None,
        })
    }

    fn as_str(self) -> &'static str {
        match self {
            Function::Count => "count",
            Function::Sum => "sum",
            Function::Average => "avg",
            Function::Least => "min",
            Function::Greatest => "max",
            Function::CountDistinct => "count_distinct",
        }
    }
}

/// The state of one column while rows are added.
#[derive(Debug, Default)]
pub(super) struct ColumnState {
    count: u64,
    sum: Sum,
    /// The least or greatest value: its sort key and its JSON.
    extreme: Option<(Key, String)>,
    distinct: HashSet<Key>,
    /// The number of rows whose value has an unsuitable type for the function.
    pub(super) unfit: u64,
}

impl ColumnState {
    /// Adds a row. Returns `true` if the row has the least or greatest value so far.
    pub(super) fn add(&mut self, aggregate: &Aggregate, row: &Json<'_>) -> bool {
        let Some(path) = &aggregate.path else {
            self.count += 1;
            return false;
        };
        let value = path.of(row).unwrap_or(&Json::Null);
        if matches!(value, Json::Null) {
            return false;
        }
        match aggregate.function {
            Function::Count => self.count += 1,
            Function::CountDistinct => _ = self.distinct.insert(Key::of(value)),
            Function::Sum | Function::Average => match value {
                Json::Number(text) => {
                    self.count += 1;
                    self.sum.add(text);
                }
                _ => self.unfit += 1,
            },
            Function::Least => return self.keep(value, Ordering::Less),
            Function::Greatest => return self.keep(value, Ordering::Greater),
        }
        false
    }

    /// Keeps a value that is better than all previous ones and returns `true` if it is. The type of
    /// the first value determines which values are compared.
    fn keep(&mut self, value: &Json<'_>, wanted: Ordering) -> bool {
        let key = Key::of(value);
        let is_better = match (&self.extreme, value) {
            (None, Json::Number(_) | Json::Text(_)) => true,
            (Some((best, _)), _) if best.is_like(&key) => key.cmp(best) == wanted,
            _ => {
                self.unfit += 1;
                false
            }
        };
        if is_better {
            let mut text = String::new();
            value.write(&mut text);
            self.extreme = Some((key, text));
        }
        is_better
    }

    /// Returns the result as JSON.
    pub(super) fn result(&self, function: Function) -> String {
        match function {
            Function::Count => self.count.to_string(),
            Function::CountDistinct => self.distinct.len().to_string(),
            Function::Sum => self.sum.result(),
            Function::Average if self.count == 0 => "null".to_owned(),
            Function::Average => self.sum.average(self.count),
            Function::Least | Function::Greatest => self
                .extreme
                .as_ref()
                .map_or_else(|| "null".to_owned(), |(_, text)| text.clone()),
        }
    }

    /// Returns `true` if a number did not fit an exact sum.
    pub(super) fn is_rounded(&self) -> bool {
        self.sum.exact.is_none()
    }
}

/// A sum that is exact as long as its digits fit.
#[derive(Debug)]
struct Sum {
    exact: Option<Decimal>,
    float: f64,
}

impl Default for Sum {
    fn default() -> Sum {
        Sum {
            exact: Some(Decimal::ZERO),
            float: 0.0,
        }
    }
}

impl Sum {
    fn add(&mut self, text: &str) {
        self.float += decimal::float(text);
        let add = |sum: Decimal| sum.checked_add(Decimal::parse(text)?);
        self.exact = self.exact.and_then(add);
    }

    fn result(&self) -> String {
        match self.exact {
            Some(sum) => sum.to_string(),
            None => of_float(self.float),
        }
    }

    fn average(&self, count: u64) -> String {
        match self.exact.and_then(|sum| sum.divided_by(count)) {
            Some(average) => average.to_string(),
            None => of_float(self.float / count as f64),
        }
    }
}

/// Formats a float as JSON. Infinite sums become null, because JSON has no such number.
fn of_float(number: f64) -> String {
    match number.is_finite() {
        true => serde_json::Number::from_f64(number).map_or("null".into(), |n| n.to_string()),
        false => "null".to_owned(),
    }
}

/// A value for grouping and sorting rows: numbers sort before texts, then booleans, then other
/// values, and null last. Equal numbers are equal regardless of their notation.
#[derive(Debug, Clone)]
pub(super) enum Key {
    Number(Option<Decimal>, f64),
    Text(String),
    Bool(bool),
    Other(String),
    Null,
}

impl Key {
    pub(super) fn of(value: &Json<'_>) -> Key {
        match value {
            Json::Null => Key::Null,
            Json::Bool(value) => Key::Bool(*value),
            Json::Number(text) => {
                let exact = Decimal::parse(text).map(Decimal::trimmed);
                // Adding zero turns -0.0 into 0.0.
                Key::Number(exact, decimal::float(text) + 0.0)
            }
            Json::Text(text) => Key::Text(text.clone().into_owned()),
            other => {
                let mut text = String::new();
                other.write(&mut text);
                Key::Other(text)
            }
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Key::Number(..) => 0,
            Key::Text(_) => 1,
            Key::Bool(_) => 2,
            Key::Other(_) => 3,
            Key::Null => 4,
        }
    }

    fn is_like(&self, other: &Key) -> bool {
        self.rank() == other.rank()
    }

    /// Returns the sort order. Descending order reverses everything except nulls.
    pub(super) fn sorted(&self, other: &Key, descending: bool) -> Ordering {
        let order = self.cmp(other);
        let has_null = matches!(self, Key::Null) || matches!(other, Key::Null);
        match descending && !has_null {
            true => order.reverse(),
            false => order,
        }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        match (self, other) {
            (Key::Number(a, float), Key::Number(b, other)) => {
                // If both numbers round to the same float, their exact forms are compared.
                let exact = || a.as_ref()?.compare(*b.as_ref()?);
                let by_float = float.total_cmp(other);
                by_float.then_with(|| exact().unwrap_or(a.is_some().cmp(&b.is_some())))
            }
            (Key::Text(a), Key::Text(b)) | (Key::Other(a), Key::Other(b)) => a.cmp(b),
            (Key::Bool(a), Key::Bool(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            Key::Number(_, float) => float.to_bits().hash(state),
            Key::Text(text) | Key::Other(text) => text.hash(state),
            Key::Bool(value) => value.hash(state),
            Key::Null => {}
        }
    }
}

/// Writes a member of a JSON object, with a comma if it is not the first.
pub(super) fn write_member(name: &str, json: &str, into: &mut String) {
    into.push_str(if into.ends_with('{') { "" } else { "," });
    write_text(name, into);
    into.push(':');
    into.push_str(json);
}
