//! Cuts the lines that resemble many others. The rare lines and those that show the structure of
//! the text are kept.

use std::ops::Range;

use super::line_costs::{LineCosts, SHORTEST_GAP};
use super::{Sizes, TextDraft};
use crate::budget::digest::{self, Findings, index};
use crate::budget::keep::{KeepBudget, KeepSet};
use crate::budget::notes::NotedText;
use crate::budget::{FitContext, count};
use crate::prune::{Lines, OutOfTime};

/// The minimum number of lines of a text that gets a digest.
const FEWEST_LINES: usize = 8;
/// The notes of a digest take at most 3/`NOTES` of the budget.
const NOTES: usize = 10;
/// The first and last lines take at most 1/`ENDS` of the body, and headings and the like at most
/// 2/5, before rare parts are added.
const ENDS: usize = 8;
/// The largest share of the room, as 1/n, that one part may take. Larger parts are shown in part.
const LARGEST_PART: usize = 6;
/// The share of the body, as 1/n, that is reserved for closing short gaps.
const SHORT_GAPS: usize = 6;
/// The room that the notes leave for the line that summarises the omitted notes.
const MORE: usize = 160;

/// Returns the cuts that leave the rare lines and those that show the structure of the text.
/// Returns `None` if the budget has no room for them, or if there are too few lines.
pub(super) fn draft(
    noted: &NotedText,
    sizes: &Sizes,
    work: &FitContext<'_>,
) -> Result<Option<TextDraft>, OutOfTime> {
    let lines = Lines::new(&noted.text);
    if lines.len() < FEWEST_LINES {
        return Ok(None);
    }
    work.deadline.check()?;
    let findings = digest::find(&lines, work)?;
    work.deadline.check()?;
    let mut notes = write_notes(&findings, 3 * sizes.budget / NOTES);
    let room = sizes.budget - count::chars(&notes);
    let costs = LineCosts::new(&lines, sizes, 8);
    let mut keep_set = KeepSet::new(&costs.sums, sizes.line_marker);
    if let Some(index) = fill(&mut keep_set, &costs, &findings, room) {
        notes.push_str(&index);
        notes.push('\n');
    }
    Ok(keep_set.keeps_any().then(|| TextDraft {
        cuts: costs.cuts(noted, sizes, &keep_set, sizes.budget - count::chars(&notes)),
        notes,
        is_chosen: true,
    }))
}

/// Writes the notes that fit, and a summary of the others.
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

/// Keeps the parts that fit, and returns an index of the others.
fn fill(
    keep_set: &mut KeepSet<'_>,
    costs: &LineCosts,
    findings: &Findings,
    room: usize,
) -> Option<String> {
    let up_to = |cost: usize| KeepBudget {
        cost,
        gaps: usize::MAX,
    };
    let single = |at: usize| at..at + 1;
    let parts = || {
        findings
            .parts
            .iter()
            .map(|part| costs.within(&part.span, room / LARGEST_PART))
    };
    let write_index = |keep_set: &KeepSet<'_>, room: usize| {
        let is_shown = |span: &Range<usize>| span.clone().all(|at| keep_set.is_kept(at));
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
    // As much room as the index may need is reserved first.
    let whole = size(&write_index(keep_set, room / findings.index_share));
    let body = room.saturating_sub(whole);
    keep_set.fill_ends(single, findings.ends, up_to(body / ENDS));
    keep_set.take(findings.structure.iter().cloned(), up_to(2 * body / 5));
    // Part of the room is reserved for the lines between neighbouring parts.
    keep_set.fill(parts, up_to(body - body / SHORT_GAPS));
    keep_set.close_short(SHORTEST_GAP, up_to(body));
    // The index is now shorter, because it omits the parts that are shown.
    let index = write_index(keep_set, whole.saturating_sub(1));
    let body = room.saturating_sub(size(&index));
    keep_set.fill(parts, up_to(body));
    keep_set.close_short(SHORTEST_GAP, up_to(body));
    keep_set.fill_ends(single, findings.ends, up_to(body));
    write_index(keep_set, size(&index).saturating_sub(1))
}
