//! Goals that tell near-identical blocks of code apart by chance only.

use std::collections::HashSet;

use super::digest::code;
use crate::prune::{Deadline, Lines, OutOfTime};

/// Fewer blocks than this may well be the answer.
const FEWEST: usize = 4;
/// The end of a word that may differ, and the letters that may not.
const ENDING: usize = 2;
const LEAST_STEM: usize = 4;
/// Words of the way of asking.
const COMMON: [&str; 24] = [
    "the",
    "one",
    "out",
    "all",
    "and",
    "for",
    "not",
    "are",
    "but",
    "any",
    "its",
    "has",
    "that",
    "this",
    "with",
    "from",
    "which",
    "what",
    "others",
    "other",
    "function",
    "functions",
    "name",
    "does",
];

/// A goal without the paths in it. They name the source file that is read, and
/// such a file has its own name in a line that answers nothing.
pub(super) fn without_paths(goal: &str) -> String {
    let words = goal.split_whitespace().filter(|word| !word.contains('/'));
    let words: Vec<&str> = words.collect();
    match words.is_empty() {
        true => goal.to_owned(),
        false => words.join(" "),
    }
}

/// Returns `true` if the lines that a goal ranks first are in near-identical
/// blocks of code, and no word of the goal stands in some of these blocks and
/// not in most. A ranking by words that are merely related to those of the goal
/// picks some of the copies at random then.
pub(super) fn picks_copies(
    lines: &Lines<'_>,
    relevant: impl Iterator<Item = usize>,
    goal: &str,
    deadline: &Deadline<'_>,
) -> Result<bool, OutOfTime> {
    let (copies, total) = code::copies(lines, deadline)?;
    let (mut picked, mut all, mut in_copies) = (HashSet::new(), 0_usize, 0_usize);
    for at in relevant.filter(|&at| !lines.line(at).trim().is_empty()) {
        all += 1;
        if let Some(block) = copies[at] {
            in_copies += 1;
            picked.insert(block);
        }
    }
    if picked.len() < FEWEST || in_copies * 10 < all * 9 {
        return Ok(false);
    }
    let stems: Vec<String> = words(goal)
        .filter(|word| word.len() > 2 && !COMMON.contains(&word.as_str()))
        .map(|word| stem(&word))
        .collect();
    let mut holders: Vec<HashSet<u32>> = vec![HashSet::new(); stems.len()];
    for (at, line) in lines.iter().enumerate() {
        if at % 1_024 == 0 {
            deadline.check()?;
        }
        let Some(block) = copies[at] else {
            continue;
        };
        for word in words(line).map(|word| stem(&word)) {
            if let Some(nth) = stems.iter().position(|stem| *stem == word) {
                holders[nth].insert(block);
            }
        }
    }
    let tells_apart =
        |holders: &HashSet<u32>| holders.len() * 2 <= total && !holders.is_disjoint(&picked);
    Ok(!holders.iter().any(tells_apart))
}

/// The words of a line in small letters; names are split.
fn words(line: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in line.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && was_small {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        was_small = c.is_lowercase();
    }
    words.into_iter().filter(|word| !word.is_empty())
}

/// A word without its ending.
fn stem(word: &str) -> String {
    let chars = word.chars().count();
    let kept = chars.saturating_sub(ENDING).max(LEAST_STEM);
    word.chars().take(kept).collect()
}
