//! Text that is no JSON: lines that do not serve the goal go, or the middle.

use std::ops::Range;

use memchr::{memchr, memrchr};

use super::base64::{self, Form};
use super::count::{self, Counter};
use super::keep::{Room, Shelf};
use super::marker::{self, Gap, Unit};
use super::notes::Noted;
use super::{Fitted, Order, Place, Stage, Work};
use crate::estimate_tokens;
use crate::prune::{Fallback, Lines, Selection, SourceType};

/// One marker for so many characters of the budget is little enough.
const CHARS_PER_GAP: usize = 500;
const MOST_GAPS: usize = 96;

pub(super) fn fit(text: &str, work: &Work<'_>) -> Result<Fitted, Fallback> {
    let noted = without_base64(text, work.order);
    work.check()?;
    let mut stages = Vec::new();
    if !noted.notes.is_empty() {
        stages.push(Stage::Base64);
    }
    let mut cuts = Vec::new();
    if count::chars(&noted.text) > work.order.max_chars {
        let sizes = Sizes::new(text, work.order);
        let pruned = match work.order.goal() {
            Some(goal) => prune(&noted, goal, &sizes, work)?,
            None => None,
        };
        stages.extend(pruned.as_ref().map(|_| Stage::Pruned));
        cuts = pruned.unwrap_or_else(|| vec![mask(&noted, &sizes)]);
        let is_masked =
            cuts.iter().any(|cut| cut.is_within_line) || !stages.contains(&Stage::Pruned);
        if is_masked {
            stages.push(Stage::Masked);
        }
    }
    let (text, cuts) = write(text, &noted, &cuts, work.order);
    Ok(Fitted { text, stages, cuts })
}

/// A part of the noted text that goes.
struct Cut {
    span: Range<usize>,
    /// Characters go, and not whole lines.
    is_within_line: bool,
}

/// What things cost at most, in characters.
struct Sizes {
    budget: usize,
    /// A marker for lines, with its LF.
    line_marker: usize,
    char_marker: usize,
}

impl Sizes {
    fn new(text: &str, order: &Order<'_>) -> Sizes {
        let chars = count::chars(text);
        let longest = |unit, total| count::chars(&marker::longest(order, unit, total, chars));
        Sizes {
            budget: order.max_chars,
            line_marker: longest(Unit::Lines, Lines::count(text)) + 1,
            char_marker: longest(Unit::Chars, chars),
        }
    }
}

fn without_base64(text: &str, order: &Order<'_>) -> Noted {
    let blobs = base64::find(text, 0..text.len(), Form::Plain);
    if blobs.is_empty() {
        return Noted::plain(text.to_owned());
    }
    let mut counter = Counter::new(text);
    let notes = blobs.into_iter().map(|blob| {
        let place = counter.chars(&blob.span);
        let note = marker::note(order, &blob.kind, blob.bytes, place);
        (blob.span, note)
    });
    Noted::new(text, notes)
}

/// The middle: whole lines where those are short, else characters.
fn mask(noted: &Noted, sizes: &Sizes) -> Cut {
    let room = sizes.budget.saturating_sub(sizes.line_marker);
    if let Some(span) = middle_lines(&noted.text, room) {
        return Cut {
            span,
            is_within_line: false,
        };
    }
    let room = sizes.budget.saturating_sub(sizes.char_marker);
    let span = count::middle(&noted.text, room.div_ceil(2), room / 2);
    Cut {
        span: noted.around_notes(span),
        is_within_line: true,
    }
}

/// The lines that go if others of `room` characters may stay; `None` if those
/// would fill less than half of it. The text has more characters than that.
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

