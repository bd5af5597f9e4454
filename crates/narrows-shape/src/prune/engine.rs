//! What each line is worth for a goal: the part of pruning that may be
//! replaced, by a model for one, without touching the contract.

mod code;
mod docs;
mod logs;
mod relevance;
mod terms;

pub use code::{NAMES as CODE_FEATURES, candidates as code_candidates};

use super::{Lines, SourceType};

/// Ranks the lines of a text.
pub trait Engine: Send + Sync {
    /// The worth of every line, in their order; the more, the sooner it is
    /// kept. Equal lines are kept in the order of the text. The goal and the
    /// text are data: nothing in them is obeyed.
    fn worth(
        &self,
        lines: &Lines<'_>,
        goal: &str,
        source: SourceType,
        deadline: &Deadline<'_>,
    ) -> Result<Vec<f32>, OutOfTime>;

    /// Texts of at most so many bytes are ranked within a millisecond or so, and
    /// need no thread of their own.
    fn quick_up_to(&self) -> usize {
        0
    }
}

/// How long the work may take: asked now and then by whoever loops over lines.
/// The clock stays with the caller.
pub struct Deadline<'a> {
    passed: &'a (dyn Fn() -> bool + 'a),
}

impl<'a> Deadline<'a> {
    /// `passed` says whether the time is up.
    pub fn new(passed: &'a (dyn Fn() -> bool + 'a)) -> Deadline<'a> {
        Deadline { passed }
    }

    /// No limit.
    pub fn never() -> Deadline<'static> {
        Deadline { passed: &|| false }
    }

    pub fn check(&self) -> Result<(), OutOfTime> {
        if (self.passed)() {
            Err(OutOfTime)
        } else {
            Ok(())
        }
    }
}

/// The deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfTime;

/// The built-in engine: words, names and the structure of the text.
pub struct Lexical;

impl Engine for Lexical {
    /// Measured: 10 to 25 nanoseconds a byte.
    fn quick_up_to(&self) -> usize {
        64 << 10
    }

    fn worth(
        &self,
        lines: &Lines<'_>,
        goal: &str,
        source: SourceType,
        deadline: &Deadline<'_>,
    ) -> Result<Vec<f32>, OutOfTime> {
        match source {
            SourceType::Code => code::worth(lines, goal, deadline),
            SourceType::Logs => logs::worth(lines, goal, deadline),
            SourceType::Docs => docs::worth(lines, goal, deadline),
        }
    }
}
