//! Messages about configurations and about rejected changes.

use narrows_gateway::Applied;
use narrows_serve::admin::Rejected;

use crate::config::{Config, EditError, Problem, Severity};

/// The reason why a text with changes cannot be used.
pub(super) enum Unusable {
    Problems(Vec<Problem>),
    Change(EditError),
}

pub(super) fn rejected(error: EditError) -> Rejected {
    match error {
        EditError::Unknown { kind, name } => Rejected::Unknown { kind, name },
        EditError::Exists { kind, name } => Rejected::Exists { kind, name },
        EditError::Unusable(message) => Rejected::Invalid(vec![message]),
    }
}

pub(super) fn invalid(unfit: Unusable) -> Rejected {
    match unfit {
        Unusable::Problems(problems) => Rejected::Invalid(errors(&problems)),
        Unusable::Change(error) => rejected(error),
    }
}

/// Returns the errors of a configuration, one line each.
pub(super) fn errors(problems: &[Problem]) -> Vec<String> {
    let errors = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error);
    errors.map(Problem::line).collect()
}

/// A warning about a usable configuration.
pub(super) struct ConfigWarning {
    /// The server that the warning concerns.
    server: Option<String>,
    /// File, path and text, without line and column, which change with any edit.
    about: (String, String, String),
    pub(super) line: String,
}

impl ConfigWarning {
    pub(super) fn is_among(&self, others: &[ConfigWarning]) -> bool {
        let same =
            |other: &ConfigWarning| (&self.server, &self.about) == (&other.server, &other.about);
        others.iter().any(same)
    }

    /// Returns true if the warning is relevant to a change to `server`: it concerns that server or
    /// is new.
    pub(super) fn concerns(&self, server: Option<&str>, before: &[ConfigWarning]) -> bool {
        let is_about = server.is_some() && self.server.as_deref() == server;
        is_about || !self.is_among(before)
    }
}

/// Returns all warnings about a usable configuration.
pub(super) fn warnings_of(config: &Config) -> Vec<ConfigWarning> {
    let problems = config.problems.iter();
    let problems = problems.filter(|problem| problem.severity != Severity::Note);
    let problems = problems.map(|problem| ConfigWarning {
        server: problem.server.clone(),
        about: match &problem.place {
            Some(place) => (place.file.clone(), place.path.clone(), problem.what.clone()),
            None => (String::new(), String::new(), problem.what.clone()),
        },
        line: problem.line(),
    });
    let out = config.checked.left_out.iter().map(|out| ConfigWarning {
        server: Some(out.id.clone()),
        about: (String::new(), String::new(), out.reason.clone()),
        line: format!("running without server '{}': {}", out.id, out.reason),
    });
    problems.chain(out).collect()
}

/// Describes the changes in one line.
pub(super) fn summary(applied: &Applied, left_out: &[String]) -> String {
    let parts: [(&str, &[String]); 12] = [
        ("added", &applied.added),
        ("removed", &applied.removed),
        ("enabled", &applied.enabled),
        ("disabled", &applied.disabled),
        ("restarted", &applied.restarted),
        ("adjusted", &applied.adjusted),
        ("left out", left_out),
        ("endpoints", &applied.endpoints),
        ("presets", &applied.presets),
        ("clients", &applied.clients),
        ("settings", &applied.settings),
        ("after a restart:", &applied.at_next_start),
    ];
    let parts = parts.iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<String> = parts
        .map(|(what, names)| format!("{what} {}", names.join(", ")))
        .collect();
    parts.join("; ")
}
