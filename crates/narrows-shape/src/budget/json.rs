//! Fits JSON into a budget. A lossless shorter form is used if it is short enough. Otherwise rows
//! and parts of strings are cut; the result is JSON or, where allowed, a `digest` in the shorter
//! form.
//!
//! All steps work on the compact text, never on a tree of values: numbers, escapes and duplicate
//! keys stay as they are written, and any depth is accepted. `offset_map` maps cuts to positions in the
//! original.

mod digest;
mod escapes;
mod listing;
mod main_array;
mod offset_map;
mod plan;
mod table;
mod tree;

use std::ops::Range;

use super::base64::{self, Escaping};
use super::count::{self, Counter};
use super::marker::{self, Gap, MarkerUnit};
use super::notes::NotedText;
use super::{CutRange, FitContext, Fitted, Order, RecoveryCall, Stage, within};
use crate::json::string_end;
use crate::prune::Fallback;
use crate::{estimate_tokens, mask, toon};
use offset_map::{OffsetMap, Runs};
use plan::{CutKind, JsonCut, Planner};

/// TOON is hardly ever shorter than 1/8 of compact JSON. Larger texts are not converted as a whole.
const LEAST_TOON: usize = 8;
/// The permitted output formats.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonOutput {
    /// Compact JSON or TOON.
    Shortest,
    Json,
}

/// Returns `true` if a text begins and ends like an object or an array.
pub(super) fn may_be(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t', '\r', '\n']).as_bytes();
    matches!(
        (text.first(), text.last()),
        (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']'))
    )
}

/// Returns a text without white space between its tokens, or `None` if it is not JSON.
pub(super) fn compact(text: &str) -> Option<String> {
    mask::check(text).ok()?;
    let mut compact = String::with_capacity(text.len());
    Runs::new(text).for_each(|run| compact.push_str(&text[run]));
    Some(compact)
}

/// Fits a text into its budget, given its compact form.
pub(super) fn fit(
    original: &str,
    compact: String,
    work: &FitContext<'_>,
    output: JsonOutput,
) -> Result<Fitted, Fallback> {
    let order = work.order;
    work.check()?;
    let is_longer = compact.len() < original.len();
    let mut stages: Vec<Stage> = is_longer.then_some(Stage::Compact).into_iter().collect();
    if let Some(fitted) = whole(&compact, order, output, &stages) {
        return Ok(fitted);
    }
    work.check()?;
    let noted = match without_base64(original, &compact, order) {
        None => NotedText::plain(compact),
        Some(noted) => {
            drop(compact);
            stages.push(Stage::Base64);
            if let Some(mut fitted) = whole(&noted.text, order, output, &stages) {
                fitted.cuts = JsonDraft::new(original, &noted, &[]).places;
                return Ok(fitted);
            }
            noted
        }
    };
    work.check()?;
    let mut planner = Planner::new(&noted, count::chars(original), work);
    match output {
        JsonOutput::Json => fit_as_json(original, &noted, &mut planner, stages, order),
        JsonOutput::Shortest => digest::fit(original, &noted, &mut planner, stages, work),
    }
}

/// Cuts a text that must stay JSON. Only the first marker contains the recovery call.
fn fit_as_json(
    original: &str,
    noted: &NotedText,
    planner: &mut Planner<'_>,
    stages: Vec<Stage>,
    order: &Order<'_>,
) -> Result<Fitted, Fallback> {
    let chars = count::chars(original);
    let longest = Gap {
        unit: MarkerUnit::Chars,
        first: chars,
        last: chars,
        total: chars,
    };
    let full = plan::in_json(
        &CutKind::Chars,
        &longest.longest_full(&order.recovery, chars),
    );
    let more = count::chars(&full) - count::chars(&longest.short());
    let room = order.max_chars.saturating_sub(more);
    let cuts = planner.plan(room, (1, 1))?;
    let cuts = cuts.ok_or(Fallback::ConstraintsUnmet)?;
    let draft = JsonDraft::new(original, noted, &cuts);
    let text = draft.as_json(Some(&order.recovery));
    within(order, draft.fitted(text, stages))
}

/// Returns the whole text in the shorter of its forms, if it fits the budget.
fn whole(json: &str, order: &Order<'_>, output: JsonOutput, stages: &[Stage]) -> Option<Fitted> {
    let fitted = |text: String, stages: Vec<Stage>| Fitted {
        text,
        stages,
        cuts: Vec::new(),
    };
    let is_near = json.len() / LEAST_TOON <= order.max_chars;
    if output == JsonOutput::Shortest
        && is_near
        && let Ok(toon) = toon::encode(json)
        && !toon.is_empty()
        && toon.len() < json.len()
        && count::chars(&toon) <= order.max_chars
    {
        return Some(fitted(toon, as_toon(stages)));
    }
    let is_within = count::chars(json) <= order.max_chars;
    is_within.then(|| fitted(json.to_owned(), stages.to_vec()))
}

/// Returns the stages of a result that ends in TOON.
fn as_toon(stages: &[Stage]) -> Vec<Stage> {
    let others = stages.iter().filter(|&&stage| stage != Stage::Compact);
    [Stage::Toon].into_iter().chain(others.copied()).collect()
}

