//! One result, made to fit: its texts are counted, the budget is shared out,
//! and every text that is over its share is kept and cut; or each is kept and
//! searched, where the caller asked for that (`search`).

mod search;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use narrows_shape::budget::{self, Order, Place, RecoveryRange, Stage};
use narrows_shape::estimate_tokens;
use narrows_shape::prune::{Deadline, Engine, Fallback, SourceType};
use narrows_wire::Raw;

use super::blocks::{self, Block, BlockKind};
use super::halves::content_alone;
use super::items::Dropped;
use super::pieces::{FREE_ITEMS, ITEM_COST, Outcome, Piece, item_cost, shares, total, weight};
use super::report::{BLOCKS_TOLD, BlockReport, Change, Report};
use super::{Form, Job};
use crate::recovery_store::{Receipt, Store};
use crate::settings::ShapeChoice;

/// The least share of the budget that a text is cut to, its marker included.
const LEAST_SHARE: usize = 200;

/// How much of a text stays beside its marker at least.
const LEAST_TEXT: usize = 20;

/// Where whole items go, the others keep so many characters at most before a
/// further one stays, and one part of so many of the budget.
const WORTH_READING: usize = 2 * ShapeChoice::LEAST_CHARS;
const PART_WORTH_READING: usize = 8;

/// JSON that is written shorter is seldom less than this part of what it was.
const TIGHTENS: usize = 8;

/// A result within its budget. There is no report where nothing but
/// `structuredContent` was left out, which `content` repeats.
pub(super) type Shaped = (Raw, Option<Report>);

/// Returns true if a result may have so many items that they cost something.
pub(super) fn may_have_many_items(result: &Raw) -> bool {
    memchr::memchr_iter(b'{', result.as_bytes()).count() > FREE_ITEMS
}

/// Returns true if one half of the result may be over the budget, by its size
/// alone: a result can be large by its images.
pub(super) fn is_over(job: &Job) -> bool {
    let limit = job.policy.passes_whole(job.policy.max_chars);
    let blocks = blocks::find(&job.result, job.form, job.policy.binary);
    let texts = blocks.iter().map(|block| block.place.len());
    let texts = texts.sum::<usize>() + item_cost(blocks.len());
    let structured = structured(job).map_or(0, |structured| structured.len());
    job.find.is_some() || texts > limit || structured > limit
}

