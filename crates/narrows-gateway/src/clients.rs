//! Authentication of clients by their tokens, their rights and their limits.
//!
//! The table of clients is an immutable snapshot that is replaced as a whole. The usage of a client
//! (its bucket, calls and sessions) is stored separately and survives a replacement. Requests of
//! principals without a client touch neither. Requests of clients take no lock: they cost a hash, a
//! comparison with every digest, and a few atomics.
//!
//! # Protection against guessing
//!
//! Tokens are 256 random bits, so they cannot be guessed at any speed. Wrong tokens can still cost
//! work and log lines, and response times could reveal something about a correct token. Hence:
//!
//! - A token is hashed, and its digest is compared with those of all clients in constant time
//!   without an early exit. The response time reveals neither how much of a token was right nor
//!   whose it was. A token over the maximum length is refused without being hashed.
//! - A correct token is always accepted immediately, regardless of other requests from the same
//!   address. All clients on loopback or behind one router share an address, and a client that
//!   sends wrong tokens must not lock out the others. So the comparison is always made, and only
//!   the response to wrong tokens changes.
//! - The first wrong tokens of an address are refused immediately, so that a user with a wrong
//!   token sees the error. After that, one wrong token per interval is refused, after a pause, and
//!   all others immediately get an error with a retry time. The interval doubles up to a minute.
//!   The same holds for all addresses together, against clients with many addresses. Refusals that
//!   are held back keep their connections open, so their number is limited. Details are in
//!   `auth_throttle`.
//! - The rate of log messages is limited, and they contain no part of the token.
//!
//! The entry points are [`Clients::identify`] and [`Clients::permit`].

mod auth_throttle;
mod bucket;
mod digest;
mod settings;
#[cfg(test)]
mod tests;
mod usage;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use narrows_policy::{KnownClient, Principal};
use tokio::time::{Instant, sleep};

use self::auth_throttle::{AuthThrottle, HOLD, ThrottleDecision};
use self::digest::TokenKey;
pub use self::settings::{AllowedEntrypoints, ClientSettings, EntrypointName, Rate, TokenDigest};
pub use self::usage::ClientPermit;
pub(crate) use self::usage::SessionPermit;
use self::usage::Usage;
use crate::error::Error;
use crate::meter::{Meter, RefusedFor};

use narrows_upstream::memory::{ClientMemory, Memory};

/// The maximum length of a token, far above the length of real ones.
const MAX_TOKEN: usize = 512;

/// The origin of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddress {
    pub address: IpAddr,
    /// True if the request was made on this machine. A loopback address is not sufficient: a local
    /// proxy has one too and forwards requests from others.
    pub is_local: bool,
}

/// The reasons why a client could not be identified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentifyError {
    /// The request has no token but needs one.
    Missing,
    /// No client has this token.
    Wrong,
    /// No client has this token, and the address has sent too many wrong tokens before.
    Throttled { after: Duration },
}

/// The settings and usage of a client, for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientReport {
    pub name: String,
    pub has_token: bool,
    pub entrypoints: AllowedEntrypoints,
    pub preset: Option<String>,
    pub rate: Option<Rate>,
    pub max_calls: Option<usize>,
    pub max_sessions: Option<usize>,
    pub sessions: usize,
    pub calls_in_flight: usize,
    /// The number of requests admitted since the start.
    pub calls: u64,
    /// The number of requests and sessions that the client's limits refused since the start.
    pub refused: u64,
}

/// The table of clients.
pub(crate) struct Clients {
    table: ArcSwap<ClientTable>,
    auth_throttle: AuthThrottle,
    /// The start of time for the buckets.
    epoch: Instant,
    meter: Arc<Meter>,
    /// The number of times that the table was replaced.
    replaced: AtomicU64,
}

#[derive(Default)]
struct ClientTable {
    clients: Vec<Arc<ClientEntry>>,
    by_name: HashMap<Arc<str>, Arc<ClientEntry>>,
}

struct ClientEntry {
    name: Arc<str>,
    /// The number of the table in which the client got its current token.
    stamp: u64,
    settings: ClientSettings,
    key: Option<TokenKey>,
    usage: Arc<Usage>,
}

impl Clients {
    pub(crate) fn new(settings: &[ClientSettings], meter: &Arc<Meter>) -> Clients {
        let clients = Clients {
            table: ArcSwap::default(),
            auth_throttle: AuthThrottle::default(),
            epoch: Instant::now(),
            meter: meter.clone(),
            replaced: AtomicU64::new(0),
        };
        clients.replace(settings);
        clients
    }

