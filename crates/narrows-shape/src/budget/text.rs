//! Fits text other than JSON into a budget. The cuts remove lines that do not answer the goal
//! (`by_goal`), lines that resemble many others (`by_rarity`), or the middle.

mod by_goal;
mod by_rarity;
mod line_costs;
mod write;

use std::ops::Range;

use memchr::{memchr, memrchr};

use super::base64::{self, Escaping};
use super::count::{self, Counter};
use super::marker::{self, Gap, MarkerUnit};
use super::notes::NotedText;
use super::{CutRange, FitContext, Fitted, Order, Stage};
use crate::estimate_tokens;
use crate::prune::{Fallback, Lines, OutOfTime};
use write::write;

pub(super) fn fit(text: &str, work: &FitContext<'_>) -> Result<Fitted, Fallback> {
    let order = work.order;
    let noted = without_base64(text, order);
    let mut stages = Vec::new();
    if !noted.notes.is_empty() {
        stages.push(Stage::Base64);
    }
    let mut draft = TextDraft::default();
    let sizes = Sizes::new(text, order);
    // If the header takes more than half of the budget, the text gets one cut with one marker.
    let is_small = sizes.budget < order.max_chars / 2;
    if count::chars(&noted.text) > order.max_chars {
        let (found, stage) = match is_small {
            false => cut_lines(&noted, &sizes, work)?,
            true => match prune_in_time(&noted, &sizes, work)? {
                None => return Ok(cut_once(text, order)),
                pruned => (pruned, Some(Stage::Pruned)),
            },
        };
        draft = found.unwrap_or_else(|| TextDraft::of_cut(mask(&noted, &sizes)));
        let is_masked = draft.cuts.iter().any(|cut| cut.is_within_line);
        stages.extend(stage);
        if is_masked || stage.is_none() {
            stages.push(Stage::Masked);
        }
    }
    let (fitted, cuts) = write(text, &noted, &draft, order);
    if is_small && count::chars(&fitted) > order.max_chars {
        return Ok(cut_once(text, order));
    }
    Ok(Fitted {
        text: fitted,
        stages,
        cuts,
    })
}

/// Cuts the middle for a small budget, without a header and with one full marker.
fn cut_once(text: &str, order: &Order<'_>) -> Fitted {
    let (lines, chars) = (Lines::count(text), count::chars(text));
    let room = |unit, total| {
        let marker = Gap::longest_of(unit, total).longest_full(&order.recovery, chars);
        order.max_chars.saturating_sub(count::chars(&marker))
    };
    // The LF of the last line that is cut stays after the marker.
    let by_lines = middle_lines(text, room(MarkerUnit::Lines, lines).saturating_sub(1));
    let mut counter = Counter::new(text);
    let (span, unit, total, place) = match by_lines {
        Some(span) => {
            let place = counter.lines(&span);
            (span, MarkerUnit::Lines, lines, place)
        }
        None => {
            let room = room(MarkerUnit::Chars, chars);
            let span = count::middle(text, room.div_ceil(2), room / 2);
            let place = counter.chars(&span);
            (span, MarkerUnit::Chars, chars, place)
        }
    };
    let (CutRange::Lines { first, last } | CutRange::Chars { first, last }) = place;
    let gap = Gap {
        unit,
        first,
        last,
        total,
    };
    let tokens = estimate_tokens(&text[span.clone()]);
    let marker = gap.full(&order.recovery, tokens, place);
    Fitted {
        text: [&text[..span.start], &marker, &text[span.end..]].concat(),
        stages: vec![Stage::Masked],
        cuts: vec![place],
    }
}

/// Returns cuts by the goal, or `None` if there is no goal or the time is up.
fn prune_in_time(
    noted: &NotedText,
    sizes: &Sizes,
    work: &FitContext<'_>,
) -> Result<Option<TextDraft>, Fallback> {
    let pruned = work
        .order
        .goal()
        .map(|goal| by_goal::draft(noted, goal, sizes, work));
    match pruned {
        Some(Err(Fallback::Timeout)) | None => Ok(None),
        Some(pruned) => pruned,
    }
}

