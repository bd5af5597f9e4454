//! Compares a block of code with a goal by a set of features.

use super::blocks::{Block, Outline};
use super::count::BlockTally;
use super::define::BlockKind;
use super::goal::{Goal, Mention, TermMatch, Terms, each_term, name_key};
use crate::prune::{Deadline, Lines, OutOfTime};
use crate::rank::{Bm25, frequency, rarity};

/// The weights of the model were fitted with these constants. With the usual constants, recall at a
/// ratio of 0.9 is .902 instead of .909.
const BM25: Bm25 = Bm25 {
    saturation: 1.0,
    length: 0.6,
};

/// The number of features of a block.
pub(super) const FEATURES: usize = 32;

/// The names of the features, in order. A share is relative to the total weight of the goal's
/// terms, where rare terms weigh most.
pub const NAMES: [&str; FEATURES] = [
    // Terms in the name: the same word, a related form, or a synonym.
    "name_exact",
    "name_akin",
    "name_near",
    // The parts of the name that are terms, as a share of all its parts.
    "name_part_exact",
    "name_part_akin",
    "name_part_near",
    "name_small",
    "name_covered",
    // The share of the name's trigrams that also occur in the goal.
    "name_likeness",
    // Compares the first part of the name with the first term, both usually verbs.
    "first_exact",
    "first_near",
    "first_other",
    "signature_exact",
    "signature_near",
    "body_akin",
    "body_near",
    "body_bm25",
    "body_bm25_akin",
    "all_exact",
    // Terms that occur only in comments and doc strings.
    "prose_exact",
    // Terms in the name of the enclosing class or function.
    "around_exact",
    "named_code",
    "mentions_code",
    "length",
    "length_squared",
    "is_container",
    "is_piece",
    // Constructors, and methods that the language calls implicitly.
    "is_special",
    "special_around",
    "special_created",
    "is_test",
    "nested",
];

/// Returns `true` if any feature of a block depends on the goal and is present.
pub(super) fn speaks_of_the_goal(features: &[f32; FEATURES]) -> bool {
    const INFORMATIVE_FEATURES: [&str; 8] = [
        "name_exact",
        "name_akin",
        "name_near",
        "body_bm25",
        "body_bm25_akin",
        "prose_exact",
        "named_code",
        "mentions_code",
    ];
    let mut informative = NAMES
        .iter()
        .zip(features)
        .filter(|(name, _)| INFORMATIVE_FEATURES.contains(name));
    informative.any(|(_, &value)| value > 0.0)
}

/// Compares every block of an outline with the goal.
pub(super) fn of(
    lines: &Lines<'_>,
    outline: &Outline,
    goal: &Goal,
    deadline: &Deadline<'_>,
) -> Result<Vec<[f32; FEATURES]>, OutOfTime> {
    let tally = BlockTally::of(lines, outline, goal, deadline)?;
    let scale = Scale::of(outline, &tally, goal);
    let mut all = Vec::with_capacity(outline.blocks.len());
    for at in 0..outline.blocks.len() {
        if at % 256 == 0 {
            deadline.check()?;
        }
        all.push(compare(lines, outline, at, &tally, goal, &scale));
    }
    Ok(all)
}

/// The weights of the terms in this text, and the average length of its functions.
struct Scale {
    rarity: Vec<f32>,
    /// The total weight of all terms.
    total: f32,
    /// The average number of words in a function.
    average: f32,
}

