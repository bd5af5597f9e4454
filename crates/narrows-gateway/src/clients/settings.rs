//! The settings of clients.

/// A client, with its rights and its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSettings {
    pub name: String,
    /// The digest of its token. `None` only for [`ClientSettings::ANONYMOUS`], the client for local
    /// requests without a token.
    pub token: Option<TokenDigest>,
    pub entrypoints: AllowedEntrypoints,
    /// The preset of this client, in addition to the preset of the endpoint: both must allow an
    /// item.
    pub preset: Option<String>,
    pub rate: Option<Rate>,
    /// The maximum number of requests in flight, over all sessions of the client.
    pub max_calls: Option<usize>,
    pub max_sessions: Option<usize>,
}

impl ClientSettings {
    /// The name of the client for requests without a token.
    pub const ANONYMOUS: &str = "anonymous";

    pub fn named(name: impl Into<String>) -> Self {
        ClientSettings {
            name: name.into(),
            token: None,
            entrypoints: AllowedEntrypoints::All,
            preset: None,
            rate: None,
            max_calls: None,
            max_sessions: None,
        }
    }
}

/// The SHA-256 of a token. A fast digest is sufficient because tokens are 256 random bits and
/// cannot be guessed.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenDigest(pub [u8; 32]);

/// The entry points that a client may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowedEntrypoints {
    All,
    These(Vec<EntrypointName>),
}

/// An entry point, or all entry points of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntrypointName {
    /// An endpoint that joins all upstreams, by its name.
    Endpoint(String),
    /// The entry points of one server, by its id: `/servers/{id}` and plain JSON-RPC.
    Server(String),
    /// The entry points of every server.
    AnyServer,
    /// The plain JSON-RPC entry point of the pruner.
    Pruner,
}

/// A rate limit: requests per minute, and the size of a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub per_minute: u32,
    pub burst: u32,
}

impl std::fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenDigest")
    }
}
