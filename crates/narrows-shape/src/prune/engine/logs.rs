//! Ranks the lines of logs, in which lines and the events around them answer a question.
//!
//! A line is worth its score for the goal. Lines near a hit are worth a part of that; lines next to
//! an error or warning are worth nearly all of it if the goal asks for errors. Other lines rank by
//! their novelty.

mod templates;

use super::context::{REACH, raise_around, with_context};
use super::standout::Blocks;
use super::{Deadline, Lines, OutOfTime, Ranking};
use crate::prune::failures;

/// The worth of context lines relative to the hit, before the distance is taken into account.
const CONTEXT: f32 = 0.8;
/// The same next to an error or warning, where the cause and the outcome are.
const BESIDE_FAILURE: f32 = 0.95;
/// The factor for errors and warnings if the goal asks for them.
const FAILURE_WEIGHT: f32 = 2.0;
/// The worth of the lines next to an error, regardless of the goal: less than any hit, more than
/// novelty.
const BESIDE_ERROR: f32 = 0.02;
/// The worth of a line that resembles no other.
const NOVELTY: f32 = 0.01;

/// Ranks lines by their scores for the goal.
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
        signs.push(failures::severity(line));
    }
    let asks_for_trouble = failures::is_asked_for(goal);
    if asks_for_trouble {
        for (score, severity) in scores.iter_mut().zip(&signs) {
            if *severity != failures::LogSeverity::None {
                *score *= FAILURE_WEIGHT;
            }
        }
    }
    deadline.check()?;
    let mut worth = templates::novelty(lines, deadline)?;
    worth.iter_mut().for_each(|novelty| *novelty *= NOVELTY);
    for (at, &score) in scores.iter().enumerate() {
        let is_trouble = signs[at] != failures::LogSeverity::None;
        if signs[at] == failures::LogSeverity::Error {
            raise_around(&mut worth, at, |distance| match distance {
                1 => BESIDE_ERROR,
                _ => 0.0,
            });
        }
        if score > 0.0 {
            raise_around(&mut worth, at, |distance| match distance {
                0 => score,
                1 if is_trouble && asks_for_trouble => score * BESIDE_FAILURE,
                _ => score * CONTEXT * (1.0 - distance as f32 / (REACH + 1) as f32),
            });
        }
    }
    let relevant = match Blocks::of_lines(lines, scores).stand_out() {
        Some(hits) => with_context(&hits),
        None if asks_for_trouble => {
            let failures = |severity: &failures::LogSeverity| {
                f32::from(*severity != failures::LogSeverity::None)
            };
            let failures = Blocks::of_lines(lines, signs.iter().map(failures).collect());
            let lines = failures.stand_out().map(|hits| with_context(&hits));
            lines.unwrap_or_else(|| vec![false; worth.len()])
        }
        None => vec![false; worth.len()],
    };
    Ok(Ranking { worth, relevant })
}

#[cfg(test)]
mod tests;
