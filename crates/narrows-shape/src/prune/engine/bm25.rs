//! BM25 over lines: how well a line answers the words of the goal.

use std::collections::HashMap;

use super::{Deadline, Lines, OutOfTime};
use crate::prune::words::words;

const K1: f32 = 1.2;
const B: f32 = 0.75;

pub(super) fn worth(
    lines: &Lines<'_>,
    goal: &str,
    deadline: &Deadline<'_>,
) -> Result<Vec<f32>, OutOfTime> {
    let mut wanted: HashMap<String, usize> = HashMap::new();
    for word in words(goal) {
        let next = wanted.len();
        wanted.entry(word).or_insert(next);
    }
    let mut spread = vec![0u32; wanted.len()];
    let mut hits: Vec<(usize, Vec<(usize, f32)>)> = Vec::with_capacity(lines.len());
    let mut total = 0;
    for (at, line) in lines.iter().enumerate() {
        if at % 256 == 0 {
            deadline.check()?;
        }
        let mut found: Vec<(usize, f32)> = Vec::new();
        let mut length = 0;
        for word in words(line) {
            length += 1;
            if let Some(&which) = wanted.get(&word) {
                match found.iter_mut().find(|(known, _)| *known == which) {
                    Some((_, times)) => *times += 1.0,
                    None => found.push((which, 1.0)),
                }
            }
        }
        found.iter().for_each(|&(which, _)| spread[which] += 1);
        total += length;
        hits.push((length, found));
    }
    let count = lines.len() as f32;
    let average = (total as f32 / count.max(1.0)).max(1.0);
    let rarity = |which: usize| {
        let spread = spread[which] as f32;
        (1.0 + (count - spread + 0.5) / (spread + 0.5)).ln()
    };
    let worth = |(length, found): &(usize, Vec<(usize, f32)>)| {
        let norm = K1 * (1.0 - B + B * *length as f32 / average);
        let part =
            |&(which, times): &(usize, f32)| rarity(which) * times * (K1 + 1.0) / (times + norm);
        found.iter().map(part).sum()
    };
    Ok(hits.iter().map(worth).collect())
}