/// Shapes a result; `None` if it is within its budget already.
pub(super) fn shape(
    job: &Job,
    store: &dyn Store,
    engine: &dyn Engine,
) -> Result<Option<Shaped>, Fallback> {
    let until = Instant::now().checked_add(job.policy.timeout);
    let passed = || until.is_some_and(|until| Instant::now() >= until);
    let deadline = Deadline::new(&passed);
    // A fault in here must not take the result with it.
    let shaped = catch_unwind(AssertUnwindSafe(|| {
        let result = match job.form {
            Form::Tool => content_alone(&job.result),
            Form::Resource => job.result.clone(),
        };
        let work = Work {
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

struct Work<'a> {
    job: &'a Job,
    /// The result without `structuredContent`.
    result: &'a Raw,
    store: &'a dyn Store,
    engine: &'a dyn Engine,
    deadline: &'a Deadline<'a>,
}

impl Work<'_> {
    fn run(&self) -> Result<Option<Shaped>, Fallback> {
        let mut pieces = self.pieces();
        let budget = self.budget(&pieces);
        let limit = self.job.policy.passes_whole(budget);
        let structured = structured(self.job);
        let structured = structured.map_or(0, |structured| structured.as_str().chars().count());
        if weight(&pieces) <= limit {
            // What the texts say already need not be said twice.
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

    /// All that counts, with its text.
    fn pieces(&self) -> Vec<Piece> {
        let Job { form, policy, .. } = self.job;
        let blocks = blocks::find(self.result, *form, policy.binary);
        blocks.into_iter().map(Piece::of).collect()
    }

    /// The budget of the result. Code that is read without a goal has one of
    /// its own, because edits need its exact text.
    fn budget(&self, pieces: &[Piece]) -> usize {
        let Job { policy, aim, .. } = self.job;
        if aim.goal.is_some() || policy.code_max_chars == policy.max_chars {
            return policy.max_chars;
        }
        let longest = pieces.iter().max_by_key(|piece| piece.before);
        let is_code = longest.is_some_and(|piece| {
            let source = self.source(&piece.block);
            let source = source.unwrap_or_else(|| SourceType::guess(None, &piece.text));
            // Data is no code, and neither is a list of many short texts.
            let is_data = piece.text.trim_start().starts_with(['{', '[']);
            source == SourceType::Code && !is_data && piece.before > total(pieces) / 2
        });
        match is_code {
            true => policy.code_max_chars,
            false => policy.max_chars,
        }
    }

    /// Images and the like give way to notes, where that is wanted.
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
                stages: vec![Stage::Base64.word()],
                cuts: vec![Place::Chars {
                    first: 1,
                    last: piece.before,
                }],
                is_chosen: false,
                receipt: Some(receipt),
            });
        }
        Ok(())
    }

    /// JSON in fewer characters, with nothing cut; the longest first, until all
    /// of it fits. What is far too long would not fit either way.
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

    /// Of texts that are only written shorter nothing is cut, so that they need
    /// not be kept; but who wants one as it was can have it.
    fn keep_rewritten(&self, pieces: &mut [Piece]) {
        let rewritten = pieces.iter_mut().filter_map(|piece| {
            let outcome = piece.outcome.as_mut()?;
            outcome.receipt.is_none().then_some((&piece.text, outcome))
        });
        for (text, outcome) in rewritten.take(BLOCKS_TOLD) {
            outcome.receipt = self.keep(text).ok();
        }
    }

    /// How the budget is shared out among the pieces.
    fn shares(&self, pieces: &[Piece], budget: usize) -> Vec<usize> {
        let sizes: Vec<usize> = pieces.iter().map(Piece::chars).collect();
        shares(&sizes, budget.saturating_sub(item_cost(pieces.len())))
    }

    /// Returns true if every piece that is cut to its share keeps something to read.
    fn are_enough(&self, pieces: &[Piece], shares: &[usize]) -> bool {
        let longest = pieces.iter().map(|piece| piece.before).max();
        let least = self.least_share(longest.unwrap_or_default());
        let mut pieces = pieces.iter().zip(shares);
        pieces.all(|(piece, &share)| {
            let least = match piece.block.kind {
                BlockKind::Text { .. } => least,
                // A note is not cut.
                BlockKind::Binary { .. } => piece.chars(),
            };
            share >= piece.chars().min(least)
        })
    }

    /// The least share for a text of so many characters: one that has room for
    /// a marker.
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
            goal: self.job.aim.goal.as_deref(),
            source,
            recovery: self.job.recover.call(receipt),
        }
    }

    /// Every text that is over its share is kept and cut to it.
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

    /// Where there are so many texts that some could keep nothing worth reading,
    /// whole items go. The first and the last ones keep a share.
    fn drop_items(&self, pieces: &mut Vec<Piece>, budget: usize) -> Result<Dropped, Fallback> {
        let part = (budget / PART_WORTH_READING).min(WORTH_READING);
        let longest = pieces.iter().map(|piece| piece.before).max();
        let worth_reading = part.max(self.least_share(longest.unwrap_or_default()));
        let mut sizes = vec![None; blocks::items(self.result, self.job.form).len()];
        for piece in pieces.iter() {
            sizes[piece.block.item] = Some(piece.chars().min(worth_reading) + ITEM_COST);
        }
        let keep = |text: &Arc<str>| self.keep(text);
        let dropped = Dropped::choose(self.job, self.result, &sizes, budget, keep)?;
        pieces.retain(|piece| !dropped.has(piece.block.item));
        // Those that stay share what is left.
        let left = budget.saturating_sub(dropped.report.chars.after);
        let shares = self.shares(pieces, left);
        self.cut(pieces, &shares)?;
        Ok(dropped)
    }

    /// The pieces put back into the result, with the account of it all.
    fn finish(&self, pieces: &[Piece], dropped: Option<Dropped>) -> Shaped {
        let (mut chars, mut tokens) = (Change::default(), Change::default());
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
            let in_tokens = Change { before, after };
            chars.add(Change {
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

    /// What stands in the place of a piece, and where that is.
    fn replacement<'p>(&self, piece: &'p Piece, text: &str) -> (&'p Raw, Raw) {
        let place = &piece.block.place;
        match &piece.block.kind {
            BlockKind::Text { .. } => (place, Raw::string(text)),
            BlockKind::Binary { item, .. } => {
                (item, blocks::text_item(text, Some(item), self.job.form))
            }
        }
    }

    fn report(&self, piece: &Piece, outcome: &Outcome, tokens: Change) -> BlockReport {
        BlockReport {
            at: piece.block.at(self.job.form),
            prune_id: outcome.receipt.as_ref().map(Receipt::to_string),
            chars: Change {
                before: piece.before,
                after: outcome.after,
            },
            tokens,
            stages: outcome.stages.clone(),
            goal: self.job.aim.goal.clone().filter(|_| outcome.is_chosen),
            source: self.source(&piece.block).map(SourceType::word),
            cuts: Vec::new(),
            more_cuts: 0,
        }
        .with_cuts(&outcome.cuts)
    }

    fn source(&self, block: &Block) -> Option<SourceType> {
        match block.kind {
            BlockKind::Text { source } => source.or(self.job.aim.source),
            _ => None,
        }
    }

    fn keep(&self, text: &Arc<str>) -> Result<Receipt, Fallback> {
        let kept = self.store.keep(&self.job.owner, text.clone());
        kept.map_err(|_| Fallback::RecoveryUnavailable)
    }
}

/// Only results of tools have one.
fn structured(job: &Job) -> Option<Raw> {
    match job.form {
        Form::Tool => blocks::structured(&job.result),
        Form::Resource => None,
    }
}

fn is_error(result: &Raw) -> bool {
    let is_error = result.member("isError");
    is_error.and_then(|error| error.as_bool()) == Some(true)
}

/// How many bytes base64 decodes to.
fn decoded_len(base64: &str) -> usize {
    let padding = base64
        .bytes()
        .rev()
        .take_while(|&byte| byte == b'=')
        .count();
    (base64.len() * 3 / 4).saturating_sub(padding.min(2))
}
