//! Text that is no JSON: lines that do not serve the goal go, or lines that are
//! like many others, or the middle.

use std::ops::Range;

use memchr::{memchr, memrchr};

use super::base64::{self, Form};
use super::count::{self, Counter};
use super::digest::{self, Findings, index};
use super::goal;
use super::keep::{Ends, Room, Shelf};
use super::marker::{self, Gap, Unit};
use super::notes::Noted;
use super::{Fitted, Order, Place, RecoveryRange, Stage, Work};
use crate::estimate_tokens;
use crate::prune::{Fallback, Lines, OutOfTime, Selection, SourceType};

/// One marker for so many characters of the budget is little enough.
const CHARS_PER_GAP: usize = 500;
const MOST_GAPS: usize = 96;
/// Fewer lines than this have no digest.
const FEWEST_LINES: usize = 8;
/// The notes of a digest take at most three of so many characters.
const NOTES: usize = 10;
/// The first and last lines take one of so many characters before what is rare
/// is shown, headings and the like two of five.
const ENDS: usize = 8;
/// A part that takes more than one of so many characters is shown in part.
const LARGEST_PART: usize = 6;
/// Gaps of fewer lines are not cut if there is room for them; one of so many
/// characters is set aside for that.
const SHORTEST_GAP: usize = 10;
const SHORT_GAPS: usize = 6;
/// The notes of a digest leave so much for the line about the others.
const MORE: usize = 160;
/// Beside what answers a goal, so many lines at each end are shown.
const LINES_AT_END: usize = 3;
/// A goal has a clear answer if the lines of it take one of so many characters
/// at most. Then protected lines get as little.
const CLEAR: usize = 8;
/// If the lines of a goal do not fit, those that are shown are some of many. One
/// of so many characters goes to rare lines of a log then.
const RARE: usize = 4;

