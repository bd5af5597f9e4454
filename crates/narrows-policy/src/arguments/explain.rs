//! Descriptions of invalid arguments, in sentences that a model can act on.

use std::cmp::Ordering;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::{Map, Value};

use super::message;
use crate::names::nearest;

mod forms;

/// One problem with the arguments.
#[derive(Debug)]
pub(super) struct Problem {
    rank: Rank,
    /// The location used for sorting. For a missing or unknown name, it is the enclosing object.
    noticed: String,
    /// A JSON pointer to the invalid value.
    pub(super) pointer: String,
    pub(super) message: String,
}

/// The order of problems. A missing name is first, because it usually explains the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Missing,
    Unknown,
    Other,
}

impl Problem {
    /// Sorts the most useful problem first, then by location.
    pub(super) fn by_use(&self, other: &Problem) -> Ordering {
        let ranks = self.rank.cmp(&other.rank);
        ranks.then_with(|| by_place(&self.noticed, &other.noticed))
    }

    /// Returns true if the problem is a name that is not allowed.
    pub(super) fn is_unknown(&self) -> bool {
        self.rank == Rank::Unknown
    }

    fn missing(object: &str, name: &str) -> Problem {
        let pointer = message::member(object, name);
        Problem {
            rank: Rank::Missing,
            noticed: object.into(),
            message: format!("Missing required argument: {}", message::place(&pointer)),
            pointer,
        }
    }

    fn other(pointer: &str, complaint: &str) -> Problem {
        Problem {
            rank: Rank::Other,
            noticed: pointer.into(),
            message: match pointer {
                "" => format!("{} {}", message::place(pointer), plural(complaint)),
                _ => format!("{} {complaint}", message::place(pointer)),
            },
            pointer: pointer.into(),
        }
    }
}

/// Turns a statement about one value into one about the arguments: `fits` becomes `fit`.
fn plural(complaint: &str) -> String {
    let (verb, rest) = complaint.split_once(' ').unwrap_or((complaint, ""));
    let verb = match verb {
        "fits" => "fit",
        "has" => "have",
        "is" => "are",
        "does" => "do",
        other => other,
    };
    format!("{verb} {rest}")
}

/// Converts validation errors into problems.
pub(super) fn problems<'i>(
    errors: impl Iterator<Item = ValidationError<'i>>,
    schema: &Value,
    arguments: &Value,
) -> Vec<Problem> {
    let mut report = ProblemReport {
        schema,
        arguments,
        problems: Vec::new(),
    };
    for error in errors {
        report.explain(&error);
    }
    report.problems
}

/// Describes a name that `object` must not have.
pub(super) fn unknown<'k>(
    object: &str,
    name: &str,
    known: impl Iterator<Item = &'k str>,
    given: &Map<String, Value>,
) -> Problem {
    let pointer = message::member(object, name);
    let mut message = format!("Unknown argument: {}", message::place(&pointer));
    let free = known.filter(|name| !given.contains_key(*name));
    if let Some(near) = nearest(name, free).first() {
        message += &format!(" (did you mean '{}'?)", message::cut(near));
    }
    Problem {
        rank: Rank::Unknown,
        noticed: object.into(),
        pointer,
        message,
    }
}

pub(super) fn not_an_object(arguments: &Value) -> Problem {
    Problem::other("", &format!("must be object, not {}", kind_of(arguments)))
}

pub(super) fn given_twice(name: &str) -> Problem {
    Problem {
        message: format!("Argument '{}' is given twice", message::cut(name)),
        ..Problem::other("", "")
    }
}

/// Describes arguments that are too numerous to explain each error.
pub(super) fn unexplained() -> Problem {
    Problem::other("", "do not match the schema")
}

/// Collects problems for one set of arguments.
struct ProblemReport<'a> {
    schema: &'a Value,
    arguments: &'a Value,
    problems: Vec<Problem>,
}

impl<'a> ProblemReport<'a> {
    fn explain(&mut self, error: &ValidationError<'_>) {
        let place = error.instance_path().as_str();
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                self.problems.push(Problem::missing(place, name));
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                self.unknown(error, unexpected.iter().map(String::as_str));
            }
            // An object without `properties` must be empty.
            ValidationErrorKind::FalseSchema
                if is_of_members(error)
                    && let Some(members) = self.members(place) =>
            {
                self.unknown(error, members.keys().map(String::as_str));
            }
            ValidationErrorKind::PropertyNames { error } => {
                let name = error.instance().as_str().unwrap_or_default();
                self.problems.push(Problem {
                    rank: Rank::Unknown,
                    ..Problem::other(&message::member(place, name), "is not an allowed name")
                });
            }
            ValidationErrorKind::AnyOf { context }
            | ValidationErrorKind::OneOfNotValid { context } => {
                forms::explain(self, place, error.instance(), context);
            }
            // An undecided check does not refuse the call.
            ValidationErrorKind::BacktrackLimitExceeded { .. }
            | ValidationErrorKind::RegexEngineFailure { .. }
            | ValidationErrorKind::Referencing(_) => {}
            kind => {
                let complaint = complaint(kind, error.instance());
                self.problems.push(Problem::other(place, &complaint));
            }
        }
    }

    fn unknown<'n>(&mut self, error: &ValidationError<'_>, names: impl Iterator<Item = &'n str>) {
        let place = error.instance_path().as_str();
        let none = Map::new();
        let given = self.members(place).unwrap_or(&none);
        for name in names.take(super::MAX_REPORTED) {
            let known = siblings(self.schema, error.schema_path().as_str());
            self.problems.push(unknown(place, name, known, given));
        }
    }

    /// Returns the members of the object at this location.
    fn members(&self, place: &str) -> Option<&'a Map<String, Value>> {
        self.arguments.pointer(place)?.as_object()
    }
}

