//! Decides which of many items to keep, so that the items and the markers for the gaps between them
//! fit the room.

use std::collections::HashSet;
use std::ops::Range;

/// A sequence of items, some of which are kept.
pub(super) struct KeepSet<'a> {
    /// The cost of all items before each one, and finally of all items.
    sums: &'a [u32],
    kept: Vec<bool>,
    gap_cost: usize,
    gaps: usize,
    used: usize,
}

/// The maximum number of passes over the preferences.
const ROUNDS: usize = 6;

/// The limits on kept items and gaps.
#[derive(Clone, Copy)]
pub(super) struct KeepBudget {
    pub(super) cost: usize,
    pub(super) gaps: usize,
}

/// The maximum number of items that are kept at each end.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) head: usize,
    pub(super) tail: usize,
}

impl Ends {
    pub(super) const ALL: Ends = Ends {
        head: usize::MAX,
        tail: usize::MAX,
    };
}

impl<'a> KeepSet<'a> {
    /// Creates a set in which nothing is kept yet. There must be at least one item.
    pub(super) fn new(sums: &'a [u32], gap_cost: usize) -> KeepSet<'a> {
        KeepSet {
            sums,
            kept: vec![false; sums.len().saturating_sub(1)],
            gap_cost,
            gaps: 1,
            used: gap_cost,
        }
    }

    pub(super) fn used(&self) -> usize {
        self.used
    }

    pub(super) fn is_kept(&self, at: usize) -> bool {
        self.kept[at]
    }

    /// Keeps blocks of items in the order of `preferences` as long as there is room. Each block is
    /// kept as a whole.
    pub(super) fn fill<W: Iterator<Item = Range<usize>>>(
        &mut self,
        preferences: impl Fn() -> W,
        room: KeepBudget,
    ) {
        // Closing a gap makes room, which further gaps can use.
        for _ in 0..ROUNDS {
            let taken = self.take(preferences(), room);
            self.close();
            if !taken {
                break;
            }
        }
    }

    /// Makes one pass over `preferences`, and returns `true` if it kept anything.
    pub(super) fn take(
        &mut self,
        preferences: impl Iterator<Item = Range<usize>>,
        room: KeepBudget,
    ) -> bool {
        // A block that each of its parts asks for is tried only once.
        let mut refused = HashSet::new();
        let mut taken = false;
        for wish in preferences {
            if self.used >= room.cost {
                break;
            }
            if self.kept[wish.start] || wish.len() > 1 && refused.contains(&wish.start) {
                continue;
            }
            if self.keep(wish.clone(), room) {
                taken = true;
            } else if wish.len() > 1 {
                refused.insert(wish.start);
            }
        }
        taken
    }

    /// Keeps items at both ends as long as there is room, about the same amount at each. An end
    /// stops growing at the first item that does not fit, so that no gap is added.
    pub(super) fn fill_ends(
        &mut self,
        block: impl Fn(usize) -> Range<usize>,
        ends: Ends,
        room: KeepBudget,
    ) {
        let (mut head, mut tail) = (0, self.kept.len());
        let (mut head_grows, mut tail_grows) = (true, true);
        while head < tail {
            head_grows &= head < ends.head;
            tail_grows &= self.kept.len() - tail < ends.tail;
            if !head_grows && !tail_grows {
                break;
            }
            let at_head = self.cost(&(0..head)) <= self.cost(&(tail..self.kept.len()));
            if head_grows && (at_head || !tail_grows) {
                let next = block(head);
                head_grows = self.kept[head] || self.keep(next.clone(), room);
                head = next.end.max(head + 1);
            } else {
                let next = block(tail - 1);
                tail_grows = self.kept[tail - 1] || self.keep(next.clone(), room);
                tail = next.start.min(tail - 1);
            }
        }
        self.close();
    }

    pub(super) fn keeps_any(&self) -> bool {
        self.kept.contains(&true)
    }

    /// Keeps the items in gaps that cost no more than their marker.
    fn close(&mut self) {
        for gap in self.kept_not() {
            if self.cost(&gap) <= self.gap_cost {
                self.used = self.used + self.cost(&gap) - self.gap_cost;
                self.gaps -= 1;
                self.kept[gap].fill(true);
            }
        }
    }

    /// Keeps the items in gaps of fewer than `fewest` items, or in gaps that cost less than twice
    /// their marker, the cheapest first, as long as there is room.
    pub(super) fn close_short(&mut self, fewest: usize, room: KeepBudget) {
        let mut gaps = self.kept_not();
        gaps.retain(|gap| gap.len() < fewest || self.cost(gap) < 2 * self.gap_cost);
        gaps.sort_by_key(|gap| (self.cost(gap), gap.start));
        for gap in gaps {
            if !self.keep(gap, room) {
                break;
            }
        }
    }

    /// Keeps an item at a different cost than its own, regardless of the room.
    pub(super) fn keep_at(&mut self, at: usize, cost: usize) {
        let gaps = self.gaps_with(&(at..at + 1));
        self.used = self.used + cost + gaps * self.gap_cost - self.gaps * self.gap_cost;
        self.gaps = gaps;
        self.kept[at] = true;
    }

    /// Returns the total cost if the item at `at` were kept for free.
    pub(super) fn used_beside(&self, at: usize) -> usize {
        let gaps = self.gaps_with(&(at..at + 1));
        self.used + gaps * self.gap_cost - self.gaps * self.gap_cost
    }

    pub(super) fn gaps(&self) -> usize {
        self.gaps
    }

    /// Returns the gaps, in order.
    pub(super) fn kept_not(&self) -> Vec<Range<usize>> {
        let mut gaps: Vec<Range<usize>> = Vec::new();
        for at in (0..self.kept.len()).filter(|&at| !self.kept[at]) {
            match gaps.last_mut() {
                Some(gap) if gap.end == at => gap.end = at + 1,
                _ => gaps.push(at..at + 1),
            }
        }
        gaps
    }

    fn keep(&mut self, span: Range<usize>, room: KeepBudget) -> bool {
        let gaps = self.gaps_with(&span);
        let new = span.clone().filter(|&at| !self.kept[at]);
        let cost: usize = new.map(|at| self.cost(&(at..at + 1))).sum();
        let used = self.used + cost + gaps * self.gap_cost - self.gaps * self.gap_cost;
        if used > room.cost || gaps > room.gaps.max(self.gaps) {
            return false;
        }
        self.kept[span].fill(true);
        (self.gaps, self.used) = (gaps, used);
        true
    }

    fn cost(&self, span: &Range<usize>) -> usize {
        (self.sums[span.end] - self.sums[span.start]) as usize
    }

    /// Returns the number of gaps if a span were kept, too.
    fn gaps_with(&self, span: &Range<usize>) -> usize {
        let begins = |&at: &usize| !self.kept[at] && (at == 0 || self.kept[at - 1]);
        let reach = span.start..(span.end + 1).min(self.kept.len());
        let gone = reach.filter(begins).count();
        let rest = usize::from(self.kept.get(span.end) == Some(&false));
        self.gaps - gone + rest
    }
}

#[cfg(test)]
// Some lists contain only one gap.
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(costs: &[u32], preferences: &[Range<usize>], room: KeepBudget, gaps: &[Range<usize>]) {
        let mut sums = vec![0];
        sums.extend(costs.iter().scan(0, |sum, cost| {
            *sum += cost;
            Some(*sum)
        }));
        let mut keep_set = KeepSet::new(&sums, 10);
        keep_set.fill(|| preferences.iter().cloned(), room);
        assert_eq!(keep_set.kept_not(), gaps);
        let kept = (0..costs.len()).filter(|&at| keep_set.is_kept(at));
        let cost: u32 = kept.map(|at| costs[at]).sum();
        assert_eq!(keep_set.gaps(), gaps.len());
        assert_eq!(keep_set.used(), cost as usize + 10 * gaps.len());
        assert!(keep_set.used() <= room.cost);
    }

