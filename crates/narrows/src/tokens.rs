//! How many tokens a text is, for commands that tell what was saved.
//!
//! With the feature `tokens` the count is exact: the vocabulary (o200k, that of
//! today's OpenAI models; others count much the same) is in the program and
//! takes a third of a second to load, so it is loaded when it is needed and not
//! before. Without the feature the count is the estimate that the gateway uses
//! for its own decisions.

#[cfg(feature = "tokens")]
pub(crate) use exact::{LABEL, count};

#[cfg(not(feature = "tokens"))]
pub(crate) use estimated::{LABEL, count};

#[cfg(feature = "tokens")]
mod exact {
    use std::sync::LazyLock;

    use tiktoken_rs::CoreBPE;

    pub(crate) const LABEL: &str = "tokens";

    /// Returns the number of tokens. `None` if the vocabulary cannot be loaded.
    pub(crate) fn count(text: &str) -> Option<usize> {
        static VOCABULARY: LazyLock<Option<CoreBPE>> =
            LazyLock::new(|| tiktoken_rs::o200k_base().ok());
        let vocabulary = VOCABULARY.as_ref()?;
        Some(vocabulary.encode_ordinary(text).len())
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn words_are_counted_as_the_vocabulary_has_them() {
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
