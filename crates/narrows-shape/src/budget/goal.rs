//! Detects goals that match near-identical blocks of code only by chance.

use std::collections::HashSet;

use super::digest::code;
use crate::prune::{Deadline, Lines, OutOfTime};
use crate::terms::{Language, Token, fold_into, stem, tokens};

/// The minimum number of picked blocks that suggest chance. Fewer blocks may well be the answer.
const FEWEST: usize = 4;
/// Words that are common in questions.
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

/// Removes the paths from a goal. They name the source file that is read, and the name of the file
/// often occurs in one of its lines without answering anything.
pub(super) fn without_paths(goal: &str) -> String {
    let words = goal.split_whitespace().filter(|word| !word.contains('/'));
    let words: Vec<&str> = words.collect();
    match words.is_empty() {
        true => goal.to_owned(),
        false => words.join(" "),
    }
}

/// Returns `true` if a goal matches near-identical blocks of code only by chance. That is the case
/// if the lines ranked first are in such blocks, and no word of the goal occurs in some of these
/// blocks but not in most. A ranking by related words then picks some of the copies at random.
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
    let mut stems: Vec<String> = Vec::new();
    each_word(goal, |word, stem| {
        if word.len() > 2 && !COMMON.contains(&word) {
            stems.push(stem.to_owned());
        }
    });
    let mut holders: Vec<HashSet<u32>> = vec![HashSet::new(); stems.len()];
    for (at, line) in lines.iter().enumerate() {
        if at % 1_024 == 0 {
            deadline.check()?;
        }
        let Some(block) = copies[at] else {
            continue;
        };
        each_word(line, |_, stem| {
            if let Some(nth) = stems.iter().position(|wanted| wanted == stem) {
                holders[nth].insert(block);
            }
        });
    }
    let tells_apart =
        |holders: &HashSet<u32>| holders.len() * 2 <= total && !holders.is_disjoint(&picked);
    Ok(!holders.iter().any(tells_apart))
}

/// Calls `take` with each word of a text, folded, and its stem. Names are passed as a whole, too:
/// `17` alone does not distinguish `handler17` from other names with `17`.
fn each_word(text: &str, mut take: impl FnMut(&str, &str)) {
    let mut folded = String::new();
    tokens(text, |token| {
        folded.clear();
        match token {
            Token::Word(word) => {
                fold_into(word, &mut folded);
                take(&folded, &stem(&folded, Language::English));
            }
            Token::Name(name, _) => {
                fold_into(name, &mut folded);
                take(&folded, &folded);
            }
        }
    });
}
