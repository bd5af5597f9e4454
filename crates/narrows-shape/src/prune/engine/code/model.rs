//! The linear model over the features of blocks.

use super::features::FEATURES;

/// The weight of each feature, by its name in [`super::NAMES`]. `tools/README.md` describes the
/// training.
const WEIGHTS: [(&str, f32); FEATURES] = [
    ("name_exact", 2.64),
    ("name_akin", 0.81),
    ("name_near", 0.94),
    ("name_part_exact", 0.84),
    ("name_part_akin", 1.15),
    ("name_part_near", 1.01),
    ("name_small", 0.32),
    ("name_covered", 1.71),
    ("name_likeness", 1.18),
    ("first_exact", 1.16),
    ("first_near", 0.56),
    ("first_other", -0.31),
    ("signature_exact", 2.13),
    ("signature_near", 1.09),
    ("body_akin", 1.27),
    ("body_near", 1.20),
    ("body_bm25", 1.96),
    ("body_bm25_akin", 1.24),
    ("all_exact", 2.79),
    ("prose_exact", 1.33),
    ("around_exact", 2.10),
    ("named_code", 1.03),
    ("mentions_code", 0.56),
    ("length", 2.07),
    ("length_squared", -3.94),
    ("is_container", -0.96),
    ("is_piece", -2.25),
    ("is_special", -0.82),
    ("special_around", 1.15),
    ("special_created", 1.17),
    ("is_test", -0.64),
    ("nested", -0.32),
];

/// Features that do not depend on the goal.
const OF_ANY_GOAL: [&str; 11] = [
    "name_likeness",
    "first_other",
    "length",
    "length_squared",
    "is_container",
    "is_piece",
    "is_special",
    "special_around",
    "special_created",
    "is_test",
    "nested",
];

/// Returns the part of a block's score that depends on the goal; 0 if nothing matches.
pub(super) fn relevance(features: &[f32; FEATURES]) -> f32 {
    let parts = features.iter().zip(&WEIGHTS);
    let of_goal = parts.filter(|(_, (name, _))| !OF_ANY_GOAL.contains(name));
    of_goal.map(|(value, (_, weight))| value * weight).sum()
}

/// Returns the likelihood of each block to be the answer. The values add up to 1.
pub(super) fn likelihood(features: &[[f32; FEATURES]]) -> Vec<f32> {
    let score = |of: &[f32; FEATURES]| -> f32 {
        let parts = of.iter().zip(&WEIGHTS);
        parts.map(|(value, (_, weight))| value * weight).sum()
    };
    let scores: Vec<f32> = features.iter().map(score).collect();
    let best = scores.iter().copied().fold(f32::MIN, f32::max);
    let mut likely: Vec<f32> = scores.iter().map(|score| (score - best).exp()).collect();
    // The total is at least 1, because the best block contributes 1.
    let total: f32 = likely.iter().sum();
    likely.iter_mut().for_each(|value| *value /= total);
    likely
}

#[cfg(test)]
mod tests;
