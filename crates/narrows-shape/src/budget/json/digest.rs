//! The digest of a JSON text: a description of its rows, the rows that answer the goal or are
//! unusual, as compact JSON or TOON, and an index of the other rare rows.

use super::main_array::Main;
use super::plan::{self, CutKind, JsonCut, Planner, scaled};
use super::{JsonDraft, as_toon, render, table};
use crate::budget::digest::index;
use crate::budget::marker::{self, Gap, MarkerUnit};
use crate::budget::notes::NotedText;
use crate::budget::{CutRange, FitContext, Fitted, Order, RecoveryRange, Stage, count, within};
use crate::prune::{Fallback, Lines};
use crate::toon;

/// The shares of the room: 3/`NOTES` for the description of the fields, 1/`INDEX` for the index.
const NOTES: usize = 10;
const INDEX: usize = 4;
/// The maximum number of attempts to find cuts for TOON, and the percentage of the budget from
/// which a result is good enough.
const TRIES: usize = 4;
const ENOUGH: usize = 94;
/// The approximate number of spaces before a marker in TOON.
const INDENT: usize = 4;

pub(super) fn fit(
    original: &str,
    noted: &NotedText,
    planner: &mut Planner<'_>,
    stages: Vec<Stage>,
    work: &FitContext<'_>,
) -> Result<Fitted, Fallback> {
    let order = work.order;
    let main = planner.main()?;
    let chars = count::chars(original).max(Lines::count(original));
    let header = count::chars(&marker::longest_header(
        &order.recovery,
        MarkerUnit::Rows,
        chars,
    ));
    let room = order.max_chars.saturating_sub(header);
    let mut note = note(main.as_ref(), 3 * room / NOTES);
    let mut room = room - count::chars(&note);
    // The first round reserves as much as the index may need. In the second round, the index is
    // shorter, because it omits the rows that are shown.
    let mut reserved = size(&write_index(main.as_ref(), None, room / INDEX));
    let mut done = None;
    for _ in 0..2 {
        let Some((cuts, is_toon)) = cut(noted, planner, room.saturating_sub(reserved), work)?
        else {
            break;
        };
        let index = write_index(main.as_ref(), Some(&cuts), reserved.saturating_sub(1));
        let is_final = size(&index) == reserved;
        reserved = size(&index);
        done = Some((cuts, is_toon, index));
        if is_final {
            break;
        }
    }
    if done.is_none() {
        // A small budget has room for the values only.
        room += count::chars(&std::mem::take(&mut note));
        let cut = cut(noted, planner, room, work)?;
        done = cut.map(|(cuts, is_toon)| (cuts, is_toon, None));
    }
    let (cuts, is_toon, index) = done.ok_or(Fallback::ConstraintsUnmet)?;
    let draft = JsonDraft::new(original, noted, &cuts);
    let body = match is_toon {
        true => {
            // Markers can make a table of nested rows longer than measured.
            let taken = index.as_deref().map_or(0, |index| count::chars(index) + 1);
            let fits = |body: &String| count::chars(body) + taken <= room;
            let body = table::as_toon(&draft).filter(fits);
            body.map(|body| (body, as_toon(&stages)))
        }
        false => None,
    };
    let (body, stages) = match body {
        Some(written) => written,
        None if is_toon => {
            // The markers do not fit into TOON. JSON is longer, so less of the text fits.
            let room = room.saturating_sub(index.as_deref().map_or(0, count::chars) + 1);
            let cuts = planner
                .plan(room, (1, 1))?
                .ok_or(Fallback::ConstraintsUnmet)?;
            let draft = JsonDraft::new(original, noted, &cuts);
            let header = write_header(&draft, main.as_ref(), order);
            let text = format!("{header}{note}{}", draft.as_json(None));
            return within(order, draft.fitted(text, stages));
        }
        None => (draft.as_json(None), stages),
    };
    let index = index.map_or(String::new(), |index| index + "\n");
    let header = write_header(&draft, main.as_ref(), order);
    let text = format!("{header}{note}{index}{body}");
    within(order, draft.fitted(text, stages))
}

fn size(line: &Option<String>) -> usize {
    line.as_deref().map_or(0, |line| count::chars(line) + 1)
}

/// Describes the contents of the rows in one line.
fn note(main: Option<&Main>, most: usize) -> String {
    let note = main.and_then(|main| {
        main.table
            .as_ref()?
            .note(&main.path, most.saturating_sub(1))
    });
    note.map_or(String::new(), |note| note + "\n")
}

/// Writes an index of the rare rows that are cut, or of all rare rows.
fn write_index(main: Option<&Main>, cuts: Option<&[JsonCut]>, room: usize) -> Option<String> {
    let main = main?;
    let gaps: Option<Vec<(usize, usize)>> = cuts.map(|cuts| {
        let gap = |cut: &JsonCut| match cut.what {
            CutKind::Children {
                container,
                first,
                last,
                ..
            } if container == main.container => Some((first - 1, last)),
            _ => None,
        };
        cuts.iter().filter_map(gap).collect()
    });
    let is_missing = |row: usize| {
        gaps.as_ref().is_none_or(|gaps| {
            let next = gaps.partition_point(|gap| gap.1 <= row);
            gaps.get(next).is_some_and(|gap| gap.0 <= row)
        })
    };
    let rare = main.table.as_ref()?.rare.iter();
    let entries: Vec<index::Entry<'_>> = rare
        .filter(|rare| is_missing(rare.row))
        .map(|rare| index::Entry {
            place: rare.row..rare.row + 1,
            label: &rare.label,
        })
        .collect();
    index::write("rare rows not shown", &entries, room)
}

