//! The identity behind a request.

use std::sync::Arc;

/// The identity on whose behalf a request is made. Permissions and receipts are bound to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Principal {
    /// The user who started the program and uses it over stdin and stdout.
    Local,
    /// Any client of an endpoint that does not require tokens.
    Anonymous,
    /// The client whose token was sent with the request.
    Client(KnownClient),
}

impl Principal {
    /// Returns the name of a client with a token.
    pub fn name(&self) -> Option<&str> {
        match self {
            Principal::Client(known) => Some(&known.name),
            Principal::Local | Principal::Anonymous => None,
        }
    }
}

/// A client, identified by its token. A different token of the same client is a different
/// principal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KnownClient {
    pub name: Arc<str>,
    /// The number of the client table that introduced the token. It distinguishes successive tokens
    /// of a client.
    pub stamp: u64,
}
