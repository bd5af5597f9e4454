//! The lines that serve a goal least.

use super::line_costs::{LineCosts, SHORTEST_GAP};
use super::{Draft, Sizes};
use crate::budget::keep::{Ends, Room, Shelf};
use crate::budget::notes::Noted;
use crate::budget::{Work, digest, goal};
use crate::prune::{Fallback, Lines, Selection, SourceType};

/// One marker for so many characters of the budget is little enough.
const CHARS_PER_GAP: usize = 500;
const MOST_GAPS: usize = 96;
/// Beside what answers a goal, so many lines at each end are shown.
const LINES_AT_END: usize = 3;
/// A goal has a clear answer if the lines of it take one of so many characters
/// at most. Then protected lines get as little.
const CLEAR: usize = 8;
/// If the lines of a goal do not fit, those that are shown are some of many. One
/// of so many characters goes to rare lines of a log then.
const RARE: usize = 4;

/// Returns the text without the lines that serve the goal least; `None` if the goal does not discriminate,
/// or if the budget has no room for a single line.
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
        // Of a block that takes half of all, a part is better than nothing.
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
    // Half belongs to the goal, however much is protected.
    let wanted: usize = wishes.relevant().map(|at| costs.cost(&(at..at + 1))).sum();
    let is_clear = wanted <= sizes.budget / CLEAR;
    let half = Room {
        cost: sizes.budget / if is_clear { CLEAR } else { 2 },
        gaps: gaps / 2,
    };
    shelf.take(wishes.protected().map(block), half);
    // Rows of JSON Lines have no templates; all that is rare in them are values.
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
    // No other line stands out. More lines at the ends would cost the reader
    // something and tell nothing.
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
