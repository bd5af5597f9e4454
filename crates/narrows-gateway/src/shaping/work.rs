//! One result, made to fit: what counts is counted, then the budget is shared
//! out, and every text that is over its share is kept and cut.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use narrows_shape::budget::{self, Fitted, Order, Place, Stage};
use narrows_shape::estimate_tokens;
use narrows_shape::prune::{Deadline, Engine, Fallback, SourceType};
use narrows_wire::Raw;
use serde_json::Value;

use super::blocks::{self, Block, BlockKind};
use super::items::Dropped;
use super::report::{BLOCKS_TOLD, BlockReport, Change, Report};
use super::{Form, Job};
use crate::recovery::{Receipt, Store};
use crate::settings::ShapeChoice;

/// The least share of the budget that a text is cut to, its marker included.
const LEAST_SHARE: usize = 200;

/// How much of a text stays beside its marker at least.
const LEAST_TEXT: usize = 20;

/// The least share of `structuredContent`, which has to stay JSON.
const LEAST_STRUCTURED: usize = ShapeChoice::LEAST_CHARS / 2;

/// Where whole items go, the others keep so many characters at most before a
/// further one stays, and one part of so many of the budget.
const WORTH_READING: usize = 2 * ShapeChoice::LEAST_CHARS;
const PART_WORTH_READING: usize = 8;

/// As long as any receipt.
pub(super) const SOME_RECEIPT: &str = "prn_00000000000000000000000000";

/// JSON that is written shorter is seldom less than this part of what it was.
const TIGHTENS: usize = 8;

/// Whether the texts may be over the budget, by their size alone: a result can
/// be large by its images.
pub(super) fn is_over(job: &Job) -> bool {
    let blocks = blocks::find(&job.result, job.form, job.policy.binary);
    let is_counted = |block: &&Block| match (&block.kind, job.form) {
        (BlockKind::Structured, Form::Tool { output_schema }) => !output_schema,
        _ => true,
    };
    let counted = blocks.iter().filter(is_counted);
    counted.map(|block| block.place.len()).sum::<usize>() > job.policy.max_chars
}

/// The result within its budget, and what was done to it; `None` if it is
/// within already.
pub(super) fn shape(
    job: &Job,
    store: &dyn Store,
    engine: &dyn Engine,
) -> Result<Option<(Raw, Report)>, Fallback> {
    let until = Instant::now().checked_add(job.policy.timeout);
    let passed = || until.is_some_and(|until| Instant::now() >= until);
    let deadline = Deadline::new(&passed);
    let work = Work {
        job,
        store,
        engine,
        deadline: &deadline,
    };
    // A fault in here must not take the result with it.
    catch_unwind(AssertUnwindSafe(|| work.run())).unwrap_or(Err(Fallback::InternalError))
}

struct Work<'a> {
    job: &'a Job,
    store: &'a dyn Store,
    engine: &'a dyn Engine,
    deadline: &'a Deadline<'a>,
}

/// A block with its text, and what becomes of it.
struct Piece {
    block: Block,
    text: Arc<str>,
    before: usize,
    /// It is another form of what a text says, so that it takes no share.
    repeats: bool,
    outcome: Option<Outcome>,
}

struct Outcome {
    fitted: Fitted,
    after: usize,
    receipt: Option<Receipt>,
}

impl Piece {
    fn chars(&self) -> usize {
        self.outcome.as_ref().map_or(self.before, |o| o.after)
    }
}

