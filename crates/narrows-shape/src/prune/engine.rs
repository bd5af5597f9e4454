//! What each line is worth for a goal: the part of pruning that may be
//! replaced, by a model for one, without touching the contract.
//!
//! Code and prose are read differently on purpose. In code a name is what is
//! asked for, and words are compared by features whose weights were fitted with
//! just this way of splitting and stemming (`code`); in logs and documents words
//! are searched for by their hash (`terms`, `relevance`). One reader for both
//! would mean fitting the weights anew.

mod code;
mod docs;
pub(super) mod focus;
mod logs;
mod relevance;
pub(crate) mod terms;

#[doc(hidden)]
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
        let mut worth = match source {
            SourceType::Logs => return logs::worth(lines, goal, deadline),
            SourceType::Code => match code::worth(lines, goal, deadline)? {
                Some(worth) => worth,
                // Signs, single letters, other scripts: lines are all there is.
                None => return logs::worth(lines, goal, deadline),
            },
            SourceType::Docs => docs::worth(lines, goal, deadline)?,
        };
        focus::sharpen(&mut worth, lines, goal, deadline)?;
        Ok(worth)
    }
}
