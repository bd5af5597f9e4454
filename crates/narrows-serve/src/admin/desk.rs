//! Who may operate the gateway over HTTP.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use narrows_gateway::settings::TokenDigest;
use parking_lot::{RwLock, RwLockReadGuard};

use super::Operations;

#[cfg(test)]
mod tests;

/// Where an operator is asked for a token, and where changes are handed in.
pub struct AdminDesk {
    pub operations: Arc<dyn Operations>,
    /// What is accepted can be changed while the program runs.
    accepted: RwLock<Accepted>,
    /// How long who brings a wrong token waits for the answer.
    pub wrong_token_delay: Duration,
}

struct Accepted {
    /// Any of these.
    tokens: Vec<AdminToken>,
    /// True if others than who is on this machine may come.
    remote: bool,
}

/// A token that is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminToken {
    pub origin: TokenOrigin,
    pub digest: TokenDigest,
}

/// Where a token is from: all that is told of who changed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenOrigin {
    /// It is in the configuration.
    Configured,
    /// It was made when the program started, and ends with it.
    ThisRun,
}

impl AdminDesk {
    /// A desk for who is on this machine. Tokens have so many bits that nobody
    /// guesses one; the delay is for those that are made up by people.
    pub fn new(operations: Arc<dyn Operations>, tokens: Vec<AdminToken>) -> AdminDesk {
        AdminDesk {
            operations,
            accepted: RwLock::new(Accepted {
                tokens,
                remote: false,
            }),
            wrong_token_delay: Duration::from_millis(250),
        }
    }

    /// Puts other tokens in the place of these: one that is not among them
    /// counts no more from now on.
    pub fn accept(&self, tokens: Vec<AdminToken>, remote: bool) {
        let mut accepted = self.accepted.write();
        *accepted = Accepted { tokens, remote };
    }

    /// Returns true if others than who is on this machine may come.
    pub(crate) fn admits_others(&self) -> bool {
        self.accepted().remote
    }

    /// Which token this is, if it is one. Takes as long whichever it is.
    pub fn recognise(&self, given: &str) -> Option<TokenOrigin> {
        let given = TokenDigest::of(given);
        self.accepted().tokens.iter().fold(None, |found, known| {
            let is_this = given.matches(&known.digest);
            if is_this { Some(known.origin) } else { found }
        })
    }
}

impl AdminDesk {
    fn accepted(&self) -> RwLockReadGuard<'_, Accepted> {
        self.accepted.read()
    }
}

impl TokenOrigin {
    /// For the log.
    pub(crate) fn word(self) -> &'static str {
        match self {
            TokenOrigin::Configured => "the configured token",
            TokenOrigin::ThisRun => "the token of this run",
        }
    }
}

impl fmt::Debug for AdminDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminDesk")
            .field("tokens", &self.accepted().tokens.len())
            .field("remote", &self.accepted().remote)
            .finish_non_exhaustive()
    }
}
