//! Digest of source code: counts near-identical blocks and ranks the unusual ones.

use std::collections::HashMap;

use super::templates::{Surprise, Templates};
use super::{Findings, MOST_PARTS, UnusualRun, best_first, clean, clean_line, logs};
use crate::budget::keep::Ends;
use crate::prune::engine::{CodeBlock, code_blocks};
use crate::prune::{Deadline, Lines, OutOfTime, Span};

/// The minimum number of blocks with the same templates that count as near-identical.
const ALIKE: usize = 3;
/// The minimum number of bits by which a value sets a block apart from those like it.
const LEAST_BITS: f32 = 6.0;
/// The number of lines that determine how unusual a block is.
const LINES: usize = 3;
/// The maximum number of groups of near-identical blocks that are shown.
const MOST_GROUPS: usize = 12;
const LONGEST_HEAD: usize = 120;
/// The maximum number of lines shown at the end of a text that contains near-identical blocks.
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
        UnusualRun {
            span: block.span.clone(),
            label: clean(&block.name),
        }
    };
    let folds = folds(&blocks, groups);
    // Texts without definitions, such as tables of constants, are digested like logs.
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

/// Returns, for each line, the near-identical definition that contains it, and the total number of
/// such definitions.
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

type BlockGroups = HashMap<u64, Vec<usize>>;

/// Returns the key of each block, and the blocks for each key.
fn group(blocks: &[CodeBlock], templates: &Templates) -> (Vec<u64>, BlockGroups) {
    let keys = blocks.iter().map(|block| key(templates, &block.span));
    let keys: Vec<u64> = keys.collect();
    let mut groups = BlockGroups::new();
    for (at, &key) in keys.iter().enumerate() {
        groups.entry(key).or_default().push(at);
    }
    (keys, groups)
}

/// Hashes the templates of the lines of a block.
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

/// Returns how unusual a block is, in bits, by its most unusual lines.
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

/// Returns the groups of near-identical definitions, the largest first.
fn folds(blocks: &[CodeBlock], groups: BlockGroups) -> Vec<Vec<usize>> {
    let mut folds: Vec<Vec<usize>> = groups.into_values().collect();
    folds.retain(|fold| fold.len() >= ALIKE && blocks[fold[0]].is_definition);
    folds.sort_by_key(|fold| (std::cmp::Reverse(fold.len()), fold[0]));
    folds
}

/// The near-identical blocks that share a head and a length.
struct Head {
    /// The head line with `{id}` in place of the name.
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

/// Returns the heads of near-identical blocks, the most frequent first.
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

/// Returns the line that names a block, with `{id}` in place of the name.
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

/// Returns a function that counts the near-identical blocks whose heads are not among the first
/// ones.
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

/// Returns the limits for both ends of the text: at the beginning, everything up to the end of the
/// first near-identical block, which serves as an example of the others, and a few lines at the
/// end.
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