/// Returns cuts by the goal, or otherwise for a digest. Returns `None` if only the middle can be
/// cut, or if the time is up.
fn cut_lines(
    noted: &NotedText,
    sizes: &Sizes,
    work: &FitContext<'_>,
) -> Result<(Option<TextDraft>, Option<Stage>), Fallback> {
    let pruned = match work.order.goal() {
        Some(goal) => by_goal::draft(noted, goal, sizes, work),
        None => Ok(None),
    };
    let digest = match pruned {
        Ok(Some(pruned)) => return Ok((Some(pruned), Some(Stage::Pruned))),
        Ok(None) => by_rarity::draft(noted, sizes, work),
        Err(Fallback::Timeout) => return Ok((None, None)),
        Err(fallback) => return Err(fallback),
    };
    match digest {
        Ok(Some(digest)) => Ok((Some(digest), Some(Stage::Digest))),
        Ok(None) | Err(OutOfTime) => Ok((None, None)),
    }
}

/// The cuts of a text and the notes for its beginning.
#[derive(Default)]
struct TextDraft {
    /// Lines for the beginning, after the header.
    notes: String,
    cuts: Vec<TextCut>,
    /// Set if the kept lines come from all over the text, so that a search finds more than any one
    /// range.
    is_chosen: bool,
}

impl TextDraft {
    fn of_cut(cut: TextCut) -> TextDraft {
        TextDraft {
            notes: String::new(),
            cuts: vec![cut],
            is_chosen: false,
        }
    }
}

/// A part of the noted text to remove.
struct TextCut {
    span: Range<usize>,
    /// Set if the cut removes characters within a line rather than whole lines.
    is_within_line: bool,
}

/// The largest sizes of the parts of a result, in characters.
struct Sizes {
    /// The budget without the header.
    budget: usize,
    /// A marker for lines, including its LF.
    line_marker: usize,
    char_marker: usize,
}

impl Sizes {
    fn new(text: &str, order: &Order<'_>) -> Sizes {
        let (lines, chars) = (Lines::count(text), count::chars(text));
        let longest = |unit, total| count::chars(&Gap::longest_of(unit, total).short());
        let header =
            |unit, total| count::chars(&marker::longest_header(&order.recovery, unit, total));
        let header = header(MarkerUnit::Lines, lines).max(header(MarkerUnit::Chars, chars));
        Sizes {
            budget: order.max_chars.saturating_sub(header),
            line_marker: longest(MarkerUnit::Lines, lines) + 1,
            char_marker: longest(MarkerUnit::Chars, chars),
        }
    }
}

fn without_base64(text: &str, order: &Order<'_>) -> NotedText {
    let blobs = base64::find(text, 0..text.len(), Escaping::Plain);
    if blobs.is_empty() {
        return NotedText::plain(text.to_owned());
    }
    let mut counter = Counter::new(text);
    let notes = blobs.into_iter().enumerate().map(|(nth, blob)| {
        let place = counter.chars(&blob.span);
        let recovery = (nth == 0).then_some(&order.recovery);
        let note = marker::note(recovery, &blob.kind, blob.bytes, place);
        (blob.span, note)
    });
    NotedText::new(text, notes)
}

/// Cuts the middle: whole lines if they are short, otherwise characters.
fn mask(noted: &NotedText, sizes: &Sizes) -> TextCut {
    let room = sizes.budget.saturating_sub(sizes.line_marker);
    if let Some(span) = middle_lines(&noted.text, room) {
        return TextCut {
            span,
            is_within_line: false,
        };
    }
    let room = sizes.budget.saturating_sub(sizes.char_marker);
    let span = count::middle(&noted.text, room.div_ceil(2), room / 2);
    TextCut {
        span: noted.around_notes(span),
        is_within_line: true,
    }
}

/// Returns the lines to cut so that `room` characters of other lines are kept. Returns `None` if
/// the kept lines would fill less than half of the room. The text must have more characters than
/// the room.
fn middle_lines(text: &str, room: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let half = room / 2;
    let (place, _) = text.char_indices().nth(half)?;
    let start = memrchr(b'\n', &bytes[..place])? + 1;
    let head = count::chars(&text[..start]);
    let tail_room = room - head;
    let (place, _) = text.char_indices().rev().nth(tail_room.checked_sub(1)?)?;
    let tail = place + memchr(b'\n', &bytes[place.checked_sub(1)?..])?;
    let is_enough = head >= half / 2 && count::chars(&text[tail..]) >= tail_room / 2;
    (is_enough && start < tail).then(|| start..tail - 1)
}