    /// Replaces all clients. The usage of a client with an unchanged name is kept. Principals that
    /// were identified by a replaced token lose their rights.
    pub(crate) fn replace(&self, settings: &[ClientSettings]) {
        let stamp = self.replaced.fetch_add(1, Ordering::Relaxed) + 1;
        let new = ClientTable::new(settings, &self.table.load(), stamp);
        self.table.store(Arc::new(new));
    }

    /// Returns the client with this token. A refusal may be delayed.
    pub(crate) async fn identify(
        &self,
        token: Option<&str>,
        peer: PeerAddress,
    ) -> Result<Principal, IdentifyError> {
        let table = self.table.load();
        if table.clients.is_empty() {
            return Ok(Principal::Anonymous);
        }
        let found = match token {
            Some(token) => table.find(token).ok_or(IdentifyError::Wrong),
            None => table.anonymous(peer).ok_or(IdentifyError::Missing),
        };
        let found = found.map(|client| Principal::Client(client.known()));
        // Dropped before the delay below.
        drop(table);
        if found != Err(IdentifyError::Wrong) {
            return found;
        }
        self.meter.refused(RefusedFor::Token);
        match self.auth_throttle.record_failure(peer.address) {
            ThrottleDecision::RefuseNow => Err(IdentifyError::Wrong),
            ThrottleDecision::RefuseDelayed(_place) => {
                // Boxed because the delay is rare.
                Box::pin(sleep(HOLD)).await;
                Err(IdentifyError::Wrong)
            }
            ThrottleDecision::Refused { after } => Err(IdentifyError::Throttled { after }),
        }
    }

    /// Returns true if the rights of a principal include `asked`. Principals that are not in the
    /// table have no rights. If the table is empty, everyone has all rights.
    pub(crate) fn may(
        &self,
        principal: &Principal,
        asked: impl FnOnce(&AllowedEntrypoints) -> bool,
    ) -> bool {
        let table = self.table.load();
        match principal {
            Principal::Local => true,
            Principal::Anonymous => table.clients.is_empty(),
            Principal::Client(known) => table
                .known(known)
                .is_some_and(|client| asked(&client.settings.entrypoints)),
        }
    }

    /// Permits one request, which counts as in flight while the permit is held.
    pub(crate) fn permit(&self, principal: &Principal) -> Result<ClientPermit, Error> {
        let Some(client) = self.client(principal)? else {
            return Ok(ClientPermit::free());
        };
        let refused = || {
            self.meter.refused(RefusedFor::Concurrency);
            Error::ClientBusy {
                client: client.settings.name.clone(),
                max: client.settings.max_calls.unwrap_or(usize::MAX),
            }
        };
        let permit = client.usage.start_call(client.settings.max_calls);
        let permit = permit.ok_or_else(refused)?;
        self.take_turn(&client)?;
        Ok(permit)
    }

    /// Returns the memory account of the client behind a principal. `None` if there is no such
    /// client.
    pub(crate) fn memory(&self, principal: &Principal, all: &Memory) -> Option<ClientMemory> {
        let client = self.client(principal).ok()??;
        Some(client.usage.memory(all))
    }

    /// Permits one request that is answered immediately.
    pub(crate) fn pass(&self, principal: &Principal) -> Result<(), Error> {
        match self.client(principal)? {
            Some(client) => self.take_turn(&client),
            None => Ok(()),
        }
    }

    /// Permits one session, until the seat is dropped. If there are other clients, a client without
    /// its own limit gets at most half of the gateway's `max_sessions`, so that it cannot use up
    /// all of them.
    pub(crate) fn session_permit(
        &self,
        principal: &Principal,
        max_sessions: usize,
    ) -> Result<SessionPermit, Error> {
        let Some(client) = self.client(principal)? else {
            return Ok(SessionPermit::free());
        };
        let has_others = self.table.load().clients.len() > 1;
        let share = has_others.then_some(max_sessions.div_ceil(2));
        let max = client.settings.max_sessions.or(share);
        let session_permit = client.usage.start_session(max);
        session_permit.ok_or_else(|| {
            self.meter.refused(RefusedFor::Sessions);
            Error::ClientSessions {
                client: client.settings.name.clone(),
                max: max.unwrap_or(usize::MAX),
            }
        })
    }

    pub(crate) fn report(&self) -> Vec<ClientReport> {
        let table = self.table.load();
        table.clients.iter().map(|client| client.report()).collect()
    }

