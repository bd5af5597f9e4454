//! Cuts the lines that answer the goal least.

use super::line_costs::{LineCosts, SHORTEST_GAP};
use super::{Sizes, TextDraft};
use crate::budget::keep::{Ends, KeepBudget, KeepSet};
use crate::budget::notes::NotedText;
use crate::budget::{FitContext, digest, goal};
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
    noted: &NotedText,
    goal: &str,
    sizes: &Sizes,
    work: &FitContext<'_>,
) -> Result<Option<TextDraft>, Fallback> {
    let lines = Lines::new(&noted.text);
    let source = work.order.source;
    let source = source.unwrap_or_else(|| SourceType::guess(None, &noted.text));
    let goal = match source {
        SourceType::Code => goal::without_paths(goal),
        _ => goal.to_owned(),
    };
    let goal = goal.as_str();
    let Some(preferences) =
        Selection::preferences(work.engine, &lines, goal, source, work.deadline)?
    else {
        return Ok(None);
    };
    work.check()?;
    if source == SourceType::Code
        && goal::picks_copies(&lines, preferences.relevant(), goal, work.deadline)
            .map_err(|_| Fallback::Timeout)?
    {
        return Ok(None);
    }
    let costs = LineCosts::new(&lines, sizes, 4);
    let mut keep_set = KeepSet::new(&costs.sums, sizes.line_marker);
    let block = |at: usize| {
        let block = preferences.block(at);
        // If a block takes more than half of the budget, only single lines of it are kept.
        match costs.cost(&block) <= sizes.budget / 2 {
            true => block,
            false => at..at + 1,
        }
    };
    let gaps = (sizes.budget / CHARS_PER_GAP).clamp(3, MOST_GAPS);
    let room = KeepBudget {
        cost: sizes.budget,
        gaps,
    };
    // Half of the budget is reserved for the goal, regardless of the number of protected lines.
    let wanted: usize = preferences
        .relevant()
        .map(|at| costs.cost(&(at..at + 1)))
        .sum();
    let is_clear = wanted <= sizes.budget / CLEAR;
    let half = KeepBudget {
        cost: sizes.budget / if is_clear { CLEAR } else { 2 },
        gaps: gaps / 2,
    };
    keep_set.take(preferences.protected().map(block), half);
    // Rows of JSON Lines have no templates; only their values can be rare.
    let has_templates = source == SourceType::Logs && !noted.text.trim_start().starts_with('{');
    if has_templates && wanted > sizes.budget {
        let rare = digest::rare_lines(&lines, work.deadline).map_err(|_| Fallback::Timeout)?;
        let share = KeepBudget {
            cost: keep_set.used() + sizes.budget / RARE,
            gaps: gaps / 2,
        };
        keep_set.take(rare.into_iter(), share);
    }
    keep_set.fill(|| preferences.relevant().map(block), room);
    keep_set.close_short(SHORTEST_GAP, room);
    // No other line is notable. More lines at the ends would cost tokens without informing the
    // reader.
    let ends = Ends {
        head: LINES_AT_END,
        tail: LINES_AT_END,
    };
    keep_set.fill_ends(|at| at..at + 1, ends, room);
    work.check()?;
    Ok(keep_set.keeps_any().then(|| TextDraft {
        notes: String::new(),
        cuts: costs.cuts(noted, sizes, &keep_set, sizes.budget),
        is_chosen: true,
    }))
}
