//! Settings of budgets and of the recovery store. All values are already validated: the binary
//! reads files, the environment and defaults.

use std::path::PathBuf;
use std::time::Duration;

/// The settings for long results at one level: global, endpoint, server or tool. Unset fields
/// inherit from the enclosing level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShapeChoice {
    /// True if results are kept within the budget.
    pub on: Option<bool>,
    /// The budget: the maximum number of characters of text in one result.
    pub max_chars: Option<usize>,
    /// The budget for code that is read without a goal, because edits need exact text.
    pub code_max_chars: Option<usize>,
    pub binary: Option<Binary>,
    /// True if tools are listed with an optional argument `goal`, which is not forwarded to the
    /// server.
    pub goal_param: Option<bool>,
    /// True if a call whose arguments contain a marker of cut text is refused.
    pub guard: Option<bool>,
    /// The time limit for fitting a result into its budget.
    pub timeout: Option<Duration>,
}

impl ShapeChoice {
    /// The default budget.
    pub const MAX_CHARS: usize = 16_000;
    /// The default budget for code that is read without a goal.
    pub const CODE_MAX_CHARS: usize = 48_000;
    /// The minimum budget. A lower one would leave no space between the markers.
    pub const MIN_CHARS: usize = 1_000;

    /// Returns these settings, with unset fields from `below`.
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

/// The treatment of `structuredContent` on an endpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Structured {
    /// Removed if it would exceed the budget, and for clients whose models read it instead of the
    /// same data in `content`.
    #[default]
    Auto,
    /// Kept, together with output schemas. Results of tools with an output schema are not cut.
    Keep,
    /// Always removed.
    Drop,
}

/// The treatment of images, audio and blobs in results over the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// Neither counted nor cut.
    Keep,
    /// Replaced by a note.
    Note,
}

/// The lifetime and size limit of stored texts.
#[derive(Debug, Clone, PartialEq)]
pub struct RecoverySettings {
    pub ttl: Duration,
    /// The maximum size of all texts together. The oldest are removed first.
    pub max_bytes: usize,
    /// The folder in which texts outlive the process. If unset, texts are kept in memory.
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