/// Replaces base64 in string values with notes. Returns `None` if there is none.
fn without_base64(original: &str, compact: &str, order: &Order<'_>) -> Option<NotedText> {
    let bytes = compact.as_bytes();
    let mut blobs = Vec::new();
    let mut at = 0;
    while let Some(quote) = memchr::memchr(b'"', &bytes[at..]) {
        let start = at + quote;
        at = string_end(bytes, start);
        let is_long = at - start > base64::SHORTEST;
        if is_long && bytes.get(at) != Some(&b':') {
            blobs.extend(base64::find(compact, start + 1..at - 1, Escaping::Escaped));
        }
    }
    if blobs.is_empty() {
        return None;
    }
    let (mut offset_map, mut counter) = (OffsetMap::new(original), Counter::new(original));
    let notes = blobs.into_iter().enumerate().map(|(nth, blob)| {
        let place = counter.chars(&offset_map.original(&blob.span));
        let recovery = (nth == 0).then_some(&order.recovery);
        let note = marker::note(recovery, &blob.kind, blob.bytes, place);
        (blob.span, plan::in_json(&CutKind::Chars, &note))
    });
    Some(NotedText::new(compact, notes))
}

/// A text with its cuts and their positions in the original.
struct JsonDraft<'a> {
    original: &'a str,
    noted: &'a NotedText,
    cuts: &'a [JsonCut],
    /// The original span and place of each cut, in order.
    spans: Vec<(Range<usize>, CutRange)>,
    /// All parts of the original that the result lacks.
    places: Vec<CutRange>,
}

impl<'a> JsonDraft<'a> {
    fn new(original: &'a str, noted: &'a NotedText, cuts: &'a [JsonCut]) -> JsonDraft<'a> {
        let mut notes = noted.notes.iter().peekable();
        let (mut offset_map, mut counter) = (OffsetMap::new(original), Counter::new(original));
        let mut find = |compact: &Range<usize>| {
            let span = offset_map.original(compact);
            let place = counter.chars(&span);
            (span, place)
        };
        let mut places = Vec::new();
        let mut spans = Vec::new();
        for cut in cuts {
            while let Some(note) = notes.next_if(|note| note.span.start < cut.span.end) {
                if note.span.end <= cut.span.start {
                    places.push(find(&note.before).1);
                }
            }
            let (span, place) = find(&noted.before(&cut.span));
            places.push(place);
            spans.push((span, place));
        }
        places.extend(notes.map(|note| find(&note.before).1));
        JsonDraft {
            original,
            noted,
            cuts,
            spans,
            places,
        }
    }

    /// Returns the gaps that the cuts leave, in the reader's units.
    fn gaps(&self) -> Vec<Gap> {
        let chars = count::chars(self.original);
        let cuts = self.cuts.iter().zip(&self.spans);
        let gap = |(cut, (_, place)): (&JsonCut, &(Range<usize>, CutRange))| {
            let (first, last, total) = match (&cut.what, *place) {
                (
                    CutKind::Children {
                        first, last, total, ..
                    },
                    _,
                ) => (*first, *last, *total),
                (
                    CutKind::Chars,
                    CutRange::Chars { first, last } | CutRange::Lines { first, last },
                ) => (first, last, chars),
            };
            Gap {
                unit: cut.what.unit(),
                first,
                last,
                total,
            }
        };
        cuts.map(gap).collect()
    }

    /// Returns JSON with its markers. With `recovery`, the first marker contains the recovery call;
    /// otherwise a header does.
    fn as_json(&self, recovery: Option<&RecoveryCall<'_>>) -> String {
        let gaps = self.gaps();
        let mut markers = gaps.iter().zip(&self.spans).enumerate();
        render(self.noted, self.cuts, |cut| {
            let (nth, (gap, (span, place))) = markers.next()?;
            let marker = match recovery.filter(|_| nth == 0) {
                Some(recovery) => {
                    let tokens = estimate_tokens(&self.original[span.clone()]);
                    gap.full(recovery, tokens, *place)
                }
                None => gap.short(),
            };
            Some(plan::in_json(&cut.what, &marker))
        })
    }

    fn fitted(&self, text: String, mut stages: Vec<Stage>) -> Fitted {
        let is_of_chars = |cut: &JsonCut| matches!(cut.what, CutKind::Chars);
        if !self.cuts.iter().all(is_of_chars) {
            stages.push(Stage::Rows);
        }
        if self.cuts.iter().any(is_of_chars) {
            stages.push(Stage::Masked);
        }
        Fitted {
            text,
            stages,
            cuts: self.places.clone(),
        }
    }
}

/// Writes the text without the cuts. `instead` returns the replacement for a cut, which must be
/// valid JSON at that position. A cut without a replacement also removes a comma.
fn render(
    noted: &NotedText,
    cuts: &[JsonCut],
    mut instead: impl FnMut(&JsonCut) -> Option<String>,
) -> String {
    let text = noted.text.as_str();
    let gone: usize = cuts.iter().map(|cut| cut.span.len()).sum();
    let mut out = String::with_capacity(text.len() - gone + 256 * cuts.len());
    let mut next = 0;
    for cut in cuts {
        out.push_str(&text[next..cut.span.start]);
        next = cut.span.end;
        match instead(cut) {
            Some(marker) => out.push_str(&marker),
            None if text[next..].starts_with(',') => next += 1,
            None if out.ends_with(',') => {
                out.pop();
            }
            None => {}
        }
    }
    out.push_str(&text[next..]);
    out
}
