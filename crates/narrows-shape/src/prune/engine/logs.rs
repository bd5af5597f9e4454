//! Logs: a question is answered by lines, and by what happened around them.
//!
//! A line is worth what it says about the goal. Lines near a hit are worth part
//! of that; those beside a line of trouble nearly all of it if the goal asks
//! for trouble. What remains goes to lines unlike those before.

mod templates;

use super::context::{REACH, raise_around, with_context};
use super::standout::Blocks;
use super::{Deadline, Lines, OutOfTime, Ranking};
use crate::prune::trouble;

/// What the context is worth, right beside the hit and before the distance counts.
const CONTEXT: f32 = 0.8;
/// The same beside a line of trouble, where the cause and the outcome are.
const BESIDE_TROUBLE: f32 = 0.95;
/// How much more a line of trouble is worth to a goal that asks for it.
const TROUBLE: f32 = 2.0;
/// What the neighbours of an error are worth whatever the goal says: less than
/// any hit, more than novelty.
const BESIDE_ERROR: f32 = 0.02;
/// What a line is worth that is like no other.
const NOVELTY: f32 = 0.01;

/// Ranks lines by their scores, which say how well each answers the goal.
pub(super) fn rank(
    lines: &Lines<'_>,
    goal: &str,
    mut scores: Vec<f32>,
    deadline: &Deadline<'_>,
) -> Result<Ranking, OutOfTime> {
    deadline.check()?;
    let mut signs = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        if at % 256 == 0 {
            deadline.check()?;
        }
        signs.push(trouble::sign(line));
    }
    let asks_for_trouble = trouble::is_asked_for(goal);
    if asks_for_trouble {
        for (score, sign) in scores.iter_mut().zip(&signs) {
            if *sign != trouble::Sign::None {
                *score *= TROUBLE;
            }
        }
    }
    deadline.check()?;
    let mut worth = templates::novelty(lines, deadline)?;
    worth.iter_mut().for_each(|novelty| *novelty *= NOVELTY);
    for (at, &score) in scores.iter().enumerate() {
        let is_trouble = signs[at] != trouble::Sign::None;
        if signs[at] == trouble::Sign::Error {
            raise_around(&mut worth, at, |distance| match distance {
                1 => BESIDE_ERROR,
                _ => 0.0,
            });
        }
        if score > 0.0 {
            raise_around(&mut worth, at, |distance| match distance {
                0 => score,
                1 if is_trouble && asks_for_trouble => score * BESIDE_TROUBLE,
                _ => score * CONTEXT * (1.0 - distance as f32 / (REACH + 1) as f32),
            });
        }
    }
    let relevant = match Blocks::of_lines(lines, scores).stand_out() {
        Some(hits) => with_context(&hits),
        None if asks_for_trouble => {
            let trouble = |sign: &trouble::Sign| f32::from(*sign != trouble::Sign::None);
            let trouble = Blocks::of_lines(lines, signs.iter().map(trouble).collect());
            let lines = trouble.stand_out().map(|hits| with_context(&hits));
            lines.unwrap_or_else(|| vec![false; worth.len()])
        }
        None => vec![false; worth.len()],
    };
    Ok(Ranking { worth, relevant })
}

#[cfg(test)]
mod tests;
