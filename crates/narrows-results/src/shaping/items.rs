//! Removal of whole items, if a result has too many texts to keep a useful part of each.

use std::sync::Arc;

use narrows_shape::budget::{CutRange, RecoveryCall, RecoveryRange, short_number};
use narrows_shape::estimate_tokens;
use narrows_shape::prune::Fallback;
use narrows_wire::Raw;

use super::blocks;
use super::report::{BlockReport, SizeChange};
use super::{Job, ResultKind};
use crate::recovery_store::Receipt;

/// The removed items.
pub(super) struct DroppedItems {
    items: Vec<Raw>,
    gone: Vec<bool>,
    /// The item that replaces them.
    note: Raw,
    pub(super) report: BlockReport,
}

impl DroppedItems {
    /// Selects the items to remove, so that the texts of the others have at most `max_chars`
    /// characters. Items at the start and the end are kept. Items without a size in `sizes` cannot
    /// be removed.
    pub(super) fn choose(
        job: &Job,
        result: &Raw,
        sizes: &[Option<usize>],
        max_chars: usize,
        keep: impl FnOnce(&Arc<str>) -> Result<Receipt, Fallback>,
    ) -> Result<DroppedItems, Fallback> {
        let items = blocks::items(result, job.form);
        let longest = note(
            [items.len(); 4],
            "999k",
            &job.recover.call(Receipt::PLACEHOLDER),
        );
        let gone = middle(sizes, max_chars.saturating_sub(longest.chars().count()));
        let together = items.iter().zip(&gone);
        let all: Vec<&Raw> = together
            .filter(|(_, gone)| **gone)
            .map(|(item, _)| item)
            .collect();
        let whole: Arc<str> = joined(&all).into();
        let receipt = keep(&whole)?;
        let first = gone.iter().position(|gone| *gone).unwrap_or_default();
        let last = gone.iter().rposition(|gone| *gone).unwrap_or_default();
        let tokens = estimate_tokens(&whole);
        let text = note(
            [all.len(), first + 1, last + 1, items.len()],
            &short_number(tokens),
            &job.recover.call(receipt.as_str()),
        );
        let before = whole.chars().count();
        let report = BlockReport {
            at: format!("{}[{first}]", job.form.items()),
            prune_id: Some(receipt.to_string()),
            chars: SizeChange {
                before,
                after: text.chars().count(),
            },
            tokens: SizeChange {
                before: tokens,
                after: estimate_tokens(&text),
            },
            stages: vec!["items"],
            goal: None,
            source: None,
            cuts: Vec::new(),
            more_cuts: 0,
        };
        Ok(DroppedItems {
            note: blocks::text_item(&text, all.first().copied(), job.form),
            report: report.with_cuts(&[CutRange::Chars {
                first: 1,
                last: before,
            }]),
            gone,
            items,
        })
    }

    /// Returns true if the item at this index was removed.
    pub(super) fn has(&self, at: usize) -> bool {
        self.gone.get(at).copied().unwrap_or(false)
    }

    /// Returns the result without the removed items and with the other edits applied.
    pub(super) fn apply(
        self,
        form: ResultKind,
        result: &Raw,
        edits: Vec<(usize, &Raw, Raw)>,
    ) -> Raw {
        let mut items = self.items;
        for (at, place, new) in edits {
            items[at] = items[at].edit().replace(place, new).finish();
        }
        let mut left: Vec<&Raw> = Vec::new();
        let mut replaced = false;
        for (item, gone) in items.iter().zip(&self.gone) {
            if !gone {
                left.push(item);
            } else if !std::mem::replace(&mut replaced, true) {
                left.push(&self.note);
            }
        }
        let list = blocks::list(result, form);
        let list = list.expect("items were dropped from it");
        let left = Raw::parse(joined(&left).into()).expect("an array of values");
        result.edit().replace(&list, left).finish()
    }
}

/// Returns the text that replaces the removed items.
fn note(
    [gone, first, last, total]: [usize; 4],
    tokens: &str,
    recovery: &RecoveryCall<'_>,
) -> String {
    let call = recovery.call(RecoveryRange::All);
    format!(
        "⟦narrows: {gone} items between {first} and {last} of {total} cut (~{tokens} tokens); {call}⟧"
    )
}

/// Returns the items to remove, so that the sizes of the others add up to at most `room`. The first
/// items get three quarters of it and the last ones the rest; the very first item may use all of
/// it. Items without a size are kept.
fn middle(sizes: &[Option<usize>], room: usize) -> Vec<bool> {
    let fitting = |sizes: &mut dyn Iterator<Item = &Option<usize>>, mut room: usize| {
        let fits = |size: &&Option<usize>| {
            let left = room.checked_sub(size.unwrap_or_default());
            room = left.unwrap_or(room);
            left.is_some()
        };
        sizes.take_while(fits).count()
    };
    let mut left = room;
    let mut first = fitting(&mut sizes.iter(), room - room / 4);
    if first == 0 {
        first = fitting(&mut sizes.iter().take(1), room);
        left -= sizes[..first].iter().flatten().sum::<usize>();
    }
    let last = fitting(&mut sizes[first..].iter().rev(), left.min(room / 4));
    let gone = first..sizes.len() - last;
    let goes = |(at, size): (usize, &Option<usize>)| gone.contains(&at) && size.is_some();
    sizes.iter().enumerate().map(goes).collect()
}

/// Formats values as an array with one value per line.
fn joined(values: &[&Raw]) -> String {
    let values: Vec<&str> = values.iter().map(|value| value.as_str()).collect();
    format!("[{}]", values.join(",\n"))
}
