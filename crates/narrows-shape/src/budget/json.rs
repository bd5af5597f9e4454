//! JSON within a budget: shorter without loss if that is enough, else with rows
//! and parts of strings cut, and still JSON, or TOON with its markers at the end.
//!
//! Everything happens on the compact text, never on a tree of values: numbers,
//! escapes and keys that stand twice stay as they are written, and any depth is
//! taken. `trail` finds the places of cuts in the original again.

mod plan;
mod trail;
mod tree;

use std::ops::Range;

use super::base64::{self, Form};
use super::count::{self, Counter};
use super::marker::{self, Gap};
use super::notes::Noted;
use super::{Fitted, Order, Place, Stage, Work, within};
use crate::json::string_end;
use crate::prune::Fallback;
use crate::{estimate_tokens, mask, toon};
use plan::{Cut, Planner, What, scaled};
use trail::{Runs, Trail};

/// TOON hardly ever takes less than this part of compact JSON; where it would
/// have to, it is not tried on the whole text.
const LEAST_TOON: usize = 8;
/// How often a cut for TOON is tried, and from which part of the budget on it is
/// good enough, in percent.
const TRIES: usize = 4;
const ENOUGH: usize = 94;

/// What may come out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// Compact JSON or TOON.
    Shortest,
    Json,
}

/// Whether a text begins and ends as an object or an array does.
pub(super) fn may_be(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t', '\r', '\n']).as_bytes();
    matches!(
        (text.first(), text.last()),
        (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']'))
    )
}

/// A text without white space between its tokens, if it is JSON.
pub(super) fn compact(text: &str) -> Option<String> {
    mask::check(text).ok()?;
    let mut compact = String::with_capacity(text.len());
    Runs::new(text).for_each(|run| compact.push_str(&text[run]));
    Some(compact)
}

/// Brings a text, of which the compact form is at hand, within its budget.
pub(super) fn fit(
    original: &str,
    compact: String,
    work: &Work<'_>,
    output: Output,
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
        None => Noted::plain(compact),
        Some(noted) => {
            drop(compact);
            stages.push(Stage::Base64);
            if let Some(mut fitted) = whole(&noted.text, order, output, &stages) {
                fitted.cuts = Draft::new(original, &noted, &[]).places;
                return Ok(fitted);
            }
            noted
        }
    };
    work.check()?;
    let mut planner = Planner::new(&noted, count::chars(original), work);
    let cuts = planner
        .plan(order.max_chars, (1, 1))?
        .ok_or(Fallback::ConstraintsUnmet)?;
    if output == Output::Shortest
        && let Some(cuts) = for_toon(&noted, &mut planner, &cuts, work)?
    {
        let draft = Draft::new(original, &noted, &cuts);
        let written = draft.as_toon(order);
        if let Some(text) = written.filter(|text| count::chars(text) <= order.max_chars) {
            return Ok(draft.fitted(text, as_toon(&stages)));
        }
    }
    let draft = Draft::new(original, &noted, &cuts);
    let text = draft.as_json(order);
    within(order, draft.fitted(text, stages))
}