    #[test]
    fn preferences_are_kept_in_order_within_the_budget() {
        let room = |cost, gaps| KeepBudget { cost, gaps };
        let two = [2..3, 4..5];
        check(&[20; 6], &two, room(70, 3), &[0..2, 3..4, 5..6]);
        check(&[20; 6], &two, room(69, 3), &[0..2, 3..6]);
        check(&[20; 6], &two, room(200, 2), &[0..2, 3..6]);
        // An item that joins two kept ones needs no marker.
        check(&[20; 6], &[2..3, 4..5, 3..4], room(80, 3), &[0..2, 5..6]);
        // A block is kept as a whole or not at all.
        check(&[20; 6], &[1..4, 1..4, 0..1], room(79, 9), &[1..6]);
        check(&[20; 6], &[1..4, 1..4, 0..1], room(80, 9), &[0..1, 4..6]);
        // Nothing fits.
        check(&[20; 2], &[0..1], room(20, 9), &[0..2]);
    }

    #[test]
    fn remaining_budget_goes_to_both_ends() {
        let sums: Vec<u32> = (0..=10).map(|at| 20 * at).collect();
        let ends = |preferences: &[Range<usize>], cost| {
            let mut keep_set = KeepSet::new(&sums, 10);
            let room = KeepBudget { cost, gaps: 3 };
            keep_set.fill(|| preferences.iter().cloned(), room);
            keep_set.fill_ends(|at| at..at + 1, Ends::ALL, room);
            assert!(keep_set.used() <= cost);
            keep_set.kept_not()
        };
        assert_eq!(ends(&[], 70), [2..9]);
        assert_eq!(ends(&[], 90), [2..8]);
        assert_eq!(ends(&[4..5], 100), [2..4, 5..9]);
        assert_eq!(ends(&[], 20), [0..10]);
        // A block that does not fit stops the growth at its end.
        let mut keep_set = KeepSet::new(&sums, 10);
        let block = |at: usize| if at < 5 { 0..5 } else { at..at + 1 };
        let room = KeepBudget { cost: 90, gaps: 3 };
        keep_set.fill_ends(block, Ends::ALL, room);
        assert_eq!(keep_set.kept_not(), [0..6]);
        // There is more room than the limits allow to use.
        let mut keep_set = KeepSet::new(&sums, 10);
        keep_set.fill_ends(
            |at| at..at + 1,
            Ends { head: 2, tail: 1 },
            KeepBudget { cost: 300, gaps: 3 },
        );
        assert_eq!(keep_set.kept_not(), [2..9]);
    }

    #[test]
    fn gap_cheaper_than_its_marker_is_kept() {
        let room = |cost| KeepBudget { cost, gaps: 9 };
        check(&[20, 9, 1, 30], &[0..1, 3..4], room(60), &[]);
        check(&[20, 9, 2, 30], &[0..1, 3..4], room(60), &[1..3]);
        // The closed gap makes room for an item that was refused before.
        let costs = [20, 5, 20, 90, 5, 90];
        check(&costs, &[0..1, 2..3, 4..5], room(70), &[3..4, 5..6]);
    }
}
