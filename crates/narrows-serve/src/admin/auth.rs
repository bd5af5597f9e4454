//! Authentication for the admin API.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use narrows_gateway::settings::TokenDigest;
use parking_lot::{RwLock, RwLockReadGuard};

use super::Operations;

#[cfg(test)]
mod tests;

/// The admin tokens that are accepted, and the [`Operations`] that execute changes.
pub struct AdminAuth {
    pub operations: Arc<dyn Operations>,
    /// Replaced when the configuration changes.
    accepted: RwLock<Accepted>,
    /// The delay before a request with a wrong token is answered.
    pub wrong_token_delay: Duration,
}

struct Accepted {
    tokens: Vec<AdminToken>,
    /// True if clients on other machines may connect.
    remote: bool,
}

/// An accepted admin token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminToken {
    pub origin: TokenOrigin,
    pub digest: TokenDigest,
}

/// The origin of a token. The log names only the origin of a change, never the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenOrigin {
    /// Set in the configuration.
    Configured,
    /// Created at start, and valid until the program ends.
    ThisRun,
}

impl AdminAuth {
    /// Creates an `AdminAuth` that accepts only clients on this machine. Generated tokens have too
    /// many bits to guess; the delay protects tokens that people have made up.
    pub fn new(operations: Arc<dyn Operations>, tokens: Vec<AdminToken>) -> AdminAuth {
        AdminAuth {
            operations,
            accepted: RwLock::new(Accepted {
                tokens,
                remote: false,
            }),
            wrong_token_delay: Duration::from_millis(250),
        }
    }

    /// Replaces the accepted tokens. Tokens that are not in `tokens` stop working at once.
    pub fn accept(&self, tokens: Vec<AdminToken>, remote: bool) {
        let mut accepted = self.accepted.write();
        *accepted = Accepted { tokens, remote };
    }

    /// Returns true if clients on other machines may connect.
    pub(crate) fn admits_others(&self) -> bool {
        self.accepted().remote
    }

    /// Returns the origin of a token, or `None` if the token is not accepted. Compares with every
    /// token, so that the time does not depend on which one matches.
    pub fn recognise(&self, given: &str) -> Option<TokenOrigin> {
        let given = TokenDigest::of(given);
        self.accepted().tokens.iter().fold(None, |found, known| {
            let is_this = given.matches(&known.digest);
            if is_this { Some(known.origin) } else { found }
        })
    }
}

impl AdminAuth {
    fn accepted(&self) -> RwLockReadGuard<'_, Accepted> {
        self.accepted.read()
    }
}

impl TokenOrigin {
    /// Returns the name of the origin for the log.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            TokenOrigin::Configured => "the configured token",
            TokenOrigin::ThisRun => "the token of this run",
        }
    }
}

impl fmt::Debug for AdminAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminAuth")
            .field("tokens", &self.accepted().tokens.len())
            .field("remote", &self.accepted().remote)
            .finish_non_exhaustive()
    }
}