impl Scale {
    fn of(outline: &Outline, tally: &BlockTally, goal: &Goal) -> Scale {
        let mut spread = vec![0u32; goal.len()];
        let (mut blocks, mut functions, mut words) = (0u32, 0u32, 0u64);
        for (block, counts) in outline.blocks.iter().zip(&tally.blocks) {
            if block.kind == BlockKind::Container {
                continue;
            }
            blocks += 1;
            if block.kind == BlockKind::Function {
                functions += 1;
                words += u64::from(counts.words);
            }
            let terms = counts.name.all() | counts.signature.exact | counts.body.exact;
            each_term(terms, |term| spread[term] += 1);
        }
        // A term that no block contains does not distinguish blocks.
        let rarity = |(term, &spread): (usize, &u32)| {
            let is_small = goal.small & (1 << term) != 0;
            match spread == 0 || is_small {
                true => 0.0,
                false => rarity(blocks as f32, spread as f32),
            }
        };
        let rarity: Vec<f32> = spread.iter().enumerate().map(rarity).collect();
        Scale {
            total: rarity.iter().sum::<f32>().max(f32::MIN_POSITIVE),
            average: (words as f32 / functions.max(1) as f32).max(1.0),
            rarity,
        }
    }

    fn share(&self, terms: Terms) -> f32 {
        let mut sum = 0.0;
        each_term(terms, |term| sum += self.rarity[term]);
        sum / self.total
    }

    /// Returns the BM25 score as a share of the maximum.
    fn bm25(&self, times: &[u8], words: u32) -> f32 {
        let half = BM25.half(words as f32, self.average);
        let part = |(rarity, &times): (&f32, &u8)| rarity * frequency(f32::from(times), half);
        self.rarity.iter().zip(times).map(part).sum::<f32>() / self.total
    }
}

fn compare(
    lines: &Lines<'_>,
    outline: &Outline,
    at: usize,
    tally: &BlockTally,
    goal: &Goal,
    scale: &Scale,
) -> [f32; FEATURES] {
    let block = &outline.blocks[at];
    let counts = &tally.blocks[at];
    let share = |terms: Terms| scale.share(terms);
    let beyond = |found: TermMatch, which: Terms| share(which & !found.exact);
    let around = block.parent.map(|parent| tally.blocks[parent].name);
    let around = around.map_or(0.0, |name| share(name.exact));
    let parts = counts.name_parts.max(1) as f32;
    let covered = counts.exact_parts + counts.akin_parts + counts.near_parts;
    let (name, signature, body, first) = (counts.name, counts.signature, counts.body, counts.first);
    let written = name_of(lines, block);
    let named =
        block.kind != BlockKind::Piece && goal.mentions(name_key(written)) == Some(Mention::Code);
    let special = flag(is_special(written));
    let length = (block.filled.max(1) as f32).ln();
    [
        share(name.exact),
        beyond(name, name.akin),
        beyond(name, name.near),
        counts.exact_parts as f32 / parts,
        counts.akin_parts as f32 / parts,
        counts.near_parts as f32 / parts,
        flag(name.exact & goal.small != 0),
        flag(covered == counts.name_parts) * parts.min(4.0) / 4.0,
        goal.likeness(written),
        flag((first.exact | first.akin) & goal.first != 0),
        flag(first.near & goal.first != 0),
        flag(first.all() & !goal.first & !goal.small != 0),
        share(signature.exact),
        beyond(signature, signature.near),
        beyond(body, body.akin),
        beyond(body, body.near & !body.akin),
        scale.bm25(tally.exact(at), counts.words),
        scale.bm25(tally.akin(at), counts.words),
        share(counts.code()),
        share(counts.prose & !counts.code()),
        around,
        flag(named),
        (counts.mentions as f32).ln_1p(),
        length,
        length * length / 10.0,
        flag(block.kind == BlockKind::Container),
        flag(block.kind == BlockKind::Piece),
        special,
        special * around,
        special * flag(goal.creates),
        flag(written.starts_with("test")),
        flag(block.parent.is_some()),
    ]
}

fn name_of<'a>(lines: &Lines<'a>, block: &Block) -> &'a str {
    &lines.line(block.head)[block.name.clone()]
}

fn is_special(name: &str) -> bool {
    matches!(name, "constructor" | "new") || (name.starts_with("__") && name.ends_with("__"))
}

fn flag(is: bool) -> f32 {
    f32::from(u8::from(is))
}
