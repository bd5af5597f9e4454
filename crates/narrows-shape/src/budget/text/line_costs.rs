//! The positions and costs of lines, and the cuts inside long lines.

use std::ops::Range;

use super::{Sizes, TextCut};
use crate::budget::count;
use crate::budget::keep::KeepSet;
use crate::budget::notes::NotedText;
use crate::prune::Lines;

/// Shorter gaps, in lines, are kept if there is room for them.
pub(super) const SHORTEST_GAP: usize = 10;

/// The positions and costs of lines.
pub(super) struct LineCosts {
    /// The start of each line, and of one more line after the last.
    starts: Vec<u32>,
    pub(super) sums: Vec<u32>,
    /// The lines that can be kept only in part.
    long: Vec<usize>,
    /// The characters that are kept of a long line, including its marker.
    limit: usize,
}

impl LineCosts {
    /// Computes the costs. Lines with more than 1/`share` of the budget count as long.
    pub(super) fn new(lines: &Lines<'_>, sizes: &Sizes, share: usize) -> LineCosts {
        let limit = (sizes.budget / share).max(2 * sizes.char_marker);
        let (mut starts, mut sums) = (vec![0], vec![0]);
        let mut long = Vec::new();
        let (mut start, mut sum) = (0, 0);
        for (at, line) in lines.iter().enumerate() {
            start += line.len() as u32 + 1;
            let chars = count::chars(line);
            let is_long = chars > limit + sizes.char_marker;
            if is_long {
                long.push(at);
            }
            sum += 1 + if is_long { limit } else { chars } as u32;
            starts.push(start);
            sums.push(sum);
        }
        LineCosts {
            starts,
            sums,
            long,
            limit,
        }
    }

    fn start(&self, line: usize) -> usize {
        self.starts[line] as usize
    }

    pub(super) fn cost(&self, span: &Range<usize>) -> usize {
        (self.sums[span.end] - self.sums[span.start]) as usize
    }

    /// Returns the first lines of a span that cost at most `most`, but at least one line.
    pub(super) fn within(&self, span: &Range<usize>, most: usize) -> Range<usize> {
        let sums = &self.sums[span.start + 1..=span.end];
        let limit = self.sums[span.start] as usize + most;
        let fits = sums.partition_point(|&sum| sum as usize <= limit);
        span.start..span.start + fits.max(1)
    }

    /// Returns the cuts that leave `room` characters: the lines that are not kept, and the middle
    /// of long ones.
    pub(super) fn cuts(
        &self,
        noted: &NotedText,
        sizes: &Sizes,
        keep_set: &KeepSet<'_>,
        room: usize,
    ) -> Vec<TextCut> {
        let text = noted.text.as_str();
        let mut cuts: Vec<TextCut> = keep_set
            .kept_not()
            .into_iter()
            .map(|gap| TextCut {
                span: self.start(gap.start)..self.start(gap.end) - 1,
                is_within_line: false,
            })
            .collect();
        let mut long: Vec<usize> = self.long.clone();
        long.retain(|&at| keep_set.is_kept(at));
        let mut left = room.saturating_sub(keep_set.used());
        for (nth, &at) in long.iter().enumerate() {
            let line = self.start(at)..self.start(at + 1) - 1;
            let chars = count::chars(&text[line.clone()]);
            let more = (left / (long.len() - nth)).min(chars - self.limit);
            left -= more;
            let kept = self.limit + more;
            if kept < chars {
                let room = kept.saturating_sub(sizes.char_marker);
                let middle = count::middle(&text[line.clone()], room.div_ceil(2), room / 2);
                let span = line.start + middle.start..line.start + middle.end;
                cuts.push(TextCut {
                    span: noted.around_notes(span),
                    is_within_line: true,
                });
            }
        }
        cuts.sort_unstable_by_key(|cut| cut.span.start);
        cuts
    }
}
