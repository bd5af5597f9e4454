//! The settings of clients.

/// Who may come in, and what for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSettings {
    pub name: String,
    /// What its token comes to. None only for [`ClientSettings::ANONYMOUS`],
    /// which is whoever brings no token from this machine.
    pub token: Option<TokenDigest>,
    pub doors: Doors,
    /// Binds this client besides the preset of the endpoint: what either of
    /// them denies is not to be had.
    pub preset: Option<String>,
    pub rate: Option<Rate>,
    /// Requests in flight, over all of its sessions.
    pub max_calls: Option<usize>,
    pub max_sessions: Option<usize>,
}

impl ClientSettings {
    /// The name of who brings no token.
    pub const ANONYMOUS: &str = "anonymous";

    pub fn named(name: impl Into<String>) -> Self {
        ClientSettings {
            name: name.into(),
            token: None,
            doors: Doors::All,
            preset: None,
            rate: None,
            max_calls: None,
            max_sessions: None,
        }
    }
}

/// The SHA-256 of a token. Tokens are 256 random bits, so a fast digest keeps
/// them: nobody can go through all of them.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenDigest(pub [u8; 32]);

/// Where a client may come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doors {
    All,
    These(Vec<DoorName>),
}

/// One of the ways in, or several of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DoorName {
    /// An endpoint that joins all upstreams, by its name.
    Endpoint(String),
    /// The ways in of one server, by its id: `/servers/{id}` and plain JSON-RPC.
    Server(String),
    /// Those of every server.
    AnyServer,
    /// The pruner's plain JSON-RPC.
    Pruner,
}

/// How often a client may ask: so many at once, and so many a minute.
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