/// The lines that serve the goal least; `None` if the goal does not discriminate,
/// or if the budget has no room for a single line.
fn prune(
    noted: &Noted,
    goal: &str,
    sizes: &Sizes,
    work: &Work<'_>,
) -> Result<Option<Vec<Cut>>, Fallback> {
    let text = noted.text.as_str();
    let lines = Lines::new(text);
    let source = work.order.source;
    let source = source.unwrap_or_else(|| SourceType::guess(None, text));
    let Some(wishes) = Selection::wishes(work.engine, &lines, goal, source, work.deadline)? else {
        return Ok(None);
    };
    work.check()?;
    let table = Table::new(&lines, sizes);
    let mut shelf = Shelf::new(&table.sums, sizes.line_marker);
    let block = |at: usize| {
        let block = wishes.block(at);
        // Of a block that takes half of all, a part is better than nothing.
        match table.cost(&block) <= sizes.budget / 2 {
            true => block,
            false => at..at + 1,
        }
    };
    let gaps = (sizes.budget / CHARS_PER_GAP).clamp(3, MOST_GAPS);
    let room = Room {
        cost: sizes.budget,
        gaps,
    };
    // Half belongs to the goal, however much is protected.
    let half = Room {
        cost: sizes.budget / 2,
        gaps: gaps / 2,
    };
    shelf.take(wishes.protected().map(block), half);
    shelf.fill(|| wishes.relevant().map(block), room);
    // No other line stands out: what is left goes to both ends.
    shelf.fill_ends(block, room);
    work.check()?;
    if !shelf.keeps_any() {
        return Ok(None);
    }

    let mut cuts: Vec<Cut> = shelf
        .kept_not()
        .into_iter()
        .map(|gap| Cut {
            span: table.start(gap.start)..table.start(gap.end) - 1,
            is_within_line: false,
        })
        .collect();
    let mut left = sizes.budget.saturating_sub(shelf.used());
    let mut long: Vec<usize> = table.long.clone();
    long.retain(|&at| shelf.is_kept(at));
    for (nth, &at) in long.iter().enumerate() {
        let line = table.start(at)..table.start(at + 1) - 1;
        let chars = count::chars(&text[line.clone()]);
        let more = (left / (long.len() - nth)).min(chars - table.limit);
        left -= more;
        let kept = table.limit + more;
        if kept < chars {
            let room = kept.saturating_sub(sizes.char_marker);
            let middle = count::middle(&text[line.clone()], room.div_ceil(2), room / 2);
            let span = line.start + middle.start..line.start + middle.end;
            cuts.push(Cut {
                span: noted.around_notes(span),
                is_within_line: true,
            });
        }
    }
    cuts.sort_unstable_by_key(|cut| cut.span.start);
    Ok(Some(cuts))
}

/// Where lines are, and what they cost.
struct Table {
    /// Where each line begins, and where one more would.
    starts: Vec<u32>,
    sums: Vec<u32>,
    /// The lines of which only a part can stay.
    long: Vec<usize>,
    /// How much of a long line stays, with its marker.
    limit: usize,
}

impl Table {
    fn new(lines: &Lines<'_>, sizes: &Sizes) -> Table {
        let limit = (sizes.budget / 4).max(2 * sizes.char_marker);
        let (mut starts, mut sums) = (vec![0], vec![0]);
        let mut long = Vec::new();
        let (mut start, mut sum) = (0, 0);
        for (at, line) in lines.iter().enumerate() {
            start += line.len() as u32 + 1;
            let chars = count::chars(line);
            let is_long = chars > limit + sizes.char_marker;
            if is_long {
                long.push(at);
            }
            sum += 1 + if is_long { limit } else { chars } as u32;
            starts.push(start);
            sums.push(sum);
        }
        Table {
            starts,
            sums,
            long,
            limit,
        }
    }

    fn start(&self, line: usize) -> usize {
        self.starts[line] as usize
    }

    fn cost(&self, span: &Range<usize>) -> usize {
        (self.sums[span.end] - self.sums[span.start]) as usize
    }
}

/// The text with markers for what goes, and all places of the original that are
/// not in it.
fn write(original: &str, noted: &Noted, cuts: &[Cut], order: &Order<'_>) -> (String, Vec<Place>) {
    let mut notes = noted.notes.iter().peekable();
    let mut counter = Counter::new(original);
    let chars = count::chars(original);
    let mut places = Vec::new();
    let mut text = String::with_capacity(noted.text.len().min(4 * order.max_chars));
    let mut next = 0;
    for cut in cuts {
        while let Some(note) = notes.next_if(|note| note.span.start < cut.span.end) {
            if note.span.end <= cut.span.start {
                places.push(counter.chars(&note.before));
            }
        }
        let before = noted.before(&cut.span);
        let tokens = estimate_tokens(&original[before.clone()]);
        let (unit, total, place) = match cut.is_within_line {
            true => (Unit::Chars, chars, counter.chars(&before)),
            false => (Unit::Lines, Lines::count(original), counter.lines(&before)),
        };
        let (Place::Lines { first, last } | Place::Chars { first, last }) = place;
        let gap = Gap {
            unit,
            first,
            last,
            total,
            tokens,
            place,
        };
        text.push_str(&noted.text[next..cut.span.start]);
        text.push_str(&gap.marker(order));
        next = cut.span.end;
        places.push(place);
    }
    text.push_str(&noted.text[next..]);
    places.extend(notes.map(|note| counter.chars(&note.before)));
    (text, places)
}