impl Work<'_> {
    fn run(&self) -> Result<Option<(Raw, Report)>, Fallback> {
        let max = self.job.policy.max_chars;
        let mut pieces = self.pieces();
        if total(&pieces) <= max {
            return Ok(None);
        }
        self.note_binaries(&mut pieces)?;
        if total(&pieces) > max {
            self.tighten(&mut pieces)?;
        }
        let mut dropped = None;
        if total(&pieces) > max {
            let shares = self.shares(&pieces);
            match self.are_enough(&pieces, &shares) {
                true => self.cut(&mut pieces, &shares)?,
                false => dropped = Some(self.drop_items(&mut pieces)?),
            }
        }
        let noted = dropped
            .as_ref()
            .map_or(0, |dropped| dropped.report.chars.after);
        if total(&pieces) + noted > max {
            return Err(Fallback::ConstraintsUnmet);
        }
        self.keep_rewritten(&mut pieces);
        Ok(Some(self.finish(&pieces, dropped)))
    }

    /// All that counts, with its text.
    fn pieces(&self) -> Vec<Piece> {
        let Job {
            result,
            form,
            policy,
            ..
        } = self.job;
        let blocks = blocks::find(result, *form, policy.binary);
        let mut pieces: Vec<Piece> = blocks.into_iter().map(Piece::of).collect();
        let untouchable = matches!(
            form,
            Form::Tool {
                output_schema: true
            }
        );
        if untouchable {
            pieces.retain(|piece| !matches!(piece.block.kind, BlockKind::Structured));
        }
        let structured = pieces
            .iter()
            .position(|piece| matches!(piece.block.kind, BlockKind::Structured));
        if let Some(at) = structured {
            pieces[at].repeats = is_repeated(&pieces, at);
        }
        pieces
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
            let tool = &self.job.recover;
            let text = format!(
                "⟦narrows: {mime}, {size}, cut; get its base64 with {tool} prune_id={receipt}⟧"
            );
            piece.outcome = Some(Outcome {
                after: text.chars().count(),
                fitted: Fitted {
                    text,
                    stages: vec![Stage::Base64],
                    cuts: vec![Place::Chars {
                        first: 1,
                        last: piece.before,
                    }],
                },
                receipt: Some(receipt),
            });
        }
        Ok(())
    }

    /// JSON in fewer characters, with nothing cut; the longest first, until all
    /// of it fits. What is far too long would not fit either way.
    fn tighten(&self, pieces: &mut [Piece]) -> Result<(), Fallback> {
        let max = self.job.policy.max_chars;
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
                let after = fitted.text.chars().count();
                total -= piece.before.saturating_sub(after);
                piece.outcome = Some(Outcome {
                    after,
                    fitted,
                    receipt: None,
                });
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

    /// How the budget is shared out among the pieces that count.
    fn shares(&self, pieces: &[Piece]) -> Vec<usize> {
        let max = self.job.policy.max_chars;
        let sizes: Vec<usize> = counted(pieces).map(Piece::chars).collect();
        let equal = shares(&sizes, max);
        let is_structured = |piece: &Piece| matches!(piece.block.kind, BlockKind::Structured);
        // It is the last, if it is there at all.
        let Some(at) = counted(pieces).position(is_structured) else {
            return equal;
        };
        let least = sizes[at].min(LEAST_STRUCTURED);
        if equal[at] >= least {
            return equal;
        }
        let mut others = sizes;
        others.remove(at);
        let mut unequal = shares(&others, max - least);
        unequal.insert(at, least);
        unequal
    }

    /// Whether every piece that is cut to its share keeps something to read.
    fn are_enough(&self, pieces: &[Piece], shares: &[usize]) -> bool {
        let least = self.least_share(pieces);
        let mut pieces = counted(pieces).zip(shares);
        pieces.all(|(piece, &share)| {
            let least = match piece.block.kind {
                BlockKind::Text { .. } => least,
                BlockKind::Structured => LEAST_STRUCTURED,
                // A note is not cut.
                BlockKind::Binary { .. } => piece.chars(),
            };
            share >= piece.chars().min(least)
        })
    }

    /// The least share for texts: one that has room for a marker.
    fn least_share(&self, pieces: &[Piece]) -> usize {
        let longest = pieces.iter().map(|piece| piece.before).max();
        let order = Order {
            max_chars: LEAST_SHARE,
            goal: None,
            source: None,
            receipt: SOME_RECEIPT,
            tool: &self.job.recover,
        };
        let marker = budget::longest_marker(longest.unwrap_or_default(), &order);
        LEAST_SHARE.max(marker + LEAST_TEXT)
    }

    /// Every text that is over its share is kept and cut to it.
    fn cut(&self, pieces: &mut [Piece], shares: &[usize]) -> Result<(), Fallback> {
        let mut shares = shares.iter();
        for piece in pieces.iter_mut().filter(|piece| !piece.repeats) {
            let share = *shares.next().expect("a share for each that counts");
            if piece.chars() > share {
                self.cut_to(piece, share)?;
            }
        }
        // What repeats a text in another form is shortened as much as that was.
        let most = self.job.policy.max_chars;
        let was_cut = |piece: &Piece| {
            let cut = |outcome: &Outcome| !outcome.fitted.cuts.is_empty();
            piece.outcome.as_ref().is_some_and(cut)
        };
        if pieces.iter().any(was_cut) {
            for piece in pieces.iter_mut().filter(|piece| piece.repeats) {
                if piece.before > most {
                    self.cut_to(piece, most)?;
                }
            }
        }
        Ok(())
    }

    fn cut_to(&self, piece: &mut Piece, share: usize) -> Result<(), Fallback> {
        let receipt = self.keep(&piece.text)?;
        let order = Order {
            max_chars: share,
            goal: self.job.aim.goal.as_deref(),
            source: self.source(&piece.block),
            receipt: receipt.as_str(),
            tool: &self.job.recover,
        };
        let fit = match piece.block.kind {
            BlockKind::Structured => budget::fit_json,
            _ => budget::fit,
        };
        let fitted = fit(&piece.text, &order, self.engine, self.deadline)?;
        piece.outcome = Some(Outcome {
            after: fitted.text.chars().count(),
            fitted,
            receipt: Some(receipt),
        });
        Ok(())
    }

    /// Where there are so many texts that some could keep nothing worth reading,
    /// whole items go. The first and the last ones keep a share.
    fn drop_items(&self, pieces: &mut Vec<Piece>) -> Result<Dropped, Fallback> {
        let Job {
            result,
            form,
            policy,
            ..
        } = self.job;
        let mut left = policy.max_chars;
        for piece in pieces.iter_mut().filter(|piece| piece.block.item.is_none()) {
            // Where texts go, nothing repeats it any more.
            piece.repeats = false;
            if piece.chars() > left / 2 {
                self.cut_to(piece, left / 2)?;
            }
            left -= piece.chars();
        }
        let part = (policy.max_chars / PART_WORTH_READING).min(WORTH_READING);
        let worth_reading = part.max(self.least_share(pieces));
        let mut sizes = vec![None; blocks::items(result, *form).len()];
        for piece in pieces.iter() {
            if let Some(at) = piece.block.item {
                sizes[at] = Some(piece.chars().min(worth_reading));
            }
        }
        let dropped = Dropped::choose(self.job, &sizes, left, |text| self.keep(text))?;
        pieces.retain(|piece| piece.block.item.is_none_or(|at| !dropped.has(at)));
        // Those that stay share what is left.
        let left = left.saturating_sub(dropped.report.chars.after);
        let (in_items, others): (Vec<Piece>, Vec<Piece>) = pieces
            .drain(..)
            .partition(|piece| piece.block.item.is_some());
        *pieces = in_items;
        let sizes: Vec<usize> = pieces.iter().map(Piece::chars).collect();
        self.cut(pieces, &shares(&sizes, left))?;
        pieces.extend(others);
        Ok(dropped)
    }

    /// The pieces put back into the result, with the account of it all.
    fn finish(&self, pieces: &[Piece], dropped: Option<Dropped>) -> (Raw, Report) {
        let (mut chars, mut tokens) = (Change::default(), Change::default());
        let mut blocks = Vec::new();
        let mut edits: Vec<(Option<usize>, &Raw, Raw)> = Vec::new();
        if let Some(dropped) = &dropped {
            chars.add(dropped.report.chars);
            tokens.add(dropped.report.tokens);
            blocks.push(dropped.report.clone());
        }
        for piece in pieces {
            let before = estimate_tokens(&piece.text);
            let after = match &piece.outcome {
                Some(outcome) => estimate_tokens(&outcome.fitted.text),
                None => before,
            };
            let in_tokens = Change { before, after };
            if !piece.repeats {
                chars.add(Change {
                    before: piece.before,
                    after: piece.chars(),
                });
                tokens.add(in_tokens);
            }
            if let Some(outcome) = &piece.outcome {
                let (place, new) = self.replacement(piece, &outcome.fitted.text);
                edits.push((piece.block.item, place, new));
                blocks.push(self.report(piece, outcome, in_tokens));
            }
        }
        let report = Report::new(chars, tokens, blocks, self.untouched());
        let shaped = match dropped {
            Some(dropped) => dropped.apply(self.job, edits),
            None => {
                let edit = self.job.result.edit();
                let edit = edits
                    .into_iter()
                    .fold(edit, |edit, (_, place, new)| edit.replace(place, new));
                edit.finish()
            }
        };
        (report.sign(&shaped), report)
    }

    /// What stands in the place of a piece, and where that is.
    fn replacement<'p>(&self, piece: &'p Piece, text: &str) -> (&'p Raw, Raw) {
        let place = &piece.block.place;
        match &piece.block.kind {
            BlockKind::Text { .. } => (place, Raw::string(text)),
            BlockKind::Structured => {
                let json = Raw::parse(text.to_owned().into());
                (place, json.unwrap_or_else(|_| Raw::empty_object()))
            }
            BlockKind::Binary { item, .. } => {
                (item, blocks::text_item(text, Some(item), self.job.form))
            }
        }
    }

    fn report(&self, piece: &Piece, outcome: &Outcome, tokens: Change) -> BlockReport {
        let Fitted { stages, cuts, .. } = &outcome.fitted;
        let pruned = stages.contains(&Stage::Pruned) || stages.contains(&Stage::Rows);
        BlockReport {
            at: piece.block.at(self.job.form),
            prune_id: outcome.receipt.as_ref().map(Receipt::to_string),
            chars: Change {
                before: piece.before,
                after: outcome.after,
            },
            tokens,
            stages: stages.iter().map(|stage| stage.word()).collect(),
            goal: self.job.aim.goal.clone().filter(|_| pruned),
            source: self.source(&piece.block).map(SourceType::word),
            cuts: Vec::new(),
            more_cuts: 0,
        }
        .with_cuts(cuts)
    }

    /// What an output schema keeps from being cut, in characters.
    fn untouched(&self) -> usize {
        let Form::Tool {
            output_schema: true,
        } = self.job.form
        else {
            return 0;
        };
        let structured = blocks::structured(&self.job.result);
        structured.map_or(0, |structured| structured.as_str().chars().count())
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

impl Piece {
    fn of(block: Block) -> Piece {
        let text: Arc<str> = match block.kind {
            BlockKind::Structured => block.place.as_str().into(),
            _ => block.place.as_text().unwrap_or(Cow::Borrowed("")).into(),
        };
        Piece {
            before: text.chars().count(),
            text,
            block,
            repeats: false,
            outcome: None,
        }
    }
}

fn counted(pieces: &[Piece]) -> impl Iterator<Item = &Piece> {
    pieces.iter().filter(|piece| !piece.repeats)
}

fn total(pieces: &[Piece]) -> usize {
    counted(pieces).map(Piece::chars).sum()
}

/// Whether a text says the same as the structured content.
fn is_repeated(pieces: &[Piece], structured: usize) -> bool {
    let structured = &pieces[structured].block.place;
    let is_text = |piece: &&Piece| matches!(piece.block.kind, BlockKind::Text { .. });
    let is_json = |piece: &&Piece| {
        let start = piece.text.trim_start().as_bytes().first();
        matches!(start, Some(b'{' | b'['))
    };
    let mut texts = pieces.iter().filter(is_text);
    let only = blocks::only_text(structured);
    if only.is_some_and(|only| texts.clone().any(|piece| *piece.text == *only)) {
        return true;
    }
    let structured = structured.as_str();
    texts.any(|piece| is_json(&piece) && is_same(&piece.text, structured))
}

/// Whether two JSON texts say the same. Most often they differ in white space
/// alone; only where they do not are both read.
fn is_same(one: &str, other: &str) -> bool {
    if tokens(one.as_bytes()).eq(tokens(other.as_bytes())) {
        return true;
    }
    let (longer, shorter) = (one.len().max(other.len()), one.len().min(other.len()));
    // Neither white space nor escapes make so much of a difference.
    if longer > shorter.saturating_mul(8) {
        return false;
    }
    let one: Option<Value> = serde_json::from_str(one).ok();
    one.is_some() && serde_json::from_str(other).ok() == one
}

/// The bytes of a JSON text without the white space between its tokens.
fn tokens(json: &[u8]) -> impl Iterator<Item = u8> {
    let (mut in_string, mut escaped) = (false, false);
    json.iter().copied().filter(move |&byte| {
        if !in_string {
            in_string = byte == b'"';
            return !byte.is_ascii_whitespace();
        }
        in_string = byte != b'"' || escaped;
        escaped = byte == b'\\' && !escaped;
        true
    })
}

/// How a budget is shared out: who needs less than an equal part leaves the
/// rest to the others.
fn shares(sizes: &[usize], budget: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&at| sizes[at]);
    let mut shares = vec![0; sizes.len()];
    let mut left = budget;
    for (done, &at) in order.iter().enumerate() {
        let equal = left / (sizes.len() - done);
        shares[at] = sizes[at].min(equal);
        left -= shares[at];
    }
    shares
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
