//! One text within a budget of characters, markers included.

use crate::prune::{Deadline, Engine, Fallback, SourceType};

/// What a text is to become.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// The most characters that may remain, markers included.
    pub max_chars: usize,
    /// What the reader wants to know; without one the middle goes.
    pub goal: Option<&'a str>,
    /// What the text is, where that is known from elsewhere.
    pub source: Option<SourceType>,
    /// The whole is kept under this receipt, which markers name.
    pub receipt: &'a str,
    /// The tool that gives back what was cut, as the reader knows it.
    pub tool: &'a str,
}

/// A text within its budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    pub text: String,
    /// What was done, in order.
    pub stages: Vec<Stage>,
    /// What is no longer there, in the order of the original.
    pub cuts: Vec<Place>,
}

/// One thing that was done to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// JSON without white space.
    Compact,
    /// JSON as TOON.
    Toon,
    /// Base64 gave way to a note.
    Base64,
    /// Arrays lost rows.
    Rows,
    /// Lines that do not serve the goal went.
    Pruned,
    /// The middle went.
    Masked,
}

impl Stage {
    /// The stable word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Stage::Compact => "compact",
            Stage::Toon => "toon",
            Stage::Base64 => "base64",
            Stage::Rows => "rows",
            Stage::Pruned => "pruned",
            Stage::Masked => "masked",
        }
    }
}

/// A part of the original, counted from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Lines { first: usize, last: usize },
    Chars { first: usize, last: usize },
}

/// JSON text in fewer characters and with nothing cut; `None` for what is no
/// JSON, or no shorter.
pub fn tighten(text: &str) -> Option<Fitted> {
    let _ = text;
    None
}

/// A text within its budget.
pub fn fit(
    text: &str,
    order: &Order<'_>,
    engine: &dyn Engine,
    deadline: &Deadline<'_>,
) -> Result<Fitted, Fallback> {
    let _ = (text, order, engine, deadline);
    Err(Fallback::ConstraintsUnmet)
}

/// The same for JSON that has to stay JSON of the same kind: an object stays
/// an object.
pub fn fit_json(
    json: &str,
    order: &Order<'_>,
    engine: &dyn Engine,
    deadline: &Deadline<'_>,
) -> Result<Fitted, Fallback> {
    let _ = (json, order, engine, deadline);
    Err(Fallback::ConstraintsUnmet)
}
