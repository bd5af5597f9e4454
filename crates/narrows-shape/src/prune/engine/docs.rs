//! Ranks the lines of documents, in which a section answers a question.
//!
//! Headings delimit the sections. Sections are ranked as wholes, but long ones are first split into
//! pieces. A piece is worth the chance that it contains the answer, relative to its length: of two
//! that answer equally well, the shorter comes first. Within a piece, the paragraphs with words of
//! the goal come first.

mod passages;

use passages::{Passages, Piece};

use super::goal_terms::GoalTerms;
use super::relevance::{DocumentGroups, Hits};
use super::standout::Blocks;
use super::{Deadline, Lines, OutOfTime};
use crate::prune::markdown;

/// The weight of a word in the heading relative to the text below.
const HEADING: f32 = 5.0;
/// The share of the score of the headings above that a piece inherits: the changes of a release are
/// found by its number.
const ANCESTOR: f32 = 0.15;
/// The weight of the best passage of a piece in addition to the whole. The answer may be one
/// sentence of a long section.
const PASSAGE: f32 = 0.5;
/// The difference in relevance that makes an answer e times as likely.
const SHARPNESS: f32 = 0.5;
/// The number of such differences below the best at which a piece is hardly the answer.
const HARDLY: f32 = 3.0;
/// The weight of a piece's length. At 1, worth would be strictly per line.
const BREVITY: f32 = 0.5;

/// The range reserved for the order within a piece; smaller than the usual difference between
/// pieces.
const WITHIN: f32 = 0.01;

/// Returns the worth of every line, and the score of each piece.
pub(super) fn worth(
    lines: &Lines<'_>,
    goal: &str,
    deadline: &Deadline<'_>,
) -> Result<(Vec<f32>, Blocks), OutOfTime> {
    let terms = GoalTerms::of(goal);
    let structure = markdown::read(lines);
    deadline.check()?;
    let Passages { passages, pieces } = passages::find(&structure);
    deadline.check()?;
    let texts = passages.iter().map(|passage| lines.span(passage));
    let hits = Hits::search(&terms, texts, deadline)?;
    let near = hits.scores(&terms);
    let mut scores = hits.group(&terms, &groups(&pieces)).scores(&terms);
    for (score, piece) in scores.iter_mut().zip(&pieces) {
        let above = piece.above.iter().map(|&heading| near[heading]);
        let within = piece.passages.clone().map(|passage| near[passage]);
        *score += ANCESTOR * above.fold(0.0, f32::max) + PASSAGE * within.fold(0.0, f32::max);
    }
    deadline.check()?;

    let best = scores.iter().copied().fold(0.0, f32::max);
    let best_near = near.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    let mut worth = vec![0.0; lines.len()];
    let mut blocks = Blocks::new(lines, pieces.len(), HARDLY * SHARPNESS);
    for (nth, (piece, &score)) in pieces.iter().zip(&scores).enumerate() {
        for at in piece.passages.clone() {
            let value = value(piece, score, best) + WITHIN * near[at] / best_near;
            for line in passages[at].clone() {
                blocks.add(line, nth, score);
                let is_blank = structure.kinds[line] == markdown::LineKind::Blank;
                worth[line] = if is_blank {
                    value - 2.0 * WITHIN
                } else {
                    value
                };
            }
        }
    }
    Ok((worth, blocks))
}

fn value(piece: &Piece, score: f32, best: f32) -> f32 {
    (score - best) / SHARPNESS - BREVITY * (piece.lines as f32 + 1.0).ln()
}

/// Returns the passages by which each piece is ranked: its own and the heading of its section.
fn groups(pieces: &[Piece]) -> DocumentGroups {
    let mut groups = DocumentGroups::default();
    for piece in pieces {
        for passage in piece.passages.clone() {
            if Some(passage) != piece.heading {
                groups.add(passage, 1.0);
            }
        }
        if let Some(heading) = piece.heading {
            groups.add(heading, HEADING);
        }
        groups.close();
    }
    groups
}

#[cfg(test)]
mod tests;
