//! Writes the remaining text with a marker for each cut.

use super::TextDraft;
use crate::budget::count::{self, Counter};
use crate::budget::marker::{self, Gap, MarkerUnit};
use crate::budget::notes::NotedText;
use crate::budget::{CutRange, Order, RecoveryRange};
use crate::prune::Lines;

/// Returns the text with markers for its cuts, and all places of the original that are missing from
/// it.
pub(super) fn write(
    original: &str,
    noted: &NotedText,
    draft: &TextDraft,
    order: &Order<'_>,
) -> (String, Vec<CutRange>) {
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
            true => (MarkerUnit::Chars, chars, counter.chars(&before)),
            false => (MarkerUnit::Lines, lines, counter.lines(&before)),
        };
        let (CutRange::Lines { first, last } | CutRange::Chars { first, last }) = place;
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

/// Writes the first line: the amount shown, and the call that returns the rest.
fn header(gaps: &[Gap], is_chosen: bool, order: &Order<'_>) -> Option<String> {
    let largest = |unit: MarkerUnit| {
        let gaps = gaps.iter().filter(move |gap| gap.unit == unit);
        gaps.max_by_key(|gap| (gap.last - gap.first, std::cmp::Reverse(gap.first)))
    };
    let example = largest(MarkerUnit::Lines).or_else(|| largest(MarkerUnit::Chars))?;
    let gone = gaps.iter().filter(|gap| gap.unit == example.unit);
    let gone: usize = gone.map(|gap| gap.last + 1 - gap.first).sum();
    let shown = example.total.saturating_sub(gone);
    let range = match example.unit {
        MarkerUnit::Lines if is_chosen => RecoveryRange::Search,
        MarkerUnit::Lines => RecoveryRange::Lines(example.first, example.last),
        _ => RecoveryRange::Chars(example.first, example.last),
    };
    Some(marker::header(&order.recovery, shown, *example, range))
}
