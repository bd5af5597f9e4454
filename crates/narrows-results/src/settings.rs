//! Settings of budgets and of the recovery store. Checked values only: files,
//! environment and defaults are read by the binary and handed in.

use std::path::PathBuf;
use std::time::Duration;

/// What is said of long results in one place: at the top, for an endpoint, a
/// server or a tool. What is left open is said by the place before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShapeChoice {
    /// Whether results are kept within the budget at all.
    pub on: Option<bool>,
    /// The budget: the most characters of text in one result.
    pub max_chars: Option<usize>,
    /// The same for code that is read without a goal: edits need exact text.
    pub code_max_chars: Option<usize>,
    pub binary: Option<Binary>,
    /// Whether tools are listed with an optional argument `goal`, which stays here.
    pub goal_param: Option<bool>,
    /// True if a call whose arguments hold a marker of cut text is refused.
    pub guard: Option<bool>,
    /// How long keeping a result within its budget may take.
    pub timeout: Option<Duration>,
}

impl ShapeChoice {
    /// The budget where nobody names one.
    pub const MAX_CHARS: usize = 16_000;
    /// The same for code that is read without a goal.
    pub const CODE_MAX_CHARS: usize = 48_000;
    /// Less leaves no room for anything between the markers.
    pub const LEAST_CHARS: usize = 1_000;

    /// This choice, and below it another.
    #[must_use]
    pub fn or(self, below: ShapeChoice) -> ShapeChoice {
        ShapeChoice {
            on: self.on.or(below.on),
            max_chars: self.max_chars.or(below.max_chars),
            code_max_chars: self.code_max_chars.or(below.code_max_chars),
            binary: self.binary.or(below.binary),
            goal_param: self.goal_param.or(below.goal_param),
            guard: self.guard.or(below.guard),
            timeout: self.timeout.or(below.timeout),
        }
    }
}

/// What becomes of `structuredContent` on an endpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Structured {
    /// It is left out where it would pass the budget, and for clients whose
    /// models read it instead of the same data in `content`.
    #[default]
    Auto,
    /// It stays, and so do output schemas; results of tools that have one are
    /// not cut.
    Keep,
    /// It is always left out.
    Drop,
}

/// What becomes of images, audio and blobs in results over the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// They are neither counted nor cut.
    Keep,
    /// A text says what was there.
    Note,
}

/// How long, and how much of, what was shortened can be got back.
#[derive(Debug, Clone, PartialEq)]
pub struct RecoverySettings {
    pub ttl: Duration,
    /// Of all texts together; the oldest leave first.
    pub max_bytes: usize,
    /// The folder in which texts outlive the process; without one they are
    /// kept in memory.
    pub path: Option<PathBuf>,
}

impl Default for RecoverySettings {
    fn default() -> Self {
        RecoverySettings {
            ttl: Duration::from_secs(3_600),
            max_bytes: 64 * 1024 * 1024,
            path: None,
        }
    }
}
