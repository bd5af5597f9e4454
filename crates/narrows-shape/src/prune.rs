//! Pruning: reduces a long text to the lines that matter for a goal, without losing anything.
//!
//! Pruning has three independent steps. An [`Engine`] ranks each line for the goal; [`select`]
//! selects the lines to remove from the ranking, the protected lines and the limits of the caller;
//! [`render()`] writes the remaining text, with a marker for each removed block. Only whole lines
//! are removed, so that the kept and the removed lines together restore the original byte for byte
//! ([`rebuild`]).
//!
//! Pruning never fails a request: if the text cannot be pruned as asked, [`select`] returns the
//! reason ([`Fallback`]), and the caller passes the text on unchanged.

pub(crate) mod engine;
pub(crate) mod failures;
mod lines;
pub(crate) mod markdown;
mod protect;
mod render;
mod selection;
mod source;

#[doc(hidden)]
pub use engine::{CODE_FEATURES, code_candidates};
pub use engine::{Deadline, Engine, Lexical, OutOfTime, Ranking};
pub use lines::Lines;
pub use render::{Annotation, Rendered, rebuild, render};
pub use selection::{Limits, Selection, select};

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// The type of a text, which determines how lines are ranked and which of them are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceType {
    Code,
    Logs,
    Docs,
}

impl SourceType {
    pub const ALL: [SourceType; 3] = [SourceType::Code, SourceType::Logs, SourceType::Docs];

    pub fn as_str(self) -> &'static str {
        match self {
            SourceType::Code => "code",
            SourceType::Logs => "logs",
            SourceType::Docs => "docs",
        }
    }
}

impl fmt::Display for SourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SourceType {
    type Err = String;

    fn from_str(word: &str) -> Result<SourceType, String> {
        let known = SourceType::ALL
            .into_iter()
            .find(|kind| kind.as_str() == word);
        known.ok_or_else(|| format!("'{word}' is not one of code, logs, docs"))
    }
}

/// The reason why a text was passed on unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    InputTooLarge,
    Timeout,
    ConstraintsUnmet,
    RecoveryUnavailable,
    InternalError,
}

impl Fallback {
    /// Returns the warning code of the wire format.
    pub fn code(self) -> &'static str {
        match self {
            Fallback::InputTooLarge => "input_too_large",
            Fallback::Timeout => "timeout",
            Fallback::ConstraintsUnmet => "constraints_unmet",
            Fallback::RecoveryUnavailable => "recovery_unavailable",
            Fallback::InternalError => "internal_error",
        }
    }
}

/// The format of the remaining text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Prefixes kept lines with their number in the original: `{n}│ {line}`.
    pub annotate_lines: bool,
    /// Writes a marker line for each removed block.
    pub include_markers: bool,
}

/// A range of lines, counted from 0, the end excluded.
pub type Span = Range<usize>;
