//! Cuts the lines that answer the goal least.

use super::line_costs::{LineCosts, SHORTEST_GAP};
use super::{Draft, Sizes};
use crate::budget::keep::{Ends, Room, Shelf};
use crate::budget::notes::Noted;
use crate::budget::{Work, digest, goal};
use crate::prune::{Fallback, Lines, Selection, SourceType};

/// The characters of the budget required for each marker.
const CHARS_PER_GAP: usize = 500;
const MOST_GAPS: usize = 96;
/// The lines shown at each end in addition to those that answer the goal.
const LINES_AT_END: usize = 3;
/// A goal has a clear answer if its lines take at most 1/8 of the budget. Protected lines then get
/// no more than that, either.
const CLEAR: usize = 8;
/// The share of the budget, as 1/n, for rare lines of a log if the lines that answer the goal do
/// not all fit.
const RARE: usize = 4;

/// Returns the cuts that remove the lines that answer the goal least. Returns `None` if the goal
/// does not discriminate, or if the budget has no room for a single line.
pub(super) fn draft(
    noted: &Noted,
    goal: &str,
    sizes: &Sizes,
    work: &Work<'_>,
) -> Result<Option<Draft>, Fallback> {
    let lines = Lines::new(&noted.text);
    let source = work.order.source;
    let source = source.unwrap_or_else(|| SourceType::guess(None, &noted.text));
    let goal = match source {
        SourceType::Code => goal::without_paths(goal),
        _ => goal.to_owned(),
    };
    let goal = goal.as_str();
    let Some(wishes) = Selection::wishes(work.engine, &lines, goal, source, work.deadline)? else {
        return Ok(None);
    };
    work.check()?;
    if source == SourceType::Code
        && goal::picks_copies(&lines, wishes.relevant(), goal, work.deadline)
            .map_err(|_| Fallback::Timeout)?
    {
        return Ok(None);
    }
    let costs = LineCosts::new(&lines, sizes, 4);
    let mut shelf = Shelf::new(&costs.sums, sizes.line_marker);
    let block = |at: usize| {
        let block = wishes.block(at);
        // Of a block that takes more than half of the budget, single lines are kept.
        match costs.cost(&block) <= sizes.budget / 2 {
            true => block,
            false => at..at + 1,
        }
    };
    let gaps = (sizes.budget / CHARS_PER_GAP).clamp(3, MOST_GAPS);
    let room = Room {
        cost: sizes.budget,
        gaps,
    };
    // Half of the budget is reserved for the goal, regardless of the number of protected lines.
    let wanted: usize = wishes.relevant().map(|at| costs.cost(&(at..at + 1))).sum();
    let is_clear = wanted <= sizes.budget / CLEAR;
    let half = Room {
        cost: sizes.budget / if is_clear { CLEAR } else { 2 },
        gaps: gaps / 2,
    };
    shelf.take(wishes.protected().map(block), half);
    // Rows of JSON Lines have no templates; only their values can be rare.
    let has_templates = source == SourceType::Logs && !noted.text.trim_start().starts_with('{');
    if has_templates && wanted > sizes.budget {
        let rare = digest::rare_lines(&lines, work.deadline).map_err(|_| Fallback::Timeout)?;
        let share = Room {
            cost: shelf.used() + sizes.budget / RARE,
            gaps: gaps / 2,
        };
        shelf.take(rare.into_iter(), share);
    }
    shelf.fill(|| wishes.relevant().map(block), room);
    shelf.close_short(SHORTEST_GAP, room);
    // No other line is notable. More lines at the ends would cost tokens without informing the
    // reader.
    let ends = Ends {
        head: LINES_AT_END,
        tail: LINES_AT_END,
    };
    shelf.fill_ends(|at| at..at + 1, ends, room);
    work.check()?;
    Ok(shelf.keeps_any().then(|| Draft {
        notes: String::new(),
        cuts: costs.cuts(noted, sizes, &shelf, sizes.budget),
        is_chosen: true,
    }))
}
