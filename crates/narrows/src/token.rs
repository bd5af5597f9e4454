//! New tokens: texts that nobody can guess.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// What the tokens of operators begin with, so that people and scanners of
/// secrets know one when they see it.
pub(crate) const ADMIN_PREFIX: &str = "nra_";

/// 32 random bytes behind a `prefix`, in letters that need no quoting anywhere.
pub(crate) fn new_token(prefix: &str) -> String {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the operating system gives randomness");
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::{ADMIN_PREFIX, new_token};

    #[test]
    fn tokens_are_43_letters_behind_their_prefix_and_never_the_same() {
        let (one, other) = (new_token(ADMIN_PREFIX), new_token(ADMIN_PREFIX));
        let letters = one.strip_prefix("nra_").expect("it has its prefix");
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        assert!(letters.len() == 43 && letters.chars().all(fits));
        assert_ne!(one, other);
    }
}
