//! Digests of tokens, and their comparison.

use sha2::{Digest, Sha256};
use subtle::{ConditionallySelectable, ConstantTimeEq};

use super::settings::TokenDigest;

impl TokenDigest {
    /// Returns the digest of a token.
    pub fn of(token: &str) -> TokenDigest {
        TokenDigest(Sha256::digest(token.as_bytes()).into())
    }

    /// Returns true if the digests are equal. Takes constant time, so that the duration does not
    /// reveal how much of them matches.
    pub fn matches(&self, other: &TokenDigest) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// A digest as words, which compare faster than bytes.
pub(super) struct TokenKey([u64; 4]);

/// Marks a missing position. The number of clients never reaches this value.
const NOWHERE: u32 = u32::MAX;

impl TokenKey {
    pub(super) fn of(digest: &TokenDigest) -> TokenKey {
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(digest.0.chunks_exact(8)) {
            let bytes = bytes.try_into().expect("a chunk of eight is eight bytes");
            *word = u64::from_le_bytes(bytes);
        }
        TokenKey(words)
    }

    /// Returns the position of an equal key. Compares all keys, and no branch depends on their
    /// content, so that the time does not reveal a match.
    pub(super) fn position<'k>(
        &self,
        keys: impl Iterator<Item = Option<&'k TokenKey>>,
    ) -> Option<usize> {
        let mut found = NOWHERE;
        for (at, key) in (0u32..).zip(keys) {
            let Some(key) = key else { continue };
            let differs = self.0.iter().zip(&key.0);
            let differs = differs.fold(0, |differs, (one, other)| differs | (one ^ other));
            found.conditional_assign(&at, differs.ct_eq(&0));
        }
        (found != NOWHERE).then_some(found as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_sha256_of_the_whole_text() {
        // The example in FIPS 180-2.
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let digest = TokenDigest::of("abc");
        assert_eq!(narrows_wire::text::hex(&digest.0), known);
    }

    #[test]
    fn only_the_same_token_matches() {
        let known = TokenDigest::of("nra_one");
        assert!(TokenDigest::of("nra_one").matches(&known));
        for other in ["", "nra_on", "nra_one ", "nra_onE", "nrw_one"] {
            assert!(!TokenDigest::of(other).matches(&known), "{other:?}");
        }
    }
}
