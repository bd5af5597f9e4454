//! Who may come in: clients by their tokens, their rights and their limits.
//!
//! The table of clients is an immutable snapshot that is replaced as a whole;
//! what a client has in use (its bucket, its calls and sessions) is apart from
//! it and outlives a replacement. A request of a principal without a client
//! touches neither, and one of a client takes no lock: a hash, a comparison
//! with every digest, and a few atomics.
//!
//! # What slows down somebody who guesses
//!
//! Tokens are 256 random bits, so nobody finds one by trying, at whatever
//! speed. What wrong tokens can cost is work, lines in the log, and, through
//! the time that an answer takes, knowledge about a right one. Hence:
//!
//! - A token is hashed, and its digest is compared with those of all clients
//!   in constant time without an early end. The time of an answer tells
//!   neither how much of a token was right nor whose it was. What is longer
//!   than any token is wrong without being hashed.
//! - A right token is always let in, at once, whatever else came from the same
//!   address: on loopback and behind one router everybody shares an address,
//!   and who can send wrong tokens there must not lock the others out. So the
//!   comparison is always made, and only the answer to wrong ones changes.
//! - The first wrong tokens of an address are refused at once, so that a
//!   person who errs sees it. Then one of them in a while is refused, and only
//!   after a pause, and all others are told at once to come back later; the
//!   while doubles up to a minute. The same holds for all addresses together,
//!   for who has many. Refusals that are held back keep their connections, so
//!   their number is bounded. Details are in `strikes`.
//! - What is logged is bounded in time, and holds nothing of the token.
//!
//! Enter at [`Clients::identify`] and [`Clients::permit`].

mod bucket;
mod digest;
mod settings;
mod strikes;
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

use self::digest::Key;
pub use self::settings::{ClientSettings, DoorName, Doors, Rate, TokenDigest};
use self::strikes::{HOLD, Strikes, Verdict};
pub use self::usage::ClientPermit;
pub(crate) use self::usage::ClientSeat;
use self::usage::Usage;
use crate::error::Error;
use crate::meter::{Meter, RefusedFor};

use narrows_upstream::memory::{ClientMemory, Memory};

/// No token is nearly as long.
const MAX_TOKEN: usize = 512;

/// Where a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    pub address: IpAddr,
    /// True if it was made on this machine. That takes more than an address of
    /// loopback: a proxy on this machine has one, too, and speaks for others.
    pub from_here: bool,
}

/// Why it is not known who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unidentified {
    /// There is no token, and one is needed.
    Missing,
    /// The token is nobody's.
    Wrong,
    /// The token is nobody's, like too many before it.
    Throttled { after: Duration },
}

/// One client, for who operates the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientReport {
    pub name: String,
    pub has_token: bool,
    pub doors: Doors,
    pub preset: Option<String>,
    pub rate: Option<Rate>,
    pub max_calls: Option<usize>,
    pub max_sessions: Option<usize>,
    pub sessions: usize,
    pub calls_in_flight: usize,
    /// Requests that were let through since the start.
    pub calls: u64,
    /// Requests and sessions that its limits refused since the start.
    pub refused: u64,
}

/// The table of clients.
pub(crate) struct Clients {
    table: ArcSwap<Table>,
    strikes: Strikes,
    /// What buckets count their time from.
    epoch: Instant,
    meter: Arc<Meter>,
    /// How often the table was replaced.
    replaced: AtomicU64,
}

#[derive(Default)]
struct Table {
    clients: Vec<Arc<Client>>,
    by_name: HashMap<Arc<str>, Arc<Client>>,
}

struct Client {
    name: Arc<str>,
    /// When its token became this one.
    stamp: u64,
    settings: ClientSettings,
    key: Option<Key>,
    usage: Arc<Usage>,
}

impl Clients {
    pub(crate) fn new(settings: &[ClientSettings], meter: &Arc<Meter>) -> Clients {
        let clients = Clients {
            table: ArcSwap::default(),
            strikes: Strikes::default(),
            epoch: Instant::now(),
            meter: meter.clone(),
            replaced: AtomicU64::new(0),
        };
        clients.replace(settings);
        clients
    }

    /// Puts other clients in the place of these. What a client of the same
    /// name has in use stays; who brought a token that counts no more is nobody
    /// from now on.
    pub(crate) fn replace(&self, settings: &[ClientSettings]) {
        let stamp = self.replaced.fetch_add(1, Ordering::Relaxed) + 1;
        let new = Table::new(settings, &self.table.load(), stamp);
        self.table.store(Arc::new(new));
    }

    /// Who brings this token. May take a while to say that nobody does.
    pub(crate) async fn identify(
        &self,
        token: Option<&str>,
        peer: Peer,
    ) -> Result<Principal, Unidentified> {
        let table = self.table.load();
        if table.clients.is_empty() {
            return Ok(Principal::Anonymous);
        }
        let found = match token {
            Some(token) => table.find(token).ok_or(Unidentified::Wrong),
            None => table.anonymous(peer).ok_or(Unidentified::Missing),
        };
        let found = found.map(|client| Principal::Client(client.known()));
        // Not held while somebody waits.
        drop(table);
        if found != Err(Unidentified::Wrong) {
            return found;
        }
        self.meter.refused(RefusedFor::Token);
        match self.strikes.strike(peer.address) {
            Verdict::AtOnce => Err(Unidentified::Wrong),
            Verdict::Held(_place) => {
                // Boxed: hardly anybody needs the room.
                Box::pin(sleep(HOLD)).await;
                Err(Unidentified::Wrong)
            }
            Verdict::Refused { after } => Err(Unidentified::Throttled { after }),
        }
    }

