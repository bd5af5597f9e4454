//! Selects the lines to remove.
//!
//! Protected lines are kept regardless of the limits. In addition, at least half of the lines that
//! may be kept are reserved for the goal, regardless of the number of protected lines. Blocks that
//! belong together (such as a fenced block) are kept or removed as a unit. A gap that is cheaper
//! than its marker is kept.

use super::engine::focus;
use super::protect::{self, Protected};
use super::{Deadline, Engine, Fallback, Lines, Ranking, SourceType, Span, Style};
use crate::estimate_tokens;

/// The cost of a marker in tokens (o200k: 35 to 41, depending on its line numbers). Measured rather
/// than estimated, because half of a marker is a receipt, which is not ordinary text.
const MARKER: usize = 38;
/// The rest of a block is kept beyond the limits if it is at most this share, as 1/n, of the lines
/// for the goal. A block that is almost whole is usually of little use.
const REST: usize = 4;

/// The limits that the caller sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The largest share of the lines that may be removed, from 0 to 1.
    pub max_prune_ratio: f64,
    /// The minimum number of lines to keep.
    pub min_keep_lines: usize,
}

/// The lines to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The removed blocks, in order and never adjacent.
    pub cut: Vec<Span>,
    /// The number of lines in the text.
    pub lines: usize,
}

impl Selection {
    pub fn pruned_lines(&self) -> usize {
        self.cut.iter().map(|cut| cut.len()).sum()
    }

    pub fn kept_lines(&self) -> usize {
        self.lines - self.pruned_lines()
    }
}

/// Selects the lines to remove.
pub fn select(
    engine: &dyn Engine,
    lines: &Lines<'_>,
    goal: &str,
    source: SourceType,
    limits: Limits,
    style: Style,
    deadline: &Deadline<'_>,
) -> Result<Selection, Fallback> {
    let count = lines.len();
    if limits.min_keep_lines > count {
        return Err(Fallback::ConstraintsUnmet);
    }
    let keep = (count - most_cut(count, limits.max_prune_ratio)).max(limits.min_keep_lines);
    let protected = protect::find(lines, source);
    if keep >= count || protected.lines.iter().all(|&is| is) {
        return Ok(Selection {
            cut: Vec::new(),
            lines: count,
        });
    }
    let ranking = rank(engine, lines, goal, source, deadline)?;
    let worth = match ranking.discriminates() {
        true => ranking.worth,
        false => nearness_to_ends(count),
    };
    let choice = Choice::new(&worth, &protected);
    // Lines that are kept because their marker would cost more count as well. The share of the goal
    // therefore grows only by the lines that are still missing.
    let mut for_goal = keep.div_ceil(2);
    let mut rounds = 0;
    loop {
        deadline.check().map_err(|_| Fallback::Timeout)?;
        let mut cut = gaps(&choice.kept(for_goal));
        if style.include_markers {
            cut = worthwhile(lines, cut);
        }
        let selection = Selection { cut, lines: count };
        let missing = keep.saturating_sub(selection.kept_lines());
        if missing == 0 {
            return Ok(selection);
        }
        // Lines that are kept anyway may be among those; doubling the step ends the loop soon.
        rounds += 1;
        for_goal += missing << (rounds / 4).min(32);
    }
}

impl Selection {
    /// Returns the lines that a goal selects, for callers whose limits differ from [`Limits`].
    /// Returns `None` if the goal does not discriminate.
    pub(crate) fn preferences(
        engine: &dyn Engine,
        lines: &Lines<'_>,
        goal: &str,
        source: SourceType,
        deadline: &Deadline<'_>,
    ) -> Result<Option<LinePreferences>, Fallback> {
        let ranking = rank(engine, lines, goal, source, deadline)?;
        if !ranking.discriminates() {
            return Ok(None);
        }
        let Ranking { worth, relevant } = ranking;
        let protected = protect::find(lines, source);
        let mut order: Vec<usize> = (0..worth.len()).collect();
        order.sort_unstable_by(|&a, &b| {
            let is_protected = |at: usize| protected.lines[at];
            let by_worth = worth[b].total_cmp(&worth[a]);
            by_worth
                .then_with(|| is_protected(b).cmp(&is_protected(a)))
                .then(a.cmp(&b))
        });
        Ok(Some(LinePreferences {
            order,
            relevant,
            protected,
        }))
    }
}

fn rank(
    engine: &dyn Engine,
    lines: &Lines<'_>,
    goal: &str,
    source: SourceType,
    deadline: &Deadline<'_>,
) -> Result<Ranking, Fallback> {
    let ranking = engine
        .rank(lines, goal, source, deadline)
        .map_err(|_| Fallback::Timeout)?;
    match ranking.worth.len() == lines.len() && ranking.relevant.len() == lines.len() {
        true => Ok(ranking),
        false => Err(Fallback::InternalError),
    }
}

