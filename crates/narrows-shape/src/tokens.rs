//! How many tokens a text costs, without a tokenizer.

/// An estimate for tool lists and results: JSON and English come to about four
/// bytes a token with the tokenizers of today's models. Rounded up, so that a
/// text that is there never counts as nothing.
pub fn estimate_tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::estimate_tokens;

    #[test]
    fn a_short_text_costs_at_least_one_token() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens("a"), 1);
        assert_eq!(estimate_tokens("abcd"), 1);
        assert_eq!(estimate_tokens("abcde"), 2);
    }
}
