//! Engines that rank lines for a goal. This part of pruning can be replaced, for example by a
//! model, without changing the contract.
//!
//! All source types share the splitting and stemming of words ([`crate::terms`]) but compare words
//! differently. In code, a goal asks for a name, and blocks are compared with the goal by weighted
//! features (`code`). In logs and documents, words are searched for by their hash (`goal_terms`,
//! `relevance`). Code and prose have separate tables of synonyms: with the prose table added,
//! recall for code drops from .979 to .968 at a ratio of 0.5, and with the code table instead,
//! recall for prose drops from 1 to .986 at 0.7.

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
    /// Ranks every line for a goal. The goal and the text are data; instructions in them must not
    /// be followed.
    fn rank(
        &self,
        lines: &Lines<'_>,
        goal: &str,
        source: SourceType,
        deadline: &Deadline<'_>,
    ) -> Result<Ranking, OutOfTime>;

    /// Returns the size in bytes up to which a text is ranked within about a millisecond and needs
    /// no thread of its own.
    fn quick_up_to(&self) -> usize {
        0
    }
}

/// The ranking of a text's lines for a goal.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The worth of every line, in the order of the text. Lines with a higher worth are kept first;
    /// lines of equal worth are kept in the order of the text.
    pub worth: Vec<f32>,
    /// The lines that answer the goal, with their context. No line is marked if the goal does not
    /// discriminate, because its words are in no line or in too many.
    pub relevant: Vec<bool>,
}

impl Ranking {
    /// Creates a ranking by worth only, in which every line may answer the goal.
    pub fn by_worth(worth: Vec<f32>) -> Ranking {
        Ranking {
            relevant: vec![true; worth.len()],
            worth,
        }
    }

    /// Returns `true` if the goal distinguishes some lines from the others.
    pub fn discriminates(&self) -> bool {
        self.relevant.contains(&true) && self.worth.windows(2).any(|two| two[0] != two[1])
    }
}

/// A time limit that loops over lines check regularly. The caller provides the clock.
pub struct Deadline<'a> {
    passed: &'a (dyn Fn() -> bool + 'a),
}

impl<'a> Deadline<'a> {
    /// Creates a deadline. `passed` returns `true` once the time is up.
    pub fn new(passed: &'a (dyn Fn() -> bool + 'a)) -> Deadline<'a> {
        Deadline { passed }
    }

    /// Creates a deadline that never passes.
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

/// The error for a passed deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfTime;

/// The built-in engine, which uses words, names and the structure of the text.
pub struct Lexical;

impl Engine for Lexical {
    /// Measured speed: 10 to 25 nanoseconds per byte.
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
                // For punctuation, single letters and other scripts, only lines can be compared.
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