/// Returns the worth of lines if the goal does not discriminate: the middle is removed first.
fn nearness_to_ends(count: usize) -> Vec<f32> {
    let nearness = |at: usize| -(at.min(count - 1 - at) as f32);
    (0..count).map(nearness).collect()
}

/// The lines of a text in the order of their worth for a goal.
pub(crate) struct LinePreferences {
    order: Vec<usize>,
    relevant: Vec<bool>,
    protected: Protected,
}

impl LinePreferences {
    /// Returns the lines that answer the goal, the best first. At equal worth, protected lines come
    /// first.
    pub(crate) fn relevant(&self) -> impl Iterator<Item = usize> {
        let order = self.order.iter().copied();
        order.filter(|&at| self.relevant[at])
    }

    /// Returns the protected lines, the best first.
    pub(crate) fn protected(&self) -> impl Iterator<Item = usize> {
        let order = self.order.iter().copied();
        order.filter(|&at| self.protected.lines[at])
    }

    /// Returns the lines that belong together with a line.
    pub(crate) fn block(&self, at: usize) -> Span {
        self.protected.unit(at)
    }
}

/// Returns the number of lines that may be removed. It never exceeds the ratio, although the
/// product may have been rounded up.
fn most_cut(count: usize, ratio: f64) -> usize {
    let ratio = ratio.clamp(0.0, 1.0);
    let most = (ratio * count as f64).floor();
    // `mul_add` rounds only once, after the subtraction, so the sign is correct.
    let is_over = ratio.mul_add(count as f64, -most) < 0.0;
    (most as usize).min(count) - usize::from(is_over)
}

/// The lines of a text in the order of their worth for the goal.
struct Choice<'a> {
    worth: &'a [f32],
    protected: &'a Protected,
    /// The lines that are kept in any case.
    kept: Vec<bool>,
    /// All other lines, the best first.
    order: Vec<usize>,
}

impl<'a> Choice<'a> {
    fn new(worth: &'a [f32], protected: &'a Protected) -> Choice<'a> {
        let mut kept = protected.lines.clone();
        for unit in &protected.units {
            let unit = &mut kept[unit.clone()];
            if unit.contains(&true) {
                unit.fill(true);
            }
        }
        let mut order: Vec<usize> = (0..worth.len()).filter(|&at| !kept[at]).collect();
        order.sort_unstable_by(|&a, &b| worth[b].total_cmp(&worth[a]).then(a.cmp(&b)));
        Choice {
            worth,
            protected,
            kept,
            order,
        }
    }

    /// Returns the protected lines and at least `for_goal` others.
    fn kept(&self, for_goal: usize) -> Vec<bool> {
        let mut kept = self.kept.clone();
        let mut count = 0;
        let mut last = None;
        for &at in &self.order {
            if count >= for_goal {
                let block = last.map_or(0..0, |last| block_around(self.worth, last));
                let rest: Vec<usize> = block.filter(|&at| !kept[at]).collect();
                if rest.len() <= for_goal / REST {
                    let units = rest.into_iter().map(|at| self.protected.unit(at));
                    units.for_each(|unit| kept[unit].fill(true));
                }
                break;
            }
            if kept[at] {
                continue;
            }
            let unit = self.protected.unit(at);
            count += unit.len();
            kept[unit].fill(true);
            last = Some(at);
        }
        kept
    }
}

/// Returns the block around a line. An engine that ranks blocks gives all lines of a block nearly
/// the same worth.
fn block_around(worth: &[f32], at: usize) -> Span {
    let same = |&&other: &&f32| {
        let least = worth[at].min(other);
        least > 0.0 && (worth[at] - other).abs() <= 2.0 * focus::SHARE * least
    };
    let before = worth[..at].iter().rev().take_while(same).count();
    let behind = worth[at + 1..].iter().take_while(same).count();
    at - before..at + 1 + behind
}

fn gaps(kept: &[bool]) -> Vec<Span> {
    let mut gaps: Vec<Span> = Vec::new();
    for at in (0..kept.len()).filter(|&at| !kept[at]) {
        match gaps.last_mut() {
            Some(gap) if gap.end == at => gap.end = at + 1,
            _ => gaps.push(at..at + 1),
        }
    }
    gaps
}

/// Removes the gaps whose marker costs more than they save, unless no gap would remain.
fn worthwhile(lines: &Lines<'_>, cut: Vec<Span>) -> Vec<Span> {
    let saves = |gap: &Span| estimate_tokens(lines.span(gap)) > MARKER;
    if cut.iter().any(saves) {
        cut.into_iter().filter(saves).collect()
    } else {
        cut
    }
}

#[cfg(test)]
mod tests;
