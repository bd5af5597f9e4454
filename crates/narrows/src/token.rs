//! Creates random tokens.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The number of random bytes in a token. 256 bits cannot be guessed.
const BYTES: usize = 32;

/// The kind of a token. Its prefix lets users and secret scanners recognise a token in the wrong
/// place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Client,
    Admin,
}

/// Creates a token of characters that never need quoting.
pub(crate) fn new_token(kind: TokenKind) -> String {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).expect("the operating system gives randomness");
    let prefix = match kind {
        TokenKind::Client => "nrw_",
        TokenKind::Admin => "nra_",
    };
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::{TokenKind, new_token};

    #[test]
    fn tokens_are_unique_with_prefix_and_43_characters() {
        for (kind, prefix) in [(TokenKind::Client, "nrw_"), (TokenKind::Admin, "nra_")] {
            let (one, other) = (new_token(kind), new_token(kind));
            let letters = one.strip_prefix(prefix).expect("it has its prefix");
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            assert!(letters.len() == 43 && letters.chars().all(fits));
            assert_ne!(one, other);
        }
    }
}
