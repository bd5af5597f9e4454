//! One text within a budget of characters, markers included, and an account of
//! which parts of the original are no longer there.
//!
//! JSON gets shorter without loss first (`compact`, TOON), then by rows, then by
//! strings (`json`); other text by lines (`text`). The lines and rows that stay
//! are those that answer the goal, or those that a `digest` needs where no goal
//! tells them apart. Base64 goes before either (`base64`). Whatever is cut leaves
//! a marker (`marker`) that says where it was in the original; the first line of
//! the result, or the first marker, says how to get it back (`recovery`).
//!
//! Places are exact. In plain text, a cut of lines reaches from the beginning of
//! its first line to the end of its last one, whose LF stays: a marker that is
//! replaced by `original[cut]` gives the original again, byte for byte, behind the
//! lines that a digest begins with. In JSON,
//! every key and every value of the original stands in the output or in one of
//! the cut places; a cut of rows reaches from the first byte of the first row to
//! the last byte of the last one.

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

/// What a text is to become.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// The most characters that may remain, markers included.
    pub max_chars: usize,
    /// What the reader wants to know; without one, a digest shows what is rare.
    pub goal: Option<&'a str>,
    /// What the text is, where that is known from elsewhere.
    pub source: Option<SourceType>,
    /// The call that gives back what was cut.
    pub recovery: RecoveryCall<'a>,
}

impl<'a> Order<'a> {
    /// A goal of white space is none.
    fn goal(&self) -> Option<&'a str> {
        self.goal.filter(|goal| !goal.trim().is_empty())
    }
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
    /// Arrays lost rows, or objects members.
    Rows,
    /// Lines that do not serve the goal went.
    Pruned,
    /// Lines or rows that are like many others went.
    Digest,
    /// The middle went: of the text, or of a line or a string in it.
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
            Stage::Digest => "digest",
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
/// object and no array, or no shorter.
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

/// Returns `true` if a text of so many characters is over the budget and cutting
/// it saves at least a third of it. Less is not worth a further call for what is
/// missing.
pub fn pays(chars: usize, max_chars: usize) -> bool {
    chars > max_chars.saturating_add(max_chars / 2)
}

/// The characters of the one marker that any cut text of so many characters needs.
/// A budget below that keeps nothing of the text.
pub fn longest_marker(chars: usize, order: &Order<'_>) -> usize {
    let full = |unit| {
        let gap = marker::Gap::longest_of(unit, chars);
        count::chars(&gap.longest_full(&order.recovery, chars))
    };
    full(marker::Unit::Lines).max(full(marker::Unit::Chars))
}

/// A text within its budget. Any budget of at least 1,000 characters is kept, as
/// long as the names in `order` are of a usual length; a smaller one is refused
/// where the markers leave no room ([`Fallback::ConstraintsUnmet`]). Past the
/// deadline, what is left are the first and the last lines.
pub fn fit(
    text: &str,
    order: &Order<'_>,
    engine: &dyn Engine,
    deadline: &Deadline<'_>,
) -> Result<Fitted, Fallback> {
    if let Some(fitted) = unchanged(text, order)? {
        return Ok(fitted);
    }
    let work = Work {
        order,
        engine,
        deadline,
    };
    if json::may_be(text)
        && let Some(compact) = json::compact(text)
    {
        match json::fit(text, compact, &work, json::Output::Shortest) {
            // Nothing in it could be cut, or not in time: characters always can.
            Err(Fallback::ConstraintsUnmet | Fallback::Timeout) => {}
            done => return done,
        }
    }
    within(order, text::fit(text, &work)?)
}

/// The same for JSON that has to stay JSON of the same kind: an object stays
/// an object. What is no JSON is refused, and so is a number that is too long.
pub fn fit_json(
    json: &str,
    order: &Order<'_>,
    engine: &dyn Engine,
    deadline: &Deadline<'_>,
) -> Result<Fitted, Fallback> {
    if let Some(fitted) = unchanged(json, order)? {
        return Ok(fitted);
    }
    let work = Work {
        order,
        engine,
        deadline,
    };
    let compact = json::compact(json).ok_or(Fallback::ConstraintsUnmet)?;
    json::fit(json, compact, &work, json::Output::Json)
}

/// What each step needs besides the text.
struct Work<'a> {
    order: &'a Order<'a>,
    engine: &'a dyn Engine,
    deadline: &'a Deadline<'a>,
}

impl Work<'_> {
    fn check(&self) -> Result<(), Fallback> {
        self.deadline.check().map_err(|OutOfTime| Fallback::Timeout)
    }
}

/// A text that is within its budget already.
fn unchanged(text: &str, order: &Order<'_>) -> Result<Option<Fitted>, Fallback> {
    // Places in tables of rows and lines are kept in 32 bits.
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

/// The last word on the budget: whatever went wrong before, more is not sent.
fn within(order: &Order<'_>, fitted: Fitted) -> Result<Fitted, Fallback> {
    match count::chars(&fitted.text) <= order.max_chars {
        true => Ok(fitted),
        false => Err(Fallback::ConstraintsUnmet),
    }
}
