//! The children of a container, and the order in which they are kept.

use std::ops::Range;
use std::rc::Rc;

use super::tree::{self, Node, NodeKind};
use crate::budget::digest::rows::RowTable;
use crate::budget::{FitContext, count};
use crate::prune::{Fallback, Lines, OutOfTime, Ranking, SourceType};

/// The first rows that are always kept, to show the structure.
const FIRST_ROWS: usize = 2;
/// The last rows that are kept if there is no goal. They show where the data ends and cost no
/// additional marker, because the gap is before them instead of at the end.
const LAST_ROWS: usize = 3;
/// The minimum number of rows that are compared with each other.
const FEWEST_ROWS: usize = 10;

/// The children of a container.
pub(super) struct Listing {
    pub(super) starts: Vec<u32>,
    /// The cost of all children before each one, with their commas.
    pub(super) sums: Vec<u32>,
    /// The children in the order in which they are kept.
    pub(super) order: Vec<u32>,
    /// The description of the children, if they are rows.
    pub(super) table: Option<Rc<RowTable>>,
}

impl Listing {
    /// Reads the children of a node and determines their order.
    pub(super) fn read(
        text: &str,
        node: &Node,
        work: &FitContext<'_>,
    ) -> Result<Listing, Fallback> {
        let starts = tree::children(text, &node.span);
        work.check()?;
        let mut sums = Vec::with_capacity(starts.len());
        sums.push(0);
        let mut sum = 0;
        for two in starts.windows(2) {
            sum += count::chars(&text[two[0] as usize..two[1] as usize]) as u32;
            sums.push(sum);
        }
        let by_goal = match work.order.goal() {
            Some(goal) => order_by_goal(text, goal, &starts, work)?,
            None => None,
        };
        let is_by_goal = by_goal.is_some();
        let order = by_goal.unwrap_or_else(|| order_of_text(starts.len() - 1));
        let mut listing = Listing {
            starts,
            sums,
            order,
            table: None,
        };
        if node.kind == NodeKind::Array && !is_by_goal {
            listing.put_rare_first(text, work)?;
        }
        Ok(listing)
    }

    /// Moves the unusual rows to the front, after the first and last ones.
    fn put_rare_first(&mut self, text: &str, work: &FitContext<'_>) -> Result<(), Fallback> {
        let count = self.starts.len() - 1;
        let starts = self.starts.windows(2);
        let rows: Vec<Range<usize>> = starts
            .map(|two| two[0] as usize..two[1] as usize - 1)
            .collect();
        let is_object = |row: &&Range<usize>| text[(*row).clone()].starts_with('{');
        if count < FEWEST_ROWS || rows.iter().filter(is_object).count() * 2 < count {
            return Ok(());
        }
        let table = RowTable::read(text, &rows, work.deadline);
        let table = table.map_err(|OutOfTime| Fallback::Timeout)?;
        let ends = FIRST_ROWS + LAST_ROWS.min(count / 4);
        let mut is_taken = vec![false; count];
        let rare = table.rare.iter().map(|rare| rare.row as u32);
        let ends = self.order.iter().copied().take(ends);
        let order = ends.chain(rare).chain(self.order.iter().copied());
        let order = order.filter(|&at| !std::mem::replace(&mut is_taken[at as usize], true));
        self.order = order.collect();
        self.table = Some(Rc::new(table));
        Ok(())
    }
}

/// Orders the children by the goal: the first ones, those that answer the goal, and then the others
/// in the usual order. The engine ranks each child as one line. Returns `None` if the goal does not
/// discriminate.
fn order_by_goal(
    text: &str,
    goal: &str,
    starts: &[u32],
    work: &FitContext<'_>,
) -> Result<Option<Vec<u32>>, Fallback> {
    let mut rows = String::new();
    for two in starts.windows(2) {
        rows.push_str(&text[two[0] as usize..two[1] as usize - 1]);
        rows.push('\n');
    }
    let lines = Lines::new(&rows);
    let ranking = work
        .engine
        .rank(&lines, goal, SourceType::Logs, work.deadline)
        .map_err(|_| Fallback::Timeout)?;
    let count = starts.len() - 1;
    if ranking.worth.len() != count || ranking.relevant.len() != count {
        return Err(Fallback::InternalError);
    }
    let mut order = order_of_text(count);
    if !ranking.discriminates() {
        return Ok(None);
    }
    let Ranking { worth, relevant } = ranking;
    let is_relevant = |at: u32| relevant[at as usize];
    // The sort is stable: rows that do not answer the goal keep their order.
    order.sort_by(|&a, &b| {
        let is_first = |at: u32| (at as usize) < FIRST_ROWS;
        let by_place = is_first(b).cmp(&is_first(a));
        by_place.then_with(|| match (is_relevant(a), is_relevant(b)) {
            (true, true) => {
                let (worth_a, worth_b) = (worth[a as usize], worth[b as usize]);
                worth_b.total_cmp(&worth_a).then(a.cmp(&b))
            }
            (a, b) => b.cmp(&a),
        })
    });
    Ok(Some(order))
}

/// Returns the children from the beginning on, with a few of the last ones among the first.
fn order_of_text(count: usize) -> Vec<u32> {
    let last = LAST_ROWS.min(count / 4);
    let (mut front, back) = (
        0..(count - last) as u32,
        (count - last) as u32..count as u32,
    );
    let mut order = Vec::with_capacity(count);
    for at in back.rev() {
        order.extend(front.by_ref().take(3));
        order.push(at);
    }
    order.extend(front);
    order
}
