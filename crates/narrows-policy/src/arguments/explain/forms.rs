//! Explains a value that matches none of several alternatives (`anyOf`, `oneOf`).
//!
//! A message such as "matches none of them" is useless if only one alternative was meant. This
//! module finds that alternative and reports its problems.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

use super::{Problem, ProblemReport, Rank, complaint, one_of, types, wrong_type};
use crate::arguments::message;

/// The validation errors of one alternative.
type Form = Vec<ValidationError<'static>>;

pub(super) fn explain(report: &mut ProblemReport<'_>, place: &str, value: &Value, forms: &[Form]) {
    let of_type: Vec<&Form> = forms.iter().filter(|form| !is_type(place, form)).collect();
    if of_type.is_empty() {
        let complaint = no_type(place, value, forms);
        report.problems.push(Problem::other(place, &complaint));
        return;
    }
    if let Some(choice) = choice(place, &of_type) {
        report.problems.push(Problem::other(place, &choice));
        return;
    }
    let chosen: Vec<&Form> = of_type
        .iter()
        .copied()
        .filter(|form| !form.iter().any(|error| is_choice(error, place, 1)))
        .collect();
    let message = match (&of_type[..], &chosen[..]) {
        ([meant], _) | (_, [meant]) => {
            meant.iter().for_each(|error| report.explain(error));
            return;
        }
        (of_type, []) => choice_of_member(place, of_type),
        (_, chosen) => missing_one(place, chosen),
    };
    let none = || Problem::other(place, "fits none of the allowed forms");
    report.problems.push(message.unwrap_or_else(none));
}

/// Returns true if the value does not have the type that this alternative requires.
fn is_type(place: &str, form: &Form) -> bool {
    form.iter().any(|error| {
        let is_type = matches!(error.kind(), Kind::Type { .. } | Kind::FalseSchema);
        is_type && error.instance_path().as_str() == place
    })
}

/// Returns true if the error lists the allowed values of `place`, or of a value at most
/// `most_below` levels below it.
fn is_choice(error: &ValidationError<'_>, place: &str, most_below: usize) -> bool {
    let is_choice = matches!(error.kind(), Kind::Constant { .. } | Kind::Enum { .. });
    let below = error.instance_path().as_str().strip_prefix(place);
    is_choice && below.is_some_and(|below| below.matches('/').count() <= most_below)
}

/// Describes the types of all alternatives in one sentence.
fn no_type(place: &str, value: &Value, forms: &[Form]) -> String {
    let mut wanted = Vec::new();
    for error in forms.iter().flatten() {
        if let Kind::Type { kind } = error.kind()
            && error.instance_path().as_str() == place
        {
            for kind in types(kind) {
                if !wanted.contains(&kind) {
                    wanted.push(kind);
                }
            }
        }
    }
    match wanted.is_empty() {
        true => complaint(&Kind::FalseSchema, value),
        false => wrong_type(wanted, value),
    }
}

/// Describes the allowed values of all alternatives in one sentence, if each of them only restricts
/// the value.
fn choice(place: &str, forms: &[&Form]) -> Option<String> {
    let mut options = Vec::new();
    for form in forms {
        match &form[..] {
            [error] if is_choice(error, place, 0) => options.extend(allowed(error)),
            _ => return None,
        }
    }
    Some(one_of(options))
}

/// Reports a discriminator mismatch. Alternatives usually differ in the value of one member, such
/// as `type`. If no alternative has the given value, that member is the problem.
fn choice_of_member(place: &str, forms: &[&Form]) -> Option<Problem> {
    let of_form = |form: &&'_ Form| {
        let mut choices = form.iter().filter(|error| is_choice(error, place, 1));
        choices
            .next()
            .map(|error| error.instance_path().as_str().to_owned())
    };
    let member = forms.first().and_then(of_form)?;
    let mut options = Vec::new();
    for form in forms {
        let at_member = |error: &&ValidationError<'_>| {
            is_choice(error, place, 1) && error.instance_path().as_str() == member
        };
        options.extend(allowed(form.iter().find(at_member)?));
    }
    Some(Problem::other(&member, &one_of(options)))
}

/// Reports alternatives that each lack one required name.
fn missing_one(place: &str, forms: &[&Form]) -> Option<Problem> {
    let mut names = Vec::new();
    for form in forms {
        match form.iter().map(ValidationError::kind).collect::<Vec<_>>()[..] {
            [Kind::Required { property }] if form[0].instance_path().as_str() == place => {
                let name = message::place(&message::member(place, property.as_str()?));
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            _ => return None,
        }
    }
    names.truncate(10);
    Some(Problem {
        rank: Rank::Missing,
        message: format!("Missing required argument: one of {}", names.join(", ")),
        ..Problem::other(place, "")
    })
}

/// Returns the allowed values of an `enum` or `const` error.
fn allowed<'e>(error: &'e ValidationError<'_>) -> Vec<&'e Value> {
    match error.kind() {
        Kind::Constant { expected_value } => vec![expected_value],
        Kind::Enum { options } => options.as_array().into_iter().flatten().collect(),
        _ => Vec::new(),
    }
}
