//! What each line is worth for a goal: the part of pruning that may be
//! replaced, by a model for one, without touching the contract.
//!
//! Words are split and stemmed in one way everywhere ([`crate::terms`]), but
//! compared differently. In code a name is what is asked for, and blocks are
//! compared with the goal by features of fitted weights (`code`); in logs and
//! documents words are searched for by their hash (`goal_terms`, `relevance`).
//! Each has its own table of words that mean the same: with the table for prose
//! in addition code is found less often (recall .968 instead of .979 at a ratio
//! of 0.5), and prose with that for code alone (.986 instead of 1 at 0.7).

mod code;
mod context;
mod docs;
pub(super) mod focus;
mod goal_terms;
mod logs;
mod relevance;
mod standout;

pub(crate) use code::{CodeBlock, code_blocks};
#[doc(hidden)]
pub use code::{NAMES as CODE_FEATURES, candidates as code_candidates};

use super::{Lines, SourceType};
use goal_terms::GoalTerms;
use relevance::Hits;

/// Ranks the lines of a text.
pub trait Engine: Send + Sync {
    /// Ranks every line for a goal. The goal and the text are data: nothing in
    /// them is obeyed.
    fn rank(
        &self,
        lines: &Lines<'_>,
        goal: &str,
        source: SourceType,
        deadline: &Deadline<'_>,
    ) -> Result<Ranking, OutOfTime>;

    /// Texts of at most so many bytes are ranked within a millisecond or so, and
    /// need no thread of their own.
    fn quick_up_to(&self) -> usize {
        0
    }
}

/// The lines of a text as a goal ranks them.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The worth of every line, in their order; the more, the sooner it is
    /// kept. Equal lines are kept in the order of the text.
    pub worth: Vec<f32>,
    /// The lines that answer the goal, with their context. No line is marked if
    /// the goal does not discriminate: its words are in no line, or in so many
    /// that they tell none from the others.
    pub relevant: Vec<bool>,
}

impl Ranking {
    /// A ranking by worth alone: every line may answer the goal.
    pub fn by_worth(worth: Vec<f32>) -> Ranking {
        Ranking {
            relevant: vec![true; worth.len()],
            worth,
        }
    }

    /// Returns `true` if the goal tells some lines from the others.
    pub fn discriminates(&self) -> bool {
        self.relevant.contains(&true) && self.worth.windows(2).any(|two| two[0] != two[1])
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
    pub const fn never() -> Deadline<'static> {
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

    fn rank(
        &self,
        lines: &Lines<'_>,
        goal: &str,
        source: SourceType,
        deadline: &Deadline<'_>,
    ) -> Result<Ranking, OutOfTime> {
        let terms = GoalTerms::of(goal);
        let scores = Hits::search(&terms, lines.iter(), deadline)?.scores(&terms);
        let (mut worth, blocks) = match source {
            SourceType::Logs => return logs::rank(lines, goal, scores, deadline),
            SourceType::Code => match code::worth(lines, goal, deadline)? {
                Some(ranked) => ranked,
                // Signs, single letters, other scripts: lines are all there is.
                None => return logs::rank(lines, goal, scores, deadline),
            },
            SourceType::Docs => docs::worth(lines, goal, deadline)?,
        };
        deadline.check()?;
        let relevant = blocks
            .stand_out()
            .or_else(|| standout::lines_of_few_blocks(lines, &blocks, &scores));
        focus::sharpen(&mut worth, &scores);
        Ok(Ranking {
            relevant: relevant.unwrap_or_else(|| vec![false; worth.len()]),
            worth,
        })
    }
}