/// Writes the first line: the number of rows shown, and the call that returns the rest.
fn write_header(draft: &JsonDraft<'_>, main: Option<&Main>, order: &Order<'_>) -> String {
    let gaps = draft.gaps();
    let is_of_main = |cut: &JsonCut| match cut.what {
        CutKind::Children { container, .. } => main.is_some_and(|main| main.container == container),
        CutKind::Chars => false,
    };
    let length = |gap: &Gap| gap.last + 1 - gap.first;
    let all = draft.cuts.iter().zip(&gaps).zip(&draft.spans);
    let of_main = all.clone().filter(|((cut, _), _)| is_of_main(cut));
    let largest = of_main.max_by_key(|((_, gap), _)| length(gap));
    if let Some(((_, gap), _)) = largest {
        let gone = draft
            .cuts
            .iter()
            .zip(&gaps)
            .filter(|(cut, _)| is_of_main(cut));
        let gone: usize = gone.map(|(_, gap)| length(gap)).sum();
        let (shown, range) = (gap.total - gone, RecoveryRange::Search);
        return marker::header(&order.recovery, shown, *gap, range);
    }
    let chars = count::chars(draft.original);
    let extent = |place: &CutRange| {
        let (CutRange::Chars { first, last } | CutRange::Lines { first, last }) = *place;
        (first, last)
    };
    let places = draft.spans.iter().map(|(_, place)| extent(place));
    let gone: usize = places.clone().map(|(first, last)| last + 1 - first).sum();
    let Some((first, last)) = places.max_by_key(|(first, last)| last - first) else {
        return String::new();
    };
    let gap = Gap {
        unit: MarkerUnit::Chars,
        first,
        last,
        total: chars,
    };
    let range = RecoveryRange::Chars(first, last);
    marker::header(&order.recovery, chars.saturating_sub(gone), gap, range)
}

/// Returns cuts that bring the text within `room` characters, and whether the result is TOON.
fn cut(
    noted: &NotedText,
    planner: &mut Planner<'_>,
    room: usize,
    work: &FitContext<'_>,
) -> Result<Option<(Vec<JsonCut>, bool)>, Fallback> {
    let Some(cuts) = planner.plan(room, (1, 1))? else {
        return Ok(None);
    };
    let as_toon = for_toon(noted, planner, &cuts, room)?;
    work.check()?;
    Ok(Some(match as_toon {
        Some(cuts) => (cuts, true),
        None => (cuts, false),
    }))
}

/// Returns cuts with which the text fits as TOON and keeps more than it would as JSON. Returns
/// `None` if TOON is not shorter.
fn for_toon(
    noted: &NotedText,
    planner: &mut Planner<'_>,
    json_cuts: &[JsonCut],
    room: usize,
) -> Result<Option<Vec<JsonCut>>, Fallback> {
    let chars = planner.chars();
    // Measures the data without row markers in both forms, and the row markers.
    let size = |cuts: &[JsonCut]| {
        let marker = |cut: &JsonCut| longest_marker(cut, chars);
        let data = render(noted, cuts, |cut| match cut.what {
            CutKind::Chars => Some(plan::in_json(&cut.what, &marker(cut))),
            CutKind::Children { .. } => None,
        });
        let toon = toon::encode(&data).ok()?;
        let rows = cuts
            .iter()
            .filter(|cut| !matches!(cut.what, CutKind::Chars));
        let markers: usize = rows
            .map(|cut| count::chars(&marker(cut)) + 1 + INDENT)
            .sum();
        Some((count::chars(&data), count::chars(&toon), markers))
    };
    let Some((data, toon, markers)) = size(json_cuts) else {
        return Ok(None);
    };
    if toon >= data || toon == 0 {
        return Ok(None);
    }
    let mut best = (toon + markers <= room).then(|| json_cuts.to_vec());
    let mut target = scaled(room, data, toon);
    for _ in 0..TRIES {
        let Some(cuts) = planner.plan(target, (data, toon))? else {
            break;
        };
        let Some((_, toon, markers)) = size(&cuts) else {
            break;
        };
        let reached = toon + markers;
        if reached <= room {
            best = Some(cuts);
            if reached * 100 >= room * ENOUGH {
                break;
            }
        }
        // Slightly less than the target that would fill the budget if all rows were alike.
        let next = scaled(target, room, reached);
        target = next - next / 100;
    }
    Ok(best)
}

/// Returns the longest marker that may replace a cut in a text of `chars` characters.
fn longest_marker(cut: &JsonCut, chars: usize) -> String {
    let total = match cut.what {
        CutKind::Children { total, .. } => total,
        CutKind::Chars => chars,
    };
    let unit = cut.what.unit();
    let gap = Gap {
        unit,
        first: total,
        last: total,
        total,
    };
    gap.short()
}