/// All of a text within the budget, in the shorter of its forms.
fn whole(json: &str, order: &Order<'_>, output: Output, stages: &[Stage]) -> Option<Fitted> {
    let fitted = |text: String, stages: Vec<Stage>| Fitted {
        text,
        stages,
        cuts: Vec::new(),
    };
    let is_near = json.len() / LEAST_TOON <= order.max_chars;
    if output == Output::Shortest
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

/// What was done, if it ends in TOON.
fn as_toon(stages: &[Stage]) -> Vec<Stage> {
    let others = stages.iter().filter(|&&stage| stage != Stage::Compact);
    [Stage::Toon].into_iter().chain(others.copied()).collect()
}

/// Notes for the base64 in string values, if there is any.
fn without_base64(original: &str, compact: &str, order: &Order<'_>) -> Option<Noted> {
    let bytes = compact.as_bytes();
    let mut blobs = Vec::new();
    let mut at = 0;
    while let Some(quote) = memchr::memchr(b'"', &bytes[at..]) {
        let start = at + quote;
        at = string_end(bytes, start);
        let is_long = at - start > base64::SHORTEST;
        if is_long && bytes.get(at) != Some(&b':') {
            blobs.extend(base64::find(compact, start + 1..at - 1, Form::Escaped));
        }
    }
    if blobs.is_empty() {
        return None;
    }
    let (mut trail, mut counter) = (Trail::new(original), Counter::new(original));
    let notes = blobs.into_iter().map(|blob| {
        let place = counter.chars(&trail.original(&blob.span));
        let note = marker::note(order, &blob.kind, blob.bytes, place);
        (blob.span, plan::in_json(&What::Chars, &note))
    });
    Some(Noted::new(compact, notes))
}

/// Cuts after which the text fits as TOON, with more of it than fits as JSON;
/// `None` if TOON is not shorter.
fn for_toon(
    noted: &Noted,
    planner: &mut Planner<'_>,
    json_cuts: &[Cut],
    work: &Work<'_>,
) -> Result<Option<Vec<Cut>>, Fallback> {
    let budget = work.order.max_chars;
    let chars = planner.chars();
    // The data without the markers of rows, and those.
    let size = |cuts: &[Cut]| {
        let marker = |cut: &Cut| longest_marker(cut, chars, work.order);
        let data = render(noted, cuts, |cut| match cut.what {
            What::Chars => Some(plan::in_json(&cut.what, &marker(cut))),
            What::Children { .. } => None,
        });
        let toon = toon::encode(&data).ok()?;
        let rows = cuts.iter().filter(|cut| !matches!(cut.what, What::Chars));
        let markers: usize = rows.map(|cut| count::chars(&marker(cut)) + 1).sum();
        Some((count::chars(&data), count::chars(&toon), markers))
    };
    let Some((data, toon, markers)) = size(json_cuts) else {
        return Ok(None);
    };
    if toon >= data || toon == 0 {
        return Ok(None);
    }
    let mut best = (toon + markers <= budget).then(|| json_cuts.to_vec());
    let mut target = scaled(budget, data, toon);
    for _ in 0..TRIES {
        let Some(cuts) = planner.plan(target, (data, toon))? else {
            break;
        };
        let Some((_, toon, markers)) = size(&cuts) else {
            break;
        };
        let reached = toon + markers;
        if reached <= budget {
            best = Some(cuts);
            if reached * 100 >= budget * ENOUGH {
                break;
            }
        }
        // A little less than what would fill the budget if all rows were alike.
        let next = scaled(target, budget, reached);
        target = next - next / 100;
    }
    Ok(best)
}

/// The longest marker that may stand for a cut, in an original of so many
/// characters.
fn longest_marker(cut: &Cut, chars: usize, order: &Order<'_>) -> String {
    let total = match cut.what {
        What::Children { total, .. } => total,
        What::Chars => chars,
    };
    marker::longest(order, cut.what.unit(), total, chars)
}

/// A text with what goes, where that is in the original.
struct Draft<'a> {
    original: &'a str,
    noted: &'a Noted,
    cuts: &'a [Cut],
    /// For each cut, in order.
    spans: Vec<(Range<usize>, Place)>,
    /// All that is missing in the end.
    places: Vec<Place>,
}

impl<'a> Draft<'a> {
    fn new(original: &'a str, noted: &'a Noted, cuts: &'a [Cut]) -> Draft<'a> {
        let mut notes = noted.notes.iter().peekable();
        let (mut trail, mut counter) = (Trail::new(original), Counter::new(original));
        let mut find = |compact: &Range<usize>| {
            let span = trail.original(compact);
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
        Draft {
            original,
            noted,
            cuts,
            spans,
            places,
        }
    }

    fn markers(&self, order: &Order<'_>) -> Vec<String> {
        let chars = count::chars(self.original);
        let cuts = self.cuts.iter().zip(&self.spans);
        cuts.map(|(cut, (span, place))| {
            let (first, last, total) = match (&cut.what, *place) {
                (
                    What::Children {
                        first, last, total, ..
                    },
                    _,
                ) => (*first, *last, *total),
                (What::Chars, Place::Chars { first, last } | Place::Lines { first, last }) => {
                    (first, last, chars)
                }
            };
            Gap {
                unit: cut.what.unit(),
                first,
                last,
                total,
                tokens: estimate_tokens(&self.original[span.clone()]),
                place: *place,
            }
            .marker(order)
        })
        .collect()
    }

    fn as_json(&self, order: &Order<'_>) -> String {
        let mut markers = self.markers(order).into_iter();
        render(self.noted, self.cuts, |cut| {
            let marker = markers.next().unwrap_or_default();
            Some(plan::in_json(&cut.what, &marker))
        })
    }

    /// Markers of rows would make a table something else: they stand behind all.
    fn as_toon(&self, order: &Order<'_>) -> Option<String> {
        let mut markers = self.markers(order).into_iter();
        let mut behind = String::new();
        let data = render(self.noted, self.cuts, |cut| {
            let marker = markers.next().unwrap_or_default();
            match cut.what {
                What::Chars => Some(plan::in_json(&cut.what, &marker)),
                What::Children { .. } => {
                    behind.push('\n');
                    behind.push_str(&marker);
                    None
                }
            }
        });
        let toon = toon::encode(&data).ok()?;
        Some(toon + &behind)
    }

    fn fitted(&self, text: String, mut stages: Vec<Stage>) -> Fitted {
        let is_of_chars = |cut: &Cut| matches!(cut.what, What::Chars);
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

/// The text without what goes. What stands for a cut is valid where it is put;
/// where nothing does, a comma goes as well.
fn render(noted: &Noted, cuts: &[Cut], mut instead: impl FnMut(&Cut) -> Option<String>) -> String {
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
