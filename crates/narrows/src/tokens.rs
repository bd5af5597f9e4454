//! Counts tokens for commands that print savings.
//!
//! With the feature `tokens` the count is exact for o200k, the vocabulary of current OpenAI models;
//! other vocabularies give similar counts. It is part of the program and takes a third of a second
//! to load, so it is loaded on first use. Without the feature, the count is the estimate that the
//! gateway uses for its own decisions.

#[cfg(feature = "tokens")]
pub(crate) use exact::{LABEL, count};

#[cfg(not(feature = "tokens"))]
pub(crate) use estimated::{LABEL, count};

#[cfg(feature = "tokens")]
mod exact {
    use std::sync::LazyLock;

    use tiktoken_rs::{CoreBPE, O200K_BASE_PAT_STR, Rank};

    /// All tokens in numerical order, each preceded by its length; see `build.rs`.
    const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/o200k"));

    pub(crate) const LABEL: &str = "tokens";

    /// Returns the number of tokens. `None` if the vocabulary cannot be loaded.
    pub(crate) fn count(text: &str) -> Option<usize> {
        static VOCABULARY: LazyLock<Option<CoreBPE>> = LazyLock::new(|| unpack(PACKED));
        let vocabulary = VOCABULARY.as_ref()?;
        Some(vocabulary.encode_ordinary(text).len())
    }

    /// Special tokens are left out, because counted text contains none.
    fn unpack(mut packed: &[u8]) -> Option<CoreBPE> {
        let tokens = std::iter::from_fn(|| {
            let (length, rest) = packed.split_first()?;
            let (token, rest) = rest.split_at_checked(usize::from(*length))?;
            packed = rest;
            Some(token.to_vec())
        });
        let encoder = tokens.zip(0 as Rank..).collect();
        CoreBPE::new(encoder, Default::default(), O200K_BASE_PAT_STR).ok()
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn packed_vocabulary_matches_the_crate() {
            let whole = tiktoken_rs::o200k_base().expect("the crate carries it");
            let packed = super::unpack(super::PACKED).expect("it has been packed");
            let bytes = |of: &super::CoreBPE, number| of.decode_bytes(&[number]).ok();
            for number in 0..199_999 {
                assert_eq!(bytes(&packed, number), bytes(&whole, number), "{number}");
            }
            let text = include_str!("tokens.rs");
            assert_eq!(packed.encode_ordinary(text), whole.encode_ordinary(text));
        }

        #[test]
        fn words_are_counted_by_the_vocabulary() {
            assert_eq!(super::count(""), Some(0));
            assert_eq!(super::count("hello world"), Some(2));
            assert_eq!(super::count("<|endoftext|>"), Some(7));
        }
    }
}

#[cfg(not(feature = "tokens"))]
mod estimated {
    pub(crate) const LABEL: &str = "~tokens";

    /// Returns the estimated number of tokens.
    pub(crate) fn count(text: &str) -> Option<usize> {
        Some(narrows_shape::estimate_tokens(text))
    }
}
