//! Code: its blocks, those that are nearly identical counted, those that are
//! unlike the others first.

use std::collections::HashMap;

use super::templates::{Surprise, Templates};
use super::{Findings, MOST_PARTS, Part, best_first, clean, clean_line, logs};
use crate::budget::keep::Ends;
use crate::prune::engine::{CodeBlock, code_blocks};
use crate::prune::{Deadline, Lines, OutOfTime, Span};

/// So many blocks of the same templates are nearly identical.
const ALIKE: usize = 3;
/// A value with so many bits makes a block different from those like it.
const LEAST_BITS: f32 = 6.0;
/// The lines that tell how unusual a block is.
const LINES: usize = 3;
/// The groups of near-identical blocks that are shown.
const MOST_GROUPS: usize = 12;
const LONGEST_HEAD: usize = 120;
/// Of near-identical blocks at the end of a text so many lines are shown.
const LINES_AT_END: usize = 3;

pub(super) fn find(lines: &Lines<'_>, deadline: &Deadline<'_>) -> Result<Findings, OutOfTime> {
    let blocks = code_blocks(lines, deadline)?;
    let templates = Templates::mine(lines, deadline)?;
    let surprises = templates.surprises(lines, deadline)?;
    let (keys, groups) = group(&blocks, &templates);
    deadline.check()?;
    let mut scored: Vec<(usize, f32)> = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let is_alone = groups[&keys[at]].len() < ALIKE;
        let score = score(&surprises, &block.span, is_alone);
        let is_different = score >= LEAST_BITS || is_alone && block.is_definition;
        if is_different || is_alone && score > LEAST_BITS / 2.0 {
            scored.push((at, score));
        }
    }
    let mut order: Vec<usize> = (0..scored.len()).collect();
    best_first(&mut order, |at| scored[at].1);
    order.truncate(MOST_PARTS);
    let part = |at: usize| {
        let block = &blocks[scored[at].0];
        Part {
            span: block.span.clone(),
            label: clean(&block.name),
        }
    };
    let folds = folds(&blocks, groups);
    // Tables of constants and the like have no blocks.
    if !blocks.iter().any(|block| block.is_definition) {
        return logs::find_by(lines, &templates, &surprises, deadline);
    }
    let heads = heads(lines, &blocks, &folds);
    Ok(Findings {
        notes: heads.iter().take(MOST_GROUPS).map(Head::note).collect(),
        more: Some(Box::new(unlisted(&heads))),
        ends: ends(&blocks, &folds),
        parts: order.into_iter().map(part).collect(),
        structure: Vec::new(),
        index: "other blocks at lines not shown",
        index_share: 2,
    })
}

/// Returns the block of each line that is in one of several near-identical
/// definitions, and how many of these there are.
pub(in crate::budget) fn copies(
    lines: &Lines<'_>,
    deadline: &Deadline<'_>,
) -> Result<(Vec<Option<u32>>, usize), OutOfTime> {
    let blocks = code_blocks(lines, deadline)?;
    let templates = Templates::mine(lines, deadline)?;
    let mut copies = vec![None; lines.len()];
    let mut total = 0;
    for fold in folds(&blocks, group(&blocks, &templates).1) {
        total += fold.len();
        for at in fold {
            copies[blocks[at].span.clone()].fill(Some(at as u32));
        }
    }
    Ok((copies, total))
}

type Groups = HashMap<u64, Vec<usize>>;

/// The key of each block, and the blocks of each key.
fn group(blocks: &[CodeBlock], templates: &Templates) -> (Vec<u64>, Groups) {
    let keys = blocks.iter().map(|block| key(templates, &block.span));
    let keys: Vec<u64> = keys.collect();
    let mut groups = Groups::new();
    for (at, &key) in keys.iter().enumerate() {
        groups.entry(key).or_default().push(at);
    }
    (keys, groups)
}

/// The templates of the lines of a block, hashed.
fn key(templates: &Templates, span: &Span) -> u64 {
    let of_lines = &templates.of_line[span.clone()];
    of_lines
        .iter()
        .fold(0, |hash: u64, &template| match template {
            super::templates::NONE => hash,
            template => {
                (hash.rotate_left(5) ^ u64::from(template)).wrapping_mul(0x517c_c1b7_2722_0a95)
            }
        })
}

