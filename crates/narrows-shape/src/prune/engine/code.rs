//! Ranks the lines of source code for a goal.
//!
//! The text is split into blocks (functions, classes, pieces between them), and each block is
//! compared with the goal by several features: its name, its signature, the words of its body, the
//! enclosing class. A linear model combines them into the likelihood that the block is the answer.
//! A line is worth the sum of the likelihoods of the blocks around it, each divided by the number
//! of its lines. A short block that may be the answer therefore precedes a long one.

mod blocks;
mod count;
mod define;
mod features;
mod goal;
mod model;
mod vocabulary;

use super::standout::Blocks;
use super::{Deadline, OutOfTime};
use crate::prune::{Lines, Span};
use blocks::Outline;
use define::BlockKind;
use features::FEATURES;
pub use features::NAMES;
use goal::Goal;

/// A block is hardly the answer if the best block scores this much more. That block is then e^0.5
/// times as likely.
const HARDLY: f32 = 0.5;

/// Returns the worth of every line, and the relevance of each block. Returns `None` if no word of
/// the goal occurs in the code, because the remaining features do not depend on the goal.
pub(super) fn worth(
    lines: &Lines<'_>,
    goal: &str,
    deadline: &Deadline<'_>,
) -> Result<Option<(Vec<f32>, Blocks)>, OutOfTime> {
    let goal = Goal::new(goal);
    let outline = Outline::of(lines, deadline)?;
    let features = features::of(lines, &outline, &goal, deadline)?;
    if !features.iter().any(features::speaks_of_the_goal) {
        return Ok(None);
    }
    let likely = model::likelihood(&features);
    // Blocks come after the ones that enclose them.
    let mut share: Vec<f32> = Vec::with_capacity(likely.len());
    let mut answer: Vec<f32> = Vec::with_capacity(likely.len());
    for (at, block) in outline.blocks.iter().enumerate() {
        let around = block.parent.map_or(0.0, |parent| share[parent]);
        share.push(around + likely[at] / block.filled.max(1) as f32);
        // A nested function inherits the relevance of its function; a method does not inherit that
        // of its class.
        let function = |&parent: &usize| outline.blocks[parent].kind == BlockKind::Function;
        let around = block.parent.filter(function);
        let around = around.map_or(0.0, |parent| answer[parent]);
        answer.push(around.max(model::relevance(&features[at])));
    }
    let mut blocks = Blocks::new(lines, outline.blocks.len(), HARDLY);
    for (line, &owner) in outline.owner.iter().enumerate() {
        blocks.add(line, owner as usize, answer[owner as usize]);
    }
    let owners = outline.owner.iter();
    let worth = owners.map(|&owner| share[owner as usize]).collect();
    Ok(Some((worth, blocks)))
}

/// A function, or lines outside of functions.
pub(crate) struct CodeBlock {
    pub(crate) span: Span,
    /// The name; empty for lines that define nothing.
    pub(crate) name: String,
    pub(crate) is_definition: bool,
}

/// Returns the blocks of a text, in order and disjoint. A function includes its nested functions;
/// the methods of a class are separate blocks.
pub(crate) fn code_blocks(
    lines: &Lines<'_>,
    deadline: &Deadline<'_>,
) -> Result<Vec<CodeBlock>, OutOfTime> {
    let outline = Outline::of(lines, deadline)?;
    let all = &outline.blocks;
    // Blocks come after the ones that enclose them.
    let mut in_function = vec![false; all.len()];
    let mut blocks = Vec::new();
    for (at, block) in all.iter().enumerate() {
        let parent = block.parent.map(|parent| (parent, &all[parent]));
        in_function[at] = parent
            .is_some_and(|(at, parent)| in_function[at] || parent.kind == BlockKind::Function);
        if in_function[at] || block.kind == BlockKind::Container {
            continue;
        }
        // The head of a class is in one of the pieces of the class.
        let definition = match (block.kind, parent) {
            (BlockKind::Function, _) => Some(block),
            (_, Some((_, parent))) if block.span.contains(&parent.head) => Some(parent),
            _ => None,
        };
        let name = definition.and_then(|it| lines.line(it.head).get(it.name.clone()));
        blocks.push(CodeBlock {
            span: block.span.clone(),
            name: name.unwrap_or_default().to_owned(),
            is_definition: definition.is_some(),
        });
    }
    blocks.sort_by_key(|block| block.span.start);
    Ok(blocks)
}

/// Returns the blocks of a text and their features for a goal: the training data of the model.
pub fn candidates(lines: &Lines<'_>, goal: &str) -> Vec<(Span, [f32; FEATURES])> {
    let goal = Goal::new(goal);
    let never = Deadline::never();
    let outline = Outline::of(lines, &never).expect("there is no limit");
    let features = features::of(lines, &outline, &goal, &never).expect("there is no limit");
    let spans = outline.blocks.into_iter().map(|block| block.span);
    spans.zip(features).collect()
}

#[cfg(test)]
mod tests;
