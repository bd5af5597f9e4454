//! Fits one text into a budget of characters, markers included, and reports which parts of the
//! original are missing.
//!
//! JSON is first shortened without loss (`compact`, TOON), then by removing rows, then by cutting
//! strings (`json`). Other text is shortened by lines (`text`). The kept lines and rows are those
//! that answer the goal or, if no goal discriminates, those that a `digest` needs. Base64 is
//! replaced before either (`base64`). Each cut leaves a marker (`marker`) with its place in the
//! original. The first line of the result, or the first marker, contains the call that returns the
//! missing parts (`recovery`).
//!
//! Places are exact. In plain text, a cut of lines extends from the beginning of its first line to
//! the end of its last one, whose LF is kept. Replacing each marker with `original[cut]` restores
//! the original byte for byte, after the lines that a digest begins with. In JSON, every key and
//! every value of the original is in the output or in one of the cut places. A cut of rows extends
//! from the first byte of the first row to the last byte of the last one.

mod base64;
mod count;
mod digest;
mod goal;
mod json;
mod keep;
mod marker;
mod notes;
mod recovery;
mod text;

#[cfg(test)]
mod tests;

pub use marker::{short_number, short_size};
pub use recovery::{RecoveryCall, RecoveryForm, RecoveryRange};

use crate::prune::{Deadline, Engine, Fallback, OutOfTime, SourceType};
use crate::toon::{self, Encoding};

/// The requirements for a shortened text.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// The maximum number of characters of the result, markers included.
    pub max_chars: usize,
    /// The question that the reader wants answered. Without a goal, a digest shows what is rare.
    pub goal: Option<&'a str>,
    /// The type of the text, if it is known.
    pub source: Option<SourceType>,
    /// The call that returns the cut parts.
    pub recovery: RecoveryCall<'a>,
}

impl<'a> Order<'a> {
    /// Returns the goal, unless it is blank.
    fn goal(&self) -> Option<&'a str> {
        self.goal.filter(|goal| !goal.trim().is_empty())
    }
}

/// A text within its budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    pub text: String,
    /// The stages that were applied, in order.
    pub stages: Vec<Stage>,
    /// The missing parts, in the order of the original.
    pub cuts: Vec<CutRange>,
}

/// A step that was applied to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// White space was removed from JSON.
    Compact,
    /// JSON was converted to TOON.
    Toon,
    /// Notes replaced base64.
    Base64,
    /// Rows of arrays or members of objects were removed.
    Rows,
    /// Lines that do not answer the goal were removed.
    Pruned,
    /// Lines or rows that resemble many others were removed.
    Digest,
    /// The middle of the text, or of a line or string in it, was removed.
    Masked,
}

impl Stage {
    /// Returns the stable name for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Compact => "compact",
            Stage::Toon => "toon",
            Stage::Base64 => "base64",
            Stage::Rows => "rows",
            Stage::Pruned => "pruned",
            Stage::Digest => "digest",
            Stage::Masked => "masked",
        }
    }
}

/// A part of the original, counted from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutRange {
    Lines { first: usize, last: usize },
    Chars { first: usize, last: usize },
}

/// Returns JSON text in fewer characters without any loss. Returns `None` if the text is neither an
/// object nor an array, or if no form of it is shorter.
pub fn tighten(text: &str) -> Option<Fitted> {
    if !json::may_be(text) {
        return None;
    }
    let shortest = toon::shortest(text).ok()?;
    let is_shorter = count::chars(&shortest.text) < count::chars(text);
    is_shorter.then(|| Fitted {
        text: shortest.text,
        stages: vec![match shortest.encoding {
            Encoding::Json => Stage::Compact,
            Encoding::Toon => Stage::Toon,
        }],
        cuts: Vec::new(),
    })
}

/// Returns `true` if a text of `chars` characters is over the budget and cutting it saves at least
/// a third. A smaller saving does not justify a further call for the missing parts.
pub fn pays(chars: usize, max_chars: usize) -> bool {
    chars > max_chars.saturating_add(max_chars / 2)
}

/// Returns the length of the marker that any cut text of `chars` characters needs. A smaller budget
/// keeps nothing of the text.
pub fn longest_marker(chars: usize, order: &Order<'_>) -> usize {
    let full = |unit| {
        let gap = marker::Gap::longest_of(unit, chars);
        count::chars(&gap.longest_full(&order.recovery, chars))
    };
    full(marker::MarkerUnit::Lines).max(full(marker::MarkerUnit::Chars))
}

/// Fits a text into its budget. Any budget of at least 1,000 characters is kept, as long as the
/// names in `order` have the usual lengths. A smaller budget fails if the markers leave no room
/// ([`Fallback::ConstraintsUnmet`]). If the deadline passes, the result consists of the first and
/// the last lines.
pub fn fit(
    text: &str,
    order: &Order<'_>,
    engine: &dyn Engine,
    deadline: &Deadline<'_>,
) -> Result<Fitted, Fallback> {
    if let Some(fitted) = unchanged(text, order)? {
        return Ok(fitted);
    }
    let work = FitContext {
        order,
        engine,
        deadline,
    };
    if json::may_be(text)
        && let Some(compact) = json::compact(text)
    {
        match json::fit(text, compact, &work, json::JsonOutput::Shortest) {
            // JSON could not be cut, or not in time. Cutting characters always works.
            Err(Fallback::ConstraintsUnmet | Fallback::Timeout) => {}
            done => return done,
        }
    }
    within(order, text::fit(text, &work)?)
}

/// Fits JSON into its budget and keeps it JSON of the same kind: an object stays an object. Fails
/// for text that is not JSON and for a single number that is too long.
pub fn fit_json(
    json: &str,
    order: &Order<'_>,
    engine: &dyn Engine,
    deadline: &Deadline<'_>,
) -> Result<Fitted, Fallback> {
    if let Some(fitted) = unchanged(json, order)? {
        return Ok(fitted);
    }
    let work = FitContext {
        order,
        engine,
        deadline,
    };
    let compact = json::compact(json).ok_or(Fallback::ConstraintsUnmet)?;
    json::fit(json, compact, &work, json::JsonOutput::Json)
}

/// The context that each step needs in addition to the text.
struct FitContext<'a> {
    order: &'a Order<'a>,
    engine: &'a dyn Engine,
    deadline: &'a Deadline<'a>,
}

impl FitContext<'_> {
    fn check(&self) -> Result<(), Fallback> {
        self.deadline.check().map_err(|OutOfTime| Fallback::Timeout)
    }
}

/// Returns a text that already fits its budget unchanged.
fn unchanged(text: &str, order: &Order<'_>) -> Result<Option<Fitted>, Fallback> {
    // The tables of rows and lines store positions in 32 bits.
    if u32::try_from(text.len()).is_err() {
        return Err(Fallback::InputTooLarge);
    }
    let fits = text.len() <= order.max_chars || count::chars(text) <= order.max_chars;
    Ok(fits.then(|| Fitted {
        text: text.to_owned(),
        stages: Vec::new(),
        cuts: Vec::new(),
    }))
}

/// Checks the budget once more, so that an oversized result is never returned.
fn within(order: &Order<'_>, fitted: Fitted) -> Result<Fitted, Fallback> {
    match count::chars(&fitted.text) <= order.max_chars {
        true => Ok(fitted),
        false => Err(Fallback::ConstraintsUnmet),
    }
}