/// The bits of the most unusual lines of a block.
fn score(surprises: &[Surprise], span: &Span, is_alone: bool) -> f32 {
    let bits = |surprise: &Surprise| match is_alone {
        true => surprise.template.max(surprise.value),
        false => surprise.value,
    };
    let mut all: Vec<f32> = surprises[span.clone()].iter().map(bits).collect();
    all.sort_unstable_by(|a, b| b.total_cmp(a));
    match is_alone {
        true => all.iter().take(LINES).sum::<f32>() / LINES as f32,
        false => all.first().copied().unwrap_or_default(),
    }
}

/// The groups of near-identical blocks, the largest first.
fn folds(blocks: &[CodeBlock], groups: Groups) -> Vec<Vec<usize>> {
    let mut folds: Vec<Vec<usize>> = groups.into_values().collect();
    folds.retain(|fold| fold.len() >= ALIKE && blocks[fold[0]].is_definition);
    folds.sort_by_key(|fold| (std::cmp::Reverse(fold.len()), fold[0]));
    folds
}

/// The near-identical blocks with one head and one length.
struct Head {
    /// Without the name.
    text: String,
    count: usize,
    first: Span,
}

impl Head {
    fn note(&self) -> String {
        let Head { text, count, first } = self;
        let (start, end, lines) = (first.start + 1, first.end, first.len());
        format!("⟦{count}× {text} … {lines} lines, the first at {start}-{end}⟧")
    }
}

/// The heads of folds, the most frequent first.
fn heads(lines: &Lines<'_>, blocks: &[CodeBlock], folds: &[Vec<usize>]) -> Vec<Head> {
    let mut places: HashMap<(String, usize), usize> = HashMap::new();
    let mut heads: Vec<Head> = Vec::new();
    for fold in folds {
        let first = &blocks[fold[0]];
        let text = head(lines, first);
        let place = places.entry((text.clone(), first.span.len()));
        let place = *place.or_insert(heads.len());
        match heads.get_mut(place) {
            Some(head) => {
                head.count += fold.len();
                if first.span.start < head.first.start {
                    head.first = first.span.clone();
                }
            }
            None => heads.push(Head {
                text,
                count: fold.len(),
                first: first.span.clone(),
            }),
        }
    }
    heads.sort_by_key(|head| (std::cmp::Reverse(head.count), head.first.start));
    heads
}

/// The line that names a block, without the name.
fn head(lines: &Lines<'_>, block: &CodeBlock) -> String {
    let has_name = |&at: &usize| !block.name.is_empty() && lines.line(at).contains(&block.name);
    let at = block.span.clone().find(has_name);
    let head = lines.line(at.unwrap_or(block.span.start));
    let head = match at {
        Some(_) => head.replacen(&block.name, "{id}", 1),
        None => head.to_owned(),
    };
    let head: String = clean_line(&head).chars().take(LONGEST_HEAD).collect();
    head.trim_end_matches(['{', ':', ' ']).to_owned()
}

/// Returns a function that counts the blocks of heads beyond the first ones.
fn unlisted(heads: &[Head]) -> impl Fn(usize) -> Option<String> + 'static {
    let counts: Vec<usize> = heads.iter().map(|head| head.count).collect();
    move |listed| {
        let others = counts.get(listed..).filter(|others| !others.is_empty())?;
        let (sum, count) = (others.iter().sum::<usize>(), others.len());
        Some(format!(
            "⟦{sum} near-identical blocks with {count} more heads⟧"
        ))
    }
}

/// The beginning of the text up to the first near-identical block, which is an
/// example of the others, and the lines behind the last.
fn ends(blocks: &[CodeBlock], folds: &[Vec<usize>]) -> Ends {
    let head = folds.iter().map(|fold| blocks[fold[0]].span.end).min();
    match head {
        Some(head) => Ends {
            head,
            tail: LINES_AT_END,
        },
        None => Ends::ALL,
    }
}