    /// Returns true if `asked` is among the rights of a principal. Nobody who
    /// is not in the table has any, and where there is no table everybody has
    /// all.
    pub(crate) fn may(&self, principal: &Principal, asked: impl FnOnce(&Doors) -> bool) -> bool {
        let table = self.table.load();
        match principal {
            Principal::Local => true,
            Principal::Anonymous => table.clients.is_empty(),
            Principal::Client(known) => table
                .known(known)
                .is_some_and(|client| asked(&client.settings.doors)),
        }
    }

    /// Leave for one request, which counts as in flight as long as the permit is held.
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

    /// The memory that the client behind a principal holds; `None` where there is none.
    pub(crate) fn memory(&self, principal: &Principal, all: &Memory) -> Option<ClientMemory> {
        let client = self.client(principal).ok()??;
        Some(client.usage.memory(all))
    }

    /// Leave for one request that is answered in no time.
    pub(crate) fn pass(&self, principal: &Principal) -> Result<(), Error> {
        match self.client(principal)? {
            Some(client) => self.take_turn(&client),
            None => Ok(()),
        }
    }

    /// Leave for one session, until the seat is dropped. A client without a
    /// limit of its own has at most half of the gateway's `max_sessions` where
    /// there are others, so that it cannot take all of them.
    pub(crate) fn seat(
        &self,
        principal: &Principal,
        max_sessions: usize,
    ) -> Result<ClientSeat, Error> {
        let Some(client) = self.client(principal)? else {
            return Ok(ClientSeat::free());
        };
        let has_others = self.table.load().clients.len() > 1;
        let share = has_others.then_some(max_sessions.div_ceil(2));
        let max = client.settings.max_sessions.or(share);
        let seat = client.usage.start_session(max);
        seat.ok_or_else(|| {
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

    /// The client behind a principal; `None` where nothing is limited. One
    /// that has left the table has no session any more.
    fn client(&self, principal: &Principal) -> Result<Option<Arc<Client>>, Error> {
        let Principal::Client(known) = principal else {
            return Ok(None);
        };
        let table = self.table.load();
        let client = table.known(known).ok_or(Error::SessionClosed)?;
        Ok(Some(client.clone()))
    }

    fn take_turn(&self, client: &Client) -> Result<(), Error> {
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

impl Table {
    fn new(settings: &[ClientSettings], old: &Table, stamp: u64) -> Table {
        let mut table = Table::default();
        for settings in settings {
            let name: Arc<str> = settings.name.as_str().into();
            let before = old.by_name.get(&name);
            let same = before.filter(|before| before.settings.token == settings.token);
            let client = Arc::new(Client {
                settings: settings.clone(),
                key: settings.token.as_ref().map(Key::of),
                usage: before.map_or_else(Arc::default, |before| before.usage.clone()),
                name: name.clone(),
                stamp: same.map_or(stamp, |before| before.stamp),
            });
            table.by_name.insert(name, client.clone());
            table.clients.push(client);
        }
        table
    }

    /// A client that came with the token that it has now.
    fn known(&self, known: &KnownClient) -> Option<&Arc<Client>> {
        let client = self.by_name.get(&known.name)?;
        (client.stamp == known.stamp).then_some(client)
    }

    fn find(&self, token: &str) -> Option<&Arc<Client>> {
        // Nobody's token is nothing, even if its digest is among them.
        if token.is_empty() || token.len() > MAX_TOKEN {
            return None;
        }
        let key = Key::of(&TokenDigest::of(token));
        let keys = self.clients.iter().map(|client| client.key.as_ref());
        self.clients.get(key.position(keys)?)
    }

    fn anonymous(&self, peer: Peer) -> Option<&Arc<Client>> {
        let client = self.by_name.get(ClientSettings::ANONYMOUS)?;
        (peer.from_here && client.key.is_none()).then_some(client)
    }
}

impl Client {
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
            doors,
            preset,
            rate,
            max_calls,
            max_sessions,
        } = self.settings.clone();
        ClientReport {
            name,
            has_token: token.is_some(),
            doors,
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

impl Doors {
    /// Returns true if the endpoint of this name is among them.
    pub(crate) fn has_endpoint(&self, name: &str) -> bool {
        self.any(|door| matches!(door, DoorName::Endpoint(own) if own == name))
    }

    /// Returns true if those of the server of this id are among them.
    pub(crate) fn has_server(&self, id: &str) -> bool {
        self.any(|door| match door {
            DoorName::Server(own) => own == id,
            DoorName::AnyServer => true,
            DoorName::Endpoint(_) | DoorName::Pruner => false,
        })
    }

    pub(crate) fn has_pruner(&self) -> bool {
        self.any(|door| *door == DoorName::Pruner)
    }

    fn any(&self, wanted: impl Fn(&DoorName) -> bool) -> bool {
        match self {
            Doors::All => true,
            Doors::These(doors) => doors.iter().any(wanted),
        }
    }
}