/// Returns true if a violated `false` schema applies to the members of an object.
fn is_of_members(error: &ValidationError<'_>) -> bool {
    let path = error.schema_path().as_str();
    let owner = ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .find_map(|keyword| path.strip_suffix(keyword));
    // Exclude a property that happens to have this name.
    owner.is_some_and(|owner| !owner.ends_with("/properties/"))
}

/// Describes the requirement on a value, for errors that need only one sentence.
fn complaint(kind: &ValidationErrorKind, value: &Value) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::Type { kind } => wrong_type(types(kind), value),
        Kind::Enum { options } => one_of(options.as_array().into_iter().flatten()),
        Kind::Constant { expected_value } => one_of([&**expected_value]),
        Kind::Minimum { limit } => format!("must be at least {}", message::value(limit)),
        Kind::Maximum { limit } => format!("must be at most {}", message::value(limit)),
        Kind::ExclusiveMinimum { limit } => {
            format!("must be greater than {}", message::value(limit))
        }
        Kind::ExclusiveMaximum { limit } => format!("must be less than {}", message::value(limit)),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => {
            format!(
                "must not be shorter than {}",
                message::count(*limit, "character")
            )
        }
        Kind::MaxLength { limit } => {
            format!(
                "must not be longer than {}",
                message::count(*limit, "character")
            )
        }
        Kind::Pattern { pattern } => format!("must match the pattern {}", message::cut(pattern)),
        Kind::Format { format } => format!("must have the format {}", message::cut(format)),
        Kind::MinItems { limit } => {
            format!("must have at least {}", message::count(*limit, "item"))
        }
        Kind::MaxItems { limit } => format!("must have at most {}", message::count(*limit, "item")),
        Kind::AdditionalItems { limit } => {
            let limit = u64::try_from(*limit).unwrap_or(u64::MAX);
            format!("must have at most {}", message::count(limit, "item"))
        }
        Kind::UnevaluatedItems { .. } => "has more items than are allowed".into(),
        Kind::UniqueItems => "must not have the same item twice".into(),
        Kind::Contains => "does not contain the required items".into(),
        Kind::MinProperties { limit } => {
            format!("must have at least {}", message::count(*limit, "member"))
        }
        Kind::MaxProperties { limit } => {
            format!("must have at most {}", message::count(*limit, "member"))
        }
        Kind::OneOfMultipleValid { .. } => {
            "fits more than one of the allowed forms, and must fit exactly one".into()
        }
        Kind::FalseSchema => "is not allowed".into(),
        Kind::Not { .. } => "has a form that is not allowed".into(),
        _ => "does not match the schema".into(),
    }
}

fn wrong_type(wanted: Vec<JsonType>, value: &Value) -> String {
    let wanted: Vec<&str> = wanted.into_iter().map(JsonType::as_str).collect();
    format!("must be {}, not {}", wanted.join(" or "), kind_of(value))
}

fn one_of<'v>(options: impl IntoIterator<Item = &'v Value>) -> String {
    let options: Vec<&Value> = options.into_iter().collect();
    match options.len() {
        1 => format!("must be {}", message::options(options)),
        _ => format!("must be one of {}", message::options(options)),
    }
}

fn types(kind: &TypeKind) -> Vec<JsonType> {
    match kind {
        TypeKind::Single(kind) => vec![*kind],
        TypeKind::Multiple(kinds) => kinds.iter().collect(),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns the names in the `properties` next to a keyword of the schema.
fn siblings<'s>(schema: &'s Value, keyword: &str) -> impl Iterator<Item = &'s str> {
    let owner = keyword.rsplit_once('/').map(|(owner, _)| owner);
    let owner = owner.and_then(|owner| schema.pointer(owner));
    let properties = owner.and_then(|owner| owner.get("properties")?.as_object());
    properties
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
}

/// Compares JSON pointers, with array indices as numbers: `/items/2` sorts before `/items/10`.
fn by_place(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.split('/'), b.split('/'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (Some(a), Some(b)) => match (a.parse::<u64>(), b.parse::<u64>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                _ => a.cmp(b),
            },
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        if order.is_ne() {
            return order;
        }
    }
}
