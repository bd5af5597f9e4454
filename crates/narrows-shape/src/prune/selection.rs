//! Which lines go.
//!
//! What is protected stays whatever the limits say. The goal gets its lines
//! besides: at least half of those that may be kept, however much is protected.
//! What belongs together (a fenced block) stays or goes as one, and a gap that
//! is cheaper than the marker that would stand for it is no gap.

use super::protect::{self, Protected};
use super::render::marker;
use super::{Deadline, Engine, Fallback, Lines, SourceType, Span, Style};
use crate::estimate_tokens;

/// What the caller allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The largest share of the lines that may go, from 0 to 1.
    pub max_prune_ratio: f64,
    /// How many lines stay at least, if there are as many.
    pub min_keep_lines: usize,
}

/// What goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The blocks that go, in order, never two side by side.
    pub cut: Vec<Span>,
    /// How many lines the text has.
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

/// Chooses the lines that go.
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
    let worth = engine
        .worth(lines, goal, source, deadline)
        .map_err(|_| Fallback::Timeout)?;
    let kept = choose(&worth, &protected, keep);
    deadline.check().map_err(|_| Fallback::Timeout)?;
    let cut = gaps(&kept);
    Ok(Selection {
        cut: if style.include_markers {
            worthwhile(lines, cut)
        } else {
            cut
        },
        lines: count,
    })
}

/// How many lines may go: never more than the ratio, however the product is rounded.
fn most_cut(count: usize, ratio: f64) -> usize {
    let most = (ratio.clamp(0.0, 1.0) * count as f64).floor() as usize;
    most.min(count)
}

/// Protected lines, and the best others: as many as the limits want, and half of
/// them at least for the goal.
fn choose(worth: &[f32], protected: &Protected, keep: usize) -> Vec<bool> {
    let mut kept = protected.lines.clone();
    let mut count = kept.iter().filter(|&&is| is).count();
    let mut order: Vec<usize> = (0..worth.len()).filter(|&at| !kept[at]).collect();
    order.sort_by(|&a, &b| worth[b].total_cmp(&worth[a]).then(a.cmp(&b)));
    let mut for_goal = 0;
    for at in order {
        if count >= keep && for_goal * 2 >= keep {
            break;
        }
        let unit = protected.unit(at);
        for line in unit {
            if !kept[line] {
                kept[line] = true;
                count += 1;
                for_goal += 1;
            }
        }
    }
    kept
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

/// Leaves out the gaps whose marker costs more than what they hide, unless none
/// would be left.
fn worthwhile(lines: &Lines<'_>, cut: Vec<Span>) -> Vec<Span> {
    // As long as a real one: `prn_` and a ULID.
    const ID: &str = "prn_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let saves = |gap: &Span| estimate_tokens(lines.span(gap)) > estimate_tokens(&marker(ID, gap));
    if cut.iter().any(saves) {
        cut.into_iter().filter(saves).collect()
    } else {
        cut
    }
}
