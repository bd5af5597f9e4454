//! Fits one result into its budget: counts its texts, divides the budget among them, and stores and
//! cuts each text that exceeds its share. If the caller requested a search, each text is stored and
//! searched instead (`search`).

mod search;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use narrows_shape::budget::{self, CutRange, Order, RecoveryRange, Stage};
use narrows_shape::estimate_tokens;
use narrows_shape::prune::{Deadline, Engine, Fallback, SourceType};
use narrows_wire::Raw;

use super::blocks::{self, Block, BlockKind};
use super::items::DroppedItems;
use super::pieces::{FREE_ITEMS, ITEM_COST, Outcome, Piece, item_cost, shares, total, weight};
use super::report::{BlockReport, MAX_REPORTED_BLOCKS, Report, SizeChange};
use super::structured_content::content_alone;
use super::{Job, ResultKind};
use crate::recovery_store::{Receipt, RecoveryStore};
use crate::settings::ShapeChoice;

/// The minimum share of the budget for a text that is cut, including its marker.
const LEAST_SHARE: usize = 200;

/// The minimum number of characters of a cut text next to its marker.
const LEAST_TEXT: usize = 20;

/// When whole items are removed, each remaining text is counted with at most this many characters
/// and at most this fraction of the budget.
const WORTH_READING: usize = 2 * ShapeChoice::MIN_CHARS;
const PART_WORTH_READING: usize = 8;

/// The factor by which rewriting JSON may shorten it. Larger savings are rare.
const TIGHTENS: usize = 8;

/// A result within its budget. It has no report if only `structuredContent` was removed, which
/// `content` repeats.
pub(super) type ShapedResult = (Raw, Option<Report>);

/// Returns true if a result may have so many items that they count toward the budget.
pub(super) fn may_have_many_items(result: &Raw) -> bool {
    memchr::memchr_iter(b'{', result.as_bytes()).count() > FREE_ITEMS
}

/// Returns true if one half of the result may be over the budget, judged by the length of its
/// texts: a result can be large because of its images.
pub(super) fn is_over(job: &Job) -> bool {
    let limit = job.policy.passes_whole(job.policy.max_chars);
    let blocks = blocks::find(&job.result, job.form, job.policy.binary);
    let texts = blocks.iter().map(|block| block.place.len());
    let texts = texts.sum::<usize>() + item_cost(blocks.len());
    let structured = structured(job).map_or(0, |structured| structured.len());
    job.find.is_some() || texts > limit || structured > limit
}

/// Shapes a result. Returns `None` if it is already within its budget.
pub(super) fn shape(
    job: &Job,
    store: &dyn RecoveryStore,
    engine: &dyn Engine,
) -> Result<Option<ShapedResult>, Fallback> {
    let until = Instant::now().checked_add(job.policy.timeout);
    let passed = || until.is_some_and(|until| Instant::now() >= until);
    let deadline = Deadline::new(&passed);
    // A panic during shaping must not lose the result.
    let shaped = catch_unwind(AssertUnwindSafe(|| {
        let result = match job.form {
            ResultKind::Tool => content_alone(&job.result),
            ResultKind::Resource => job.result.clone(),
        };
        let work = ShapingRun {
            job,
            result: &result,
            store,
            engine,
            deadline: &deadline,
        };
        match &job.find {
            Some(find) if !is_error(&job.result) => work.search(find).map(Some),
            _ => work.run(),
        }
    }));
    shaped.unwrap_or(Err(Fallback::InternalError))
}

struct ShapingRun<'a> {
    job: &'a Job,
    /// The result without `structuredContent`.
    result: &'a Raw,
    store: &'a dyn RecoveryStore,
    engine: &'a dyn Engine,
    deadline: &'a Deadline<'a>,
}