pub(super) fn fit(text: &str, work: &Work<'_>) -> Result<Fitted, Fallback> {
    let order = work.order;
    let noted = without_base64(text, order);
    let mut stages = Vec::new();
    if !noted.notes.is_empty() {
        stages.push(Stage::Base64);
    }
    let mut draft = Draft::default();
    let sizes = Sizes::new(text, order);
    // If the header takes more than half of the budget, the text is cut once,
    // with one marker.
    let is_small = sizes.budget < order.max_chars / 2;
    if count::chars(&noted.text) > order.max_chars {
        let (found, stage) = match is_small {
            false => cut_lines(&noted, &sizes, work)?,
            true => match prune_in_time(&noted, &sizes, work)? {
                None => return Ok(cut_once(text, order)),
                pruned => (pruned, Some(Stage::Pruned)),
            },
        };
        draft = found.unwrap_or_else(|| Draft::of_cut(mask(&noted, &sizes)));
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

/// Cuts the middle for a small budget: no header, and one marker that says all.
fn cut_once(text: &str, order: &Order<'_>) -> Fitted {
    let (lines, chars) = (Lines::count(text), count::chars(text));
    let room = |unit, total| {
        let marker = Gap::longest_of(unit, total).longest_full(&order.recovery, chars);
        order.max_chars.saturating_sub(count::chars(&marker))
    };
    // The LF of the last line that goes stays behind the marker.
    let by_lines = middle_lines(text, room(Unit::Lines, lines).saturating_sub(1));
    let mut counter = Counter::new(text);
    let (span, unit, total, place) = match by_lines {
        Some(span) => {
            let place = counter.lines(&span);
            (span, Unit::Lines, lines, place)
        }
        None => {
            let room = room(Unit::Chars, chars);
            let span = count::middle(text, room.div_ceil(2), room / 2);
            let place = counter.chars(&span);
            (span, Unit::Chars, chars, place)
        }
    };
    let (Place::Lines { first, last } | Place::Chars { first, last }) = place;
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

/// The lines that go by the goal; none without one, or if the time is up.
fn prune_in_time(noted: &Noted, sizes: &Sizes, work: &Work<'_>) -> Result<Option<Draft>, Fallback> {
    let pruned = work
        .order
        .goal()
        .map(|goal| prune(noted, goal, sizes, work));
    match pruned {
        Some(Err(Fallback::Timeout)) | None => Ok(None),
        Some(pruned) => pruned,
    }
}

/// The lines that go, by the goal or else for a digest; none if only the middle
/// can go, or if the time is up.
fn cut_lines(
    noted: &Noted,
    sizes: &Sizes,
    work: &Work<'_>,
) -> Result<(Option<Draft>, Option<Stage>), Fallback> {
    let pruned = match work.order.goal() {
        Some(goal) => prune(noted, goal, sizes, work),
        None => Ok(None),
    };
    let digest = match pruned {
        Ok(Some(pruned)) => return Ok((Some(pruned), Some(Stage::Pruned))),
        Ok(None) => digest(noted, sizes, work),
        Err(Fallback::Timeout) => return Ok((None, None)),
        Err(fallback) => return Err(fallback),
    };
    match digest {
        Ok(Some(digest)) => Ok((Some(digest), Some(Stage::Digest))),
        Ok(None) | Err(OutOfTime) => Ok((None, None)),
    }
}

/// What becomes of a text.
#[derive(Default)]
struct Draft {
    /// Lines for the beginning, behind the header.
    notes: String,
    cuts: Vec<Cut>,
    /// Lines were chosen over the whole text, so that a search brings more than
    /// any one range.
    is_chosen: bool,
}

impl Draft {
    fn of_cut(cut: Cut) -> Draft {
        Draft {
            notes: String::new(),
            cuts: vec![cut],
            is_chosen: false,
        }
    }
}

/// A part of the noted text that goes.
struct Cut {
    span: Range<usize>,
    /// Characters go, and not whole lines.
    is_within_line: bool,
}

/// What things cost at most, in characters.
struct Sizes {
    /// Without the header.
    budget: usize,
    /// A marker for lines, with its LF.
    line_marker: usize,
    char_marker: usize,
}

impl Sizes {
    fn new(text: &str, order: &Order<'_>) -> Sizes {
        let (lines, chars) = (Lines::count(text), count::chars(text));
        let longest = |unit, total| count::chars(&Gap::longest_of(unit, total).short());
        let header =
            |unit, total| count::chars(&marker::longest_header(&order.recovery, unit, total));
        let header = header(Unit::Lines, lines).max(header(Unit::Chars, chars));
        Sizes {
            budget: order.max_chars.saturating_sub(header),
            line_marker: longest(Unit::Lines, lines) + 1,
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
    let notes = blobs.into_iter().enumerate().map(|(nth, blob)| {
        let place = counter.chars(&blob.span);
        let recovery = (nth == 0).then_some(&order.recovery);
        let note = marker::note(recovery, &blob.kind, blob.bytes, place);
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
) -> Result<Option<Draft>, Fallback> {
    let lines = Lines::new(&noted.text);
    let source = work.order.source;
    let source = source.unwrap_or_else(|| SourceType::guess(None, &noted.text));
    let goal = match source {
        SourceType::Code => goal::without_paths(goal),
        _ => goal.to_owned(),
    };
    let goal = goal.as_str();
    let Some(wishes) = Selection::wishes(work.engine, &lines, goal, source, work.deadline)? else {
        return Ok(None);
    };
    work.check()?;
    if source == SourceType::Code
        && goal::picks_copies(&lines, wishes.relevant(), goal, work.deadline)
            .map_err(|_| Fallback::Timeout)?
    {
        return Ok(None);
    }
    let table = Table::new(&lines, sizes, 4);
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
    let wanted: usize = wishes.relevant().map(|at| table.cost(&(at..at + 1))).sum();
    let is_clear = wanted <= sizes.budget / CLEAR;
    let half = Room {
        cost: sizes.budget / if is_clear { CLEAR } else { 2 },
        gaps: gaps / 2,
    };
    shelf.take(wishes.protected().map(block), half);
    // Rows of JSON Lines have no templates; all that is rare in them are values.
    let has_templates = source == SourceType::Logs && !noted.text.trim_start().starts_with('{');
    if has_templates && wanted > sizes.budget {
        let rare = digest::rare_lines(&lines, work.deadline).map_err(|_| Fallback::Timeout)?;
        let share = Room {
            cost: shelf.used() + sizes.budget / RARE,
            gaps: gaps / 2,
        };
        shelf.take(rare.into_iter(), share);
    }
    shelf.fill(|| wishes.relevant().map(block), room);
    shelf.close_short(SHORTEST_GAP, room);
    // No other line stands out. More lines at the ends would cost the reader
    // something and tell nothing.
    let ends = Ends {
        head: LINES_AT_END,
        tail: LINES_AT_END,
    };
    shelf.fill_ends(|at| at..at + 1, ends, room);
    work.check()?;
    Ok(shelf.keeps_any().then(|| Draft {
        notes: String::new(),
        cuts: cuts(noted, sizes, &table, &shelf, sizes.budget),
        is_chosen: true,
    }))
}

/// What is rare, and what shows the shape of the text; `None` if the budget has
/// no room for it, or if there are too few lines.
fn digest(noted: &Noted, sizes: &Sizes, work: &Work<'_>) -> Result<Option<Draft>, OutOfTime> {
    let lines = Lines::new(&noted.text);
    if lines.len() < FEWEST_LINES {
        return Ok(None);
    }
    work.deadline.check()?;
    let findings = digest::find(&lines, work)?;
    work.deadline.check()?;
    let mut notes = write_notes(&findings, 3 * sizes.budget / NOTES);
    let room = sizes.budget - count::chars(&notes);
    let table = Table::new(&lines, sizes, 8);
    let mut shelf = Shelf::new(&table.sums, sizes.line_marker);
    if let Some(index) = fill(&mut shelf, &table, &findings, room) {
        notes.push_str(&index);
        notes.push('\n');
    }
    Ok(shelf.keeps_any().then(|| Draft {
        cuts: cuts(
            noted,
            sizes,
            &table,
            &shelf,
            sizes.budget - count::chars(&notes),
        ),
        notes,
        is_chosen: true,
    }))
}

/// The notes for which there is room, and what the others are.
fn write_notes(findings: &Findings, most: usize) -> String {
    let mut notes = String::new();
    let (mut used, mut listed) = (0, 0);
    for note in &findings.notes {
        used += count::chars(note) + 1;
        if used + MORE.min(most / 4) > most {
            break;
        }
        notes.push_str(note);
        notes.push('\n');
        listed += 1;
    }
    let more = findings.more.as_ref().and_then(|more| more(listed));
    if let Some(more) = more.filter(|more| count::chars(&notes) + count::chars(more) < most) {
        notes.push_str(&more);
        notes.push('\n');
    }
    notes
}

/// Keeps the parts for which there is room, and returns an index of the others.
fn fill(shelf: &mut Shelf<'_>, table: &Table, findings: &Findings, room: usize) -> Option<String> {
    let up_to = |cost: usize| Room {
        cost,
        gaps: usize::MAX,
    };
    let single = |at: usize| at..at + 1;
    let parts = || {
        findings
            .parts
            .iter()
            .map(|part| table.within(&part.span, room / LARGEST_PART))
    };
    let write_index = |shelf: &Shelf<'_>, room: usize| {
        let is_shown = |span: &Range<usize>| span.clone().all(|at| shelf.is_kept(at));
        let missing = findings.parts.iter().filter(|part| !is_shown(&part.span));
        let entries: Vec<index::Entry<'_>> = missing
            .map(|part| index::Entry {
                place: part.span.clone(),
                label: &part.label,
            })
            .collect();
        index::write(findings.index, &entries, room)
    };
    let size = |index: &Option<String>| index.as_deref().map_or(0, |it| count::chars(it) + 1);
    // As much as the index may need is set aside first.
    let whole = size(&write_index(shelf, room / findings.index_share));
    let body = room.saturating_sub(whole);
    shelf.fill_ends(single, findings.ends, up_to(body / ENDS));
    shelf.take(findings.structure.iter().cloned(), up_to(2 * body / 5));
    // A part of the room is for the lines between two parts that are near.
    shelf.fill(parts, up_to(body - body / SHORT_GAPS));
    shelf.close_short(SHORTEST_GAP, up_to(body));
    // The index has become shorter by what is shown.
    let index = write_index(shelf, whole.saturating_sub(1));
    let body = room.saturating_sub(size(&index));
    shelf.fill(parts, up_to(body));
    shelf.close_short(SHORTEST_GAP, up_to(body));
    shelf.fill_ends(single, findings.ends, up_to(body));
    write_index(shelf, size(&index).saturating_sub(1))
}

/// What goes if so many characters may stay: the lines that are not kept, and the
/// middle of long ones.
fn cuts(noted: &Noted, sizes: &Sizes, table: &Table, shelf: &Shelf<'_>, room: usize) -> Vec<Cut> {
    let text = noted.text.as_str();
    let mut cuts: Vec<Cut> = shelf
        .kept_not()
        .into_iter()
        .map(|gap| Cut {
            span: table.start(gap.start)..table.start(gap.end) - 1,
            is_within_line: false,
        })
        .collect();
    let mut long: Vec<usize> = table.long.clone();
    long.retain(|&at| shelf.is_kept(at));
    let mut left = room.saturating_sub(shelf.used());
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
    cuts
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
    /// Long lines have more than one of `share` characters of the budget.
    fn new(lines: &Lines<'_>, sizes: &Sizes, share: usize) -> Table {
        let limit = (sizes.budget / share).max(2 * sizes.char_marker);
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

    /// The first lines of a span that cost no more than this, at least one.
    fn within(&self, span: &Range<usize>, most: usize) -> Range<usize> {
        let sums = &self.sums[span.start + 1..=span.end];
        let limit = self.sums[span.start] as usize + most;
        let fits = sums.partition_point(|&sum| sum as usize <= limit);
        span.start..span.start + fits.max(1)
    }
}

/// The text with markers for what goes, and all places of the original that are
/// not in it.
fn write(original: &str, noted: &Noted, draft: &Draft, order: &Order<'_>) -> (String, Vec<Place>) {
    let mut notes = noted.notes.iter().peekable();
    let mut counter = Counter::new(original);
    let (lines, chars) = (Lines::count(original), count::chars(original));
    let mut places = Vec::new();
    let mut gaps: Vec<Gap> = Vec::new();
    let mut text = String::with_capacity(noted.text.len().min(4 * order.max_chars));
    let mut next = 0;
    for cut in &draft.cuts {
        while let Some(note) = notes.next_if(|note| note.span.start < cut.span.end) {
            if note.span.end <= cut.span.start {
                places.push(counter.chars(&note.before));
            }
        }
        let before = noted.before(&cut.span);
        let (unit, total, place) = match cut.is_within_line {
            true => (Unit::Chars, chars, counter.chars(&before)),
            false => (Unit::Lines, lines, counter.lines(&before)),
        };
        let (Place::Lines { first, last } | Place::Chars { first, last }) = place;
        let gap = Gap {
            unit,
            first,
            last,
            total,
        };
        text.push_str(&noted.text[next..cut.span.start]);
        text.push_str(&gap.short());
        next = cut.span.end;
        places.push(place);
        gaps.push(gap);
    }
    text.push_str(&noted.text[next..]);
    places.extend(notes.map(|note| counter.chars(&note.before)));
    if let Some(header) = header(&gaps, draft.is_chosen, order) {
        text.insert_str(0, &(header + &draft.notes));
    }
    (text, places)
}

/// The first line: how much is shown, and how to get the rest.
fn header(gaps: &[Gap], is_chosen: bool, order: &Order<'_>) -> Option<String> {
    let largest = |unit: Unit| {
        let gaps = gaps.iter().filter(move |gap| gap.unit == unit);
        gaps.max_by_key(|gap| (gap.last - gap.first, std::cmp::Reverse(gap.first)))
    };
    let example = largest(Unit::Lines).or_else(|| largest(Unit::Chars))?;
    let gone = gaps.iter().filter(|gap| gap.unit == example.unit);
    let gone: usize = gone.map(|gap| gap.last + 1 - gap.first).sum();
    let shown = example.total.saturating_sub(gone);
    let range = match example.unit {
        Unit::Lines if is_chosen => RecoveryRange::Search,
        Unit::Lines => RecoveryRange::Lines(example.first, example.last),
        _ => RecoveryRange::Chars(example.first, example.last),
    };
    Some(marker::header(&order.recovery, shown, *example, range))
}