    /// Returns the client behind a principal, or `None` if the principal has no limits. Returns an
    /// error for a client that was removed from the table, because its sessions have ended.
    fn client(&self, principal: &Principal) -> Result<Option<Arc<ClientEntry>>, Error> {
        let Principal::Client(known) = principal else {
            return Ok(None);
        };
        let table = self.table.load();
        let client = table.known(known).ok_or(Error::SessionClosed)?;
        Ok(Some(client.clone()))
    }

    fn take_turn(&self, client: &ClientEntry) -> Result<(), Error> {
        let Some(rate) = client.settings.rate else {
            client.usage.count_call();
            return Ok(());
        };
        let now = self.epoch.elapsed();
        let taken = client.usage.take_turn(rate, now);
        taken.map_err(|after| {
            self.meter.refused(RefusedFor::Rate);
            Error::RateLimited {
                client: client.settings.name.clone(),
                per_minute: rate.per_minute,
                after,
            }
        })
    }
}

impl ClientTable {
    fn new(settings: &[ClientSettings], old: &ClientTable, stamp: u64) -> ClientTable {
        let mut table = ClientTable::default();
        for settings in settings {
            let name: Arc<str> = settings.name.as_str().into();
            let before = old.by_name.get(&name);
            let same = before.filter(|before| before.settings.token == settings.token);
            let client = Arc::new(ClientEntry {
                settings: settings.clone(),
                key: settings.token.as_ref().map(TokenKey::of),
                usage: before.map_or_else(Arc::default, |before| before.usage.clone()),
                name: name.clone(),
                stamp: same.map_or(stamp, |before| before.stamp),
            });
            table.by_name.insert(name, client.clone());
            table.clients.push(client);
        }
        table
    }

    /// Returns a client if its token is still the one that identified it.
    fn known(&self, known: &KnownClient) -> Option<&Arc<ClientEntry>> {
        let client = self.by_name.get(&known.name)?;
        (client.stamp == known.stamp).then_some(client)
    }

    fn find(&self, token: &str) -> Option<&Arc<ClientEntry>> {
        // An empty token is refused even if its digest is configured.
        if token.is_empty() || token.len() > MAX_TOKEN {
            return None;
        }
        let key = TokenKey::of(&TokenDigest::of(token));
        let keys = self.clients.iter().map(|client| client.key.as_ref());
        self.clients.get(key.position(keys)?)
    }

    fn anonymous(&self, peer: PeerAddress) -> Option<&Arc<ClientEntry>> {
        let client = self.by_name.get(ClientSettings::ANONYMOUS)?;
        (peer.is_local && client.key.is_none()).then_some(client)
    }
}

impl ClientEntry {
    fn known(&self) -> KnownClient {
        KnownClient {
            name: self.name.clone(),
            stamp: self.stamp,
        }
    }

    fn report(&self) -> ClientReport {
        let ClientSettings {
            name,
            token,
            entrypoints,
            preset,
            rate,
            max_calls,
            max_sessions,
        } = self.settings.clone();
        ClientReport {
            name,
            has_token: token.is_some(),
            entrypoints,
            preset,
            rate,
            max_calls,
            max_sessions,
            sessions: self.usage.sessions(),
            calls_in_flight: self.usage.calls_in_flight(),
            calls: self.usage.calls(),
            refused: self.usage.refused(),
        }
    }
}

impl AllowedEntrypoints {
    /// Returns true if the endpoint of this name is included.
    pub(crate) fn has_endpoint(&self, name: &str) -> bool {
        self.any(|entrypoint| matches!(entrypoint, EntrypointName::Endpoint(own) if own == name))
    }

    /// Returns true if the entry points of the server with this id are included.
    pub(crate) fn has_server(&self, id: &str) -> bool {
        self.any(|entrypoint| match entrypoint {
            EntrypointName::Server(own) => own == id,
            EntrypointName::AnyServer => true,
            EntrypointName::Endpoint(_) | EntrypointName::Pruner => false,
        })
    }

    pub(crate) fn has_pruner(&self) -> bool {
        self.any(|entrypoint| *entrypoint == EntrypointName::Pruner)
    }

    fn any(&self, wanted: impl Fn(&EntrypointName) -> bool) -> bool {
        match self {
            AllowedEntrypoints::All => true,
            AllowedEntrypoints::These(entrypoints) => entrypoints.iter().any(wanted),
        }
    }
}
