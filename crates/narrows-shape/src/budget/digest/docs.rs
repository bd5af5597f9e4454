//! Digest of documents: the headings, and the paragraphs with words that other paragraphs lack.

use std::collections::HashMap;

use super::{Findings, MOST_PARTS, UnusualRun, best_first, clean};
use crate::budget::keep::Ends;
use crate::prune::markdown::{self, LineKind};
use crate::prune::{Deadline, Lines, OutOfTime, Span};
use crate::terms;

/// The number of rarest words that determine how rare a paragraph is.
const WORDS: usize = 5;
/// The bits above the median from which a paragraph is unusual.
const LEAST_BITS: f32 = 3.0;
/// The longest average paragraph of prose, in lines. Longer paragraphs are not prose, and comparing
/// lines gives better results.
const LONGEST: usize = 12;
const CHARS_IN_LABEL: usize = 24;

/// Collects the findings of a digest. Returns `None` if the text has no paragraphs.
pub(super) fn find(
    lines: &Lines<'_>,
    deadline: &Deadline<'_>,
) -> Result<Option<Findings>, OutOfTime> {
    let structure = markdown::read(lines);
    deadline.check()?;
    let paragraphs = paragraphs(&structure.kinds);
    if paragraphs.len() * LONGEST < lines.len() {
        return Ok(None);
    }
    let scores = scores(lines, &paragraphs, deadline)?;
    let mut sorted = scores.clone();
    let usual = match sorted.len() / 2 {
        _ if sorted.is_empty() => 0.0,
        middle => *sorted.select_nth_unstable_by(middle, f32::total_cmp).1,
    };
    let mut order: Vec<usize> = (0..paragraphs.len()).collect();
    order.retain(|&at| scores[at] >= usual + LEAST_BITS);
    best_first(&mut order, |at| scores[at]);
    order.truncate(MOST_PARTS);
    let part = |at: usize| {
        let span = paragraphs[at].clone();
        let line = lines.line(span.start).trim();
        let label: String = line.chars().take(CHARS_IN_LABEL).collect();
        UnusualRun {
            span,
            label: clean(&label),
        }
    };
    let levels = structure.kinds.iter().enumerate();
    let mut headings: Vec<(u8, usize)> = levels
        .filter_map(|(at, kind)| match kind {
            LineKind::Heading(level) => Some((*level, at)),
            _ => None,
        })
        .collect();
    headings.sort_unstable();
    Ok(Some(Findings {
        notes: Vec::new(),
        more: None,
        ends: Ends::ALL,
        parts: order.into_iter().map(part).collect(),
        structure: headings.into_iter().map(|(_, at)| at..at + 1).collect(),
        index: "rare paragraphs at lines not shown",
        index_share: 4,
    }))
}

/// Returns the runs of lines that are neither blank nor headings. A fenced block is one paragraph.
fn paragraphs(kinds: &[LineKind]) -> Vec<Span> {
    let mut all: Vec<Span> = Vec::new();
    for (at, kind) in kinds.iter().enumerate() {
        let goes_on = match kind {
            LineKind::Blank | LineKind::Heading(_) | LineKind::Underline => continue,
            LineKind::Fenced => kinds.get(at.wrapping_sub(1)) == Some(&LineKind::Fenced),
            LineKind::Item => false,
            LineKind::Text => {
                !matches!(kinds.get(at.wrapping_sub(1)), None | Some(LineKind::Fenced))
            }
        };
        match all.last_mut() {
            Some(last) if goes_on && last.end == at => last.end = at + 1,
            _ => all.push(at..at + 1),
        }
    }
    all
}

/// A distinct word of the text and the number of paragraphs that contain it.
struct ParagraphWord {
    hash: u64,
    paragraphs: u32,
    /// The last paragraph with this word, counted from 1.
    last: u32,
}

/// Returns the information content of the rarest words of each paragraph, in bits.
fn scores(
    lines: &Lines<'_>,
    paragraphs: &[Span],
    deadline: &Deadline<'_>,
) -> Result<Vec<f32>, OutOfTime> {
    // Words get numbers in the order of their first occurrence, so that each is hashed and looked
    // up only once.
    let mut numbers: HashMap<u64, u32> = HashMap::new();
    let mut known: Vec<ParagraphWord> = Vec::new();
    let mut read: Vec<u32> = Vec::new();
    let mut ends = Vec::with_capacity(paragraphs.len());
    for (at, paragraph) in paragraphs.iter().enumerate() {
        if at % 256 == 0 {
            deadline.check()?;
        }
        let nth = at as u32 + 1;
        for hash in words(lines.span(paragraph)) {
            let number = *numbers.entry(hash).or_insert_with(|| {
                known.push(ParagraphWord {
                    hash,
                    paragraphs: 0,
                    last: 0,
                });
                known.len() as u32 - 1
            });
            let word = &mut known[number as usize];
            if word.last != nth {
                word.last = nth;
                word.paragraphs += 1;
                read.push(number);
            }
        }
        ends.push(read.len());
    }
    let mut scores = Vec::with_capacity(paragraphs.len());
    let mut rarest: Vec<(u32, u64)> = Vec::new();
    let mut begin = 0;
    for (at, &end) in ends.iter().enumerate() {
        if at % 256 == 0 {
            deadline.check()?;
        }
        rarest.clear();
        for &number in &read[begin..end] {
            let word = &known[number as usize];
            let new = (word.paragraphs, word.hash);
            let is_rarer = rarest.len() < WORDS || rarest.last().is_some_and(|last| new < *last);
            if is_rarer {
                rarest.push(new);
                rarest.sort_unstable();
                rarest.truncate(WORDS);
            }
        }
        begin = end;
        let bits = |&(count, _): &(u32, u64)| (paragraphs.len() as f32 / count as f32).log2();
        scores.push(rarest.iter().map(bits).sum());
    }
    Ok(scores)
}

/// Returns the hashes of the words of a text, ignoring ASCII case and skipping numbers.
fn words(text: &str) -> impl Iterator<Item = u64> {
    let is_number = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit());
    let words = terms::words(text).filter(move |word| !is_number(word));
    words.map(|word| {
        word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0000_0100_0000_01b3)
        })
    })
}
