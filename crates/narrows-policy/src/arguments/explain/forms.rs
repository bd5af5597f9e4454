//! A value that fits none of several forms: `anyOf` and `oneOf`.
//!
//! "None of them" helps nobody when all but one form were plainly not meant, so
//! the form that was meant is looked for, and its problems are told.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

use super::{Account, Problem, Rank, complaint, one_of, types, wrong_type};
use crate::arguments::told;

/// What is wrong with one form.
type Form = Vec<ValidationError<'static>>;

pub(super) fn tell(account: &mut Account<'_>, place: &str, value: &Value, forms: &[Form]) {
    let of_type: Vec<&Form> = forms.iter().filter(|form| !is_type(place, form)).collect();
    if of_type.is_empty() {
        let complaint = no_type(place, value, forms);
        account.problems.push(Problem::other(place, &complaint));
        return;
    }
    if let Some(choice) = choice(place, &of_type) {
        account.problems.push(Problem::other(place, &choice));
        return;
    }
    let chosen: Vec<&Form> = of_type
        .iter()
        .copied()
        .filter(|form| !form.iter().any(|error| is_choice(error, place, 1)))
        .collect();
    let told = match (&of_type[..], &chosen[..]) {
        ([meant], _) | (_, [meant]) => {
            meant.iter().for_each(|error| account.tell(error));
            return;
        }
        (of_type, []) => choice_of_member(place, of_type),
        (_, chosen) => missing_one(place, chosen),
    };
    let none = || Problem::other(place, "fits none of the allowed forms");
    account.problems.push(told.unwrap_or_else(none));
}

/// Returns true if the value is not even of the type that this form has.
fn is_type(place: &str, form: &Form) -> bool {
    form.iter().any(|error| {
        let is_type = matches!(error.kind(), Kind::Type { .. } | Kind::FalseSchema);
        is_type && error.instance_path().as_str() == place
    })
}

/// Returns true if the error says which values are allowed, so many levels
/// below.
fn is_choice(error: &ValidationError<'_>, place: &str, most_below: usize) -> bool {
    let is_choice = matches!(error.kind(), Kind::Constant { .. } | Kind::Enum { .. });
    let below = error.instance_path().as_str().strip_prefix(place);
    is_choice && below.is_some_and(|below| below.matches('/').count() <= most_below)
}

/// The types of all forms in one sentence.
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

/// The allowed values of all forms in one sentence, if each is but a choice.
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

/// Forms are told apart by a member most often, such as `type`. If none has
/// the value that is given there, this is what is wrong.
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

/// Forms that each want one more name.
fn missing_one(place: &str, forms: &[&Form]) -> Option<Problem> {
    let mut names = Vec::new();
    for form in forms {
        match form.iter().map(ValidationError::kind).collect::<Vec<_>>()[..] {
            [Kind::Required { property }] if form[0].instance_path().as_str() == place => {
                let name = told::place(&told::member(place, property.as_str()?));
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

/// The values that a choice allows.
fn allowed<'e>(error: &'e ValidationError<'_>) -> Vec<&'e Value> {
    match error.kind() {
        Kind::Constant { expected_value } => vec![expected_value],
        Kind::Enum { options } => options.as_array().into_iter().flatten().collect(),
        _ => Vec::new(),
    }
}
