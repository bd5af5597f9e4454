//! An exact count of tokens, for commands that tell what was saved.
//!
//! The vocabulary (o200k, that of today's OpenAI models; others count much the
//! same) is in the program and takes a third of a second to load, so it is
//! loaded when somebody asks for it and not before.

use std::sync::LazyLock;

use tiktoken_rs::CoreBPE;

/// How many tokens a text is. `None` if the vocabulary cannot be loaded.
pub(crate) fn count(text: &str) -> Option<usize> {
    static VOCABULARY: LazyLock<Option<CoreBPE>> = LazyLock::new(|| tiktoken_rs::o200k_base().ok());
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
