//! The identity behind a request.

use std::sync::Arc;

/// The party on whose behalf a request is made. Rights and receipts are bound
/// to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Principal {
    /// The user who started the program and speaks to it on stdin and stdout.
    Local,
    /// Any client that reaches the endpoint where no tokens are required.
    Anonymous,
    /// The client whose token came with the request.
    Client(KnownClient),
}

impl Principal {
    /// The name of a client with a token.
    pub fn name(&self) -> Option<&str> {
        match self {
            Principal::Client(known) => Some(&known.name),
            Principal::Local | Principal::Anonymous => None,
        }
    }
}

/// A client, identified by its token: another token of the same client is
/// another principal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KnownClient {
    pub name: Arc<str>,
    /// Counts the tokens that the client had over time.
    pub stamp: u64,
}