impl ShapingRun<'_> {
    fn run(&self) -> Result<Option<ShapedResult>, Fallback> {
        let mut pieces = self.pieces();
        let budget = self.budget(&pieces);
        let limit = self.job.policy.passes_whole(budget);
        let structured = structured(self.job);
        let structured = structured.map_or(0, |structured| structured.as_str().chars().count());
        if weight(&pieces) <= limit {
            // The texts already contain this data.
            return Ok((structured > limit).then(|| (self.result.clone(), None)));
        }
        self.note_binaries(&mut pieces)?;
        if weight(&pieces) > budget {
            self.tighten(&mut pieces, budget)?;
        }
        let mut dropped = None;
        if weight(&pieces) > limit {
            let shares = self.shares(&pieces, budget);
            let few = item_cost(pieces.len()) <= budget / 4;
            match few && self.are_enough(&pieces, &shares) {
                true => self.cut(&mut pieces, &shares)?,
                false => dropped = Some(self.drop_items(&mut pieces, budget)?),
            }
        }
        let noted = dropped
            .as_ref()
            .map_or(0, |dropped| dropped.report.chars.after);
        if total(&pieces) + noted > limit {
            return Err(Fallback::ConstraintsUnmet);
        }
        self.keep_rewritten(&mut pieces);
        Ok(Some(self.finish(&pieces, dropped)))
    }

    /// Returns all blocks that count toward the budget, with their texts.
    fn pieces(&self) -> Vec<Piece> {
        let Job { form, policy, .. } = self.job;
        let blocks = blocks::find(self.result, *form, policy.binary);
        blocks.into_iter().map(Piece::of).collect()
    }

    /// Returns the budget of the result. Code that is read without a goal has a separate one,
    /// because edits need exact text.
    fn budget(&self, pieces: &[Piece]) -> usize {
        let Job {
            policy, goal_hint, ..
        } = self.job;
        if goal_hint.goal.is_some() || policy.code_max_chars == policy.max_chars {
            return policy.max_chars;
        }
        let longest = pieces.iter().max_by_key(|piece| piece.before);
        let is_code = longest.is_some_and(|piece| {
            let source = self.source(&piece.block);
            let source = source.unwrap_or_else(|| SourceType::guess(None, &piece.text));
            // JSON data and lists of many short texts do not count as code.
            let is_data = piece.text.trim_start().starts_with(['{', '[']);
            source == SourceType::Code && !is_data && piece.before > total(pieces) / 2
        });
        match is_code {
            true => policy.code_max_chars,
            false => policy.max_chars,
        }
    }

    /// Replaces images, audio and blobs with notes, if configured.
    fn note_binaries(&self, pieces: &mut [Piece]) -> Result<(), Fallback> {
        for piece in pieces {
            let BlockKind::Binary { mime, .. } = &piece.block.kind else {
                continue;
            };
            let receipt = self.keep(&piece.text)?;
            let mime = if mime.is_empty() { "binary data" } else { mime };
            let size = budget::short_size(decoded_len(&piece.text));
            let call = self.job.recover.call(receipt.as_str());
            let call = call.call(RecoveryRange::All);
            let text = format!("⟦narrows: {mime}, {size}, cut; its base64: {call}⟧");
            piece.outcome = Some(Outcome {
                after: text.chars().count(),
                text,
                stages: vec![Stage::Base64.as_str()],
                cuts: vec![CutRange::Chars {
                    first: 1,
                    last: piece.before,
                }],
                is_chosen: false,
                receipt: Some(receipt),
            });
        }
        Ok(())
    }

    /// Rewrites JSON in fewer characters without cutting it, the longest texts first, until
    /// everything fits. Texts that are far too long are skipped, because they would not fit anyway.
    fn tighten(&self, pieces: &mut [Piece], max: usize) -> Result<(), Fallback> {
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(pieces[at].before));
        let mut total = total(pieces);
        for at in order {
            self.deadline.check().map_err(|_| Fallback::Timeout)?;
            let piece = &mut pieces[at];
            let is_text = matches!(piece.block.kind, BlockKind::Text { .. });
            if total <= max || !is_text || piece.before > max.saturating_mul(TIGHTENS) {
                continue;
            }
            if let Some(fitted) = budget::tighten(&piece.text) {
                let outcome = Outcome::fitted(fitted, None);
                total -= piece.before.saturating_sub(outcome.after);
                piece.outcome = Some(outcome);
            }
        }
        Ok(())
    }

    /// Stores the texts that were only rewritten. This is optional, because nothing is missing, but
    /// lets clients request the original form.
    fn keep_rewritten(&self, pieces: &mut [Piece]) {
        let rewritten = pieces.iter_mut().filter_map(|piece| {
            let outcome = piece.outcome.as_mut()?;
            outcome.receipt.is_none().then_some((&piece.text, outcome))
        });
        for (text, outcome) in rewritten.take(MAX_REPORTED_BLOCKS) {
            outcome.receipt = self.keep(text).ok();
        }
    }

    /// Divides the budget among the pieces.
    fn shares(&self, pieces: &[Piece], budget: usize) -> Vec<usize> {
        let sizes: Vec<usize> = pieces.iter().map(Piece::chars).collect();
        shares(&sizes, budget.saturating_sub(item_cost(pieces.len())))
    }

    /// Returns true if every cut piece keeps a useful part of its text.
    fn are_enough(&self, pieces: &[Piece], shares: &[usize]) -> bool {
        let longest = pieces.iter().map(|piece| piece.before).max();
        let least = self.least_share(longest.unwrap_or_default());
        let mut pieces = pieces.iter().zip(shares);
        pieces.all(|(piece, &share)| {
            let least = match piece.block.kind {
                BlockKind::Text { .. } => least,
                // Notes are not cut.
                BlockKind::Binary { .. } => piece.chars(),
            };
            share >= piece.chars().min(least)
        })
    }

    /// Returns the minimum share of a text of this length, which has space for a marker.
    fn least_share(&self, chars: usize) -> usize {
        let order = self.order(LEAST_SHARE, None, Receipt::PLACEHOLDER);
        let marker = budget::longest_marker(chars, &order);
        LEAST_SHARE.max(marker + LEAST_TEXT)
    }

    fn order<'o>(
        &'o self,
        max_chars: usize,
        source: Option<SourceType>,
        receipt: &'o str,
    ) -> Order<'o> {
        Order {
            max_chars,
            goal: self.job.goal_hint.goal.as_deref(),
            source,
            recovery: self.job.recover.call(receipt),
        }
    }

    /// Stores and cuts every text that is over its share.
    fn cut(&self, pieces: &mut [Piece], shares: &[usize]) -> Result<(), Fallback> {
        for (piece, &share) in pieces.iter_mut().zip(shares) {
            if piece.chars() > share {
                let receipt = self.keep(&piece.text)?;
                let fitted = self.fit(piece, share, &receipt)?;
                piece.outcome = Some(Outcome::fitted(fitted, Some(receipt)));
            }
        }
        Ok(())
    }

    fn fit(
        &self,
        piece: &Piece,
        share: usize,
        receipt: &Receipt,
    ) -> Result<budget::Fitted, Fallback> {
        let order = self.order(share, self.source(&piece.block), receipt.as_str());
        budget::fit(&piece.text, &order, self.engine, self.deadline)
    }

    /// Removes whole items, if there are so many texts that some would keep no useful part. The
    /// first and the last items keep a share.
    fn drop_items(&self, pieces: &mut Vec<Piece>, budget: usize) -> Result<DroppedItems, Fallback> {
        let part = (budget / PART_WORTH_READING).min(WORTH_READING);
        let longest = pieces.iter().map(|piece| piece.before).max();
        let worth_reading = part.max(self.least_share(longest.unwrap_or_default()));
        let mut sizes = vec![None; blocks::items(self.result, self.job.form).len()];
        for piece in pieces.iter() {
            sizes[piece.block.item] = Some(piece.chars().min(worth_reading) + ITEM_COST);
        }
        let keep = |text: &Arc<str>| self.keep(text);
        let dropped = DroppedItems::choose(self.job, self.result, &sizes, budget, keep)?;
        pieces.retain(|piece| !dropped.has(piece.block.item));
        // The remaining items share the rest of the budget.
        let left = budget.saturating_sub(dropped.report.chars.after);
        let shares = self.shares(pieces, left);
        self.cut(pieces, &shares)?;
        Ok(dropped)
    }

    /// Puts the pieces back into the result and adds the report.
    fn finish(&self, pieces: &[Piece], dropped: Option<DroppedItems>) -> ShapedResult {
        let (mut chars, mut tokens) = (SizeChange::default(), SizeChange::default());
        let mut blocks = Vec::new();
        let mut edits: Vec<(usize, &Raw, Raw)> = Vec::new();
        if let Some(dropped) = &dropped {
            chars.add(dropped.report.chars);
            tokens.add(dropped.report.tokens);
            blocks.push(dropped.report.clone());
        }
        for piece in pieces {
            let before = estimate_tokens(&piece.text);
            let after = match &piece.outcome {
                Some(outcome) => estimate_tokens(&outcome.text),
                None => before,
            };
            let in_tokens = SizeChange { before, after };
            chars.add(SizeChange {
                before: piece.before,
                after: piece.chars(),
            });
            tokens.add(in_tokens);
            if let Some(outcome) = &piece.outcome {
                let (place, new) = self.replacement(piece, &outcome.text);
                edits.push((piece.block.item, place, new));
                blocks.push(self.report(piece, outcome, in_tokens));
            }
        }
        let report = Report::new(chars, tokens, blocks);
        let shaped = match dropped {
            Some(dropped) => dropped.apply(self.job.form, self.result, edits),
            None => {
                let edit = self.result.edit();
                let edit = edits
                    .into_iter()
                    .fold(edit, |edit, (_, place, new)| edit.replace(place, new));
                edit.finish()
            }
        };
        (report.sign(&shaped), Some(report))
    }

    /// Returns the value to replace and its replacement.
    fn replacement<'p>(&self, piece: &'p Piece, text: &str) -> (&'p Raw, Raw) {
        let place = &piece.block.place;
        match &piece.block.kind {
            BlockKind::Text { .. } => (place, Raw::string(text)),
            BlockKind::Binary { item, .. } => {
                (item, blocks::text_item(text, Some(item), self.job.form))
            }
        }
    }

    fn report(&self, piece: &Piece, outcome: &Outcome, tokens: SizeChange) -> BlockReport {
        BlockReport {
            at: piece.block.at(self.job.form),
            prune_id: outcome.receipt.as_ref().map(Receipt::to_string),
            chars: SizeChange {
                before: piece.before,
                after: outcome.after,
            },
            tokens,
            stages: outcome.stages.clone(),
            goal: self
                .job
                .goal_hint
                .goal
                .clone()
                .filter(|_| outcome.is_chosen),
            source: self.source(&piece.block).map(SourceType::as_str),
            cuts: Vec::new(),
            more_cuts: 0,
        }
        .with_cuts(&outcome.cuts)
    }

    fn source(&self, block: &Block) -> Option<SourceType> {
        match block.kind {
            BlockKind::Text { source } => source.or(self.job.goal_hint.source),
            _ => None,
        }
    }

    fn keep(&self, text: &Arc<str>) -> Result<Receipt, Fallback> {
        let kept = self.store.keep(&self.job.owner, text.clone());
        kept.map_err(|_| Fallback::RecoveryUnavailable)
    }
}

/// Returns the structured content. Only tool results have it.
fn structured(job: &Job) -> Option<Raw> {
    match job.form {
        ResultKind::Tool => blocks::structured(&job.result),
        ResultKind::Resource => None,
    }
}

fn is_error(result: &Raw) -> bool {
    let is_error = result.member("isError");
    is_error.and_then(|error| error.as_bool()) == Some(true)
}

/// Returns the number of bytes that base64 text decodes to.
fn decoded_len(base64: &str) -> usize {
    let padding = base64
        .bytes()
        .rev()
        .take_while(|&byte| byte == b'=')
        .count();
    (base64.len() * 3 / 4).saturating_sub(padding.min(2))
}
