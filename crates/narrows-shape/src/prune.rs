//! Long text in, the lines that matter for a goal out, with nothing lost.
//!
//! Pruning has three steps, each on its own. An [`Engine`] says what each line
//! is worth for the goal; [`select`] decides from that, from what is protected
//! and from the limits of the caller which lines go; [`render()`] writes the text
//! that remains, with a marker where lines went. Only whole lines go, so that
//! what stays and what was cut put the original together again, byte for byte
//! ([`rebuild`]).
//!
//! Nothing here fails: where the text cannot be pruned as asked, [`select`]
//! says why ([`Fallback`]), and the caller passes the text on as it is.

pub(crate) mod engine;
mod lines;
pub(crate) mod markdown;
mod protect;
mod render;
mod selection;
mod source;
pub(crate) mod trouble;

#[doc(hidden)]
pub use engine::{CODE_FEATURES, code_candidates};
pub use engine::{Deadline, Engine, Lexical, OutOfTime, Ranking};
pub use lines::Lines;
pub use render::{Annotation, Rendered, rebuild, render};
pub use selection::{Limits, Selection, select};

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// What a text is, which decides where its meaning is and what is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceType {
    Code,
    Logs,
    Docs,
}

impl SourceType {
    pub const ALL: [SourceType; 3] = [SourceType::Code, SourceType::Logs, SourceType::Docs];

    pub fn word(self) -> &'static str {
        match self {
            SourceType::Code => "code",
            SourceType::Logs => "logs",
            SourceType::Docs => "docs",
        }
    }
}

impl fmt::Display for SourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for SourceType {
    type Err = String;

    fn from_str(word: &str) -> Result<SourceType, String> {
        let known = SourceType::ALL.into_iter().find(|kind| kind.word() == word);
        known.ok_or_else(|| format!("'{word}' is not one of code, logs, docs"))
    }
}

/// Why a text was passed on as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    InputTooLarge,
    Timeout,
    ConstraintsUnmet,
    RecoveryUnavailable,
    InternalError,
}

impl Fallback {
    /// The warning on the wire.
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

/// How the remaining text is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Kept lines read `{n}│ {line}`, by their number in the original.
    pub annotate_lines: bool,
    /// Each block that went leaves a line which says so.
    pub include_markers: bool,
}

/// Lines that go together, counted from 0, the end not included.
pub type Span = Range<usize>;
