//! What is said about a configuration, and about a change that is not made.

use narrows_gateway::Applied;
use narrows_serve::admin::Rejected;

use crate::config::{Config, EditError, Problem, Severity};

/// Why a text with changes over it cannot be used.
pub(super) enum Unfit {
    Problems(Vec<Problem>),
    Change(EditError),
}

pub(super) fn rejected(error: EditError) -> Rejected {
    match error {
        EditError::Unknown { kind, name } => Rejected::Unknown { kind, name },
        EditError::Exists { kind, name } => Rejected::Exists { kind, name },
        EditError::Unfit(told) => Rejected::Invalid(vec![told]),
    }
}

pub(super) fn invalid(unfit: Unfit) -> Rejected {
    match unfit {
        Unfit::Problems(problems) => Rejected::Invalid(errors(&problems)),
        Unfit::Change(error) => rejected(error),
    }
}

/// Why a configuration cannot be used, one line for each reason.
pub(super) fn errors(problems: &[Problem]) -> Vec<String> {
    let errors = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error);
    errors.map(Problem::line).collect()
}

/// What is to be said about a configuration that can be used.
pub(super) fn said_of(config: &Config) -> Vec<String> {
    let problems = config.problems.iter();
    let problems = problems.filter(|problem| problem.severity != Severity::Note);
    let out = config.checked.left_out.iter();
    let out = out.map(|out| format!("running without server '{}': {}", out.id, out.reason));
    problems.map(Problem::line).chain(out).collect()
}

/// What has changed, in one line.
pub(super) fn summary(applied: &Applied) -> String {
    let parts = [
        ("added", &applied.added),
        ("removed", &applied.removed),
        ("restarted", &applied.restarted),
        ("adjusted", &applied.adjusted),
        ("endpoints", &applied.endpoints),
        ("presets", &applied.presets),
        ("clients", &applied.clients),
        ("settings", &applied.settings),
        ("at the next start", &applied.at_next_start),
    ];
    let parts = parts.iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<String> = parts
        .map(|(what, names)| format!("{what} {}", names.join(", ")))
        .collect();
    parts.join("; ")
}
