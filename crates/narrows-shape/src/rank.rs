//! BM25: scores texts for a query by the frequency of its words in each text and their rarity among
//! all texts.
//!
//! The tool search and the pruning engine share this formula. Each uses constants that were
//! measured on its own texts.

/// The constants of BM25.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bm25 {
    /// The rate at which further occurrences lose weight (k1).
    pub(crate) saturation: f32,
    /// The penalty for long texts, from 0 to 1 (b).
    pub(crate) length: f32,
}

impl Bm25 {
    /// Returns the number of occurrences that give half of the full weight in a text of this
    /// length.
    pub(crate) fn half(&self, length: f32, average: f32) -> f32 {
        self.saturation * (1.0 - self.length + self.length * length / average)
    }
}

/// Returns the weight of a number of occurrences, from 0 to 1. `half` occurrences give 0.5.
pub(crate) fn frequency(mentions: f32, half: f32) -> f32 {
    mentions / (mentions + half)
}

/// Returns the weight of a word that `with` of the texts contain; never negative.
pub(crate) fn rarity(texts: f32, with: f32) -> f32 {
    (1.0 + (texts - with + 0.5).max(0.0) / (with + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_weigh_more_than_common_ones() {
        assert!(rarity(100.0, 1.0) > rarity(100.0, 10.0));
        assert!(rarity(100.0, 100.0) > 0.0);
        assert_eq!(rarity(1.0, 2.0), 0.0);
    }

    #[test]
    fn repeated_mentions_have_diminishing_weight() {
        assert_eq!(frequency(0.0, 1.2), 0.0);
        assert_eq!(frequency(1.2, 1.2), 0.5);
        assert!(frequency(1_000.0, 1.2) < 1.0);
    }

    #[test]
    fn long_texts_need_more_mentions() {
        let bm25 = Bm25 {
            saturation: 1.2,
            length: 0.75,
        };
        assert!((bm25.half(10.0, 10.0) - 1.2).abs() < 1e-6);
        assert!(bm25.half(20.0, 10.0) > bm25.half(10.0, 10.0));
        let flat = Bm25 {
            length: 0.0,
            ..bm25
        };
        assert_eq!(flat.half(20.0, 10.0), flat.half(10.0, 10.0));
    }
}
