//! Sessions that serve modern requests, kept for the next request of a client of the same kind.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use narrows_policy::Principal;
use narrows_wire::ClientHello;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::Mutex as AsyncMutex;

use crate::session::{ActivityGuard, Session};

/// The time without a request after which a session of the pool ends.
const IDLE: Duration = Duration::from_secs(180);

/// The kind of a client: requests of the same kind may be served by the same session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct PoolKey {
    is_server: bool,
    entrypoint: Box<str>,
    principal: Principal,
    client: [u8; 32],
}

impl PoolKey {
    pub(crate) fn new(
        is_server: bool,
        entrypoint: &str,
        principal: &Principal,
        client: &ClientHello,
    ) -> PoolKey {
        let mut digest = Sha256::new();
        digest.update(client.capabilities.as_bytes());
        digest.update([0]);
        digest.update(client.client_info.as_bytes());
        PoolKey {
            is_server,
            entrypoint: entrypoint.into(),
            principal: principal.clone(),
            client: digest.finalize().into(),
        }
    }
}

/// The use of a session by a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseKind {
    /// Alone, because servers may ask the client, and a question must belong to one request.
    Exclusive,
    /// Together with other requests.
    Shared,
}

/// The pool. Its sessions count toward the limits of sessions.
#[derive(Default)]
pub(crate) struct SessionPool {
    kinds: Mutex<HashMap<PoolKey, PoolEntry>>,
}

#[derive(Default)]
struct PoolEntry {
    sessions: Vec<PooledSession>,
    /// Held while a session is being opened, so that concurrent first requests open only one.
    opening: Arc<AsyncMutex<()>>,
}

struct PooledSession {
    session: Arc<Session>,
    is_leased: Arc<AtomicBool>,
}

/// A session in use by a request. Dropping it returns the session to the pool.
pub(crate) struct SessionLease {
    session: Arc<Session>,
    leased: Option<Arc<AtomicBool>>,
    _active: ActivityGuard,
}

impl SessionLease {
    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Records whether the request waits for answers of its client. Then another client may get the
    /// link of the session, if the request has the session alone.
    pub(crate) fn set_parked(&self, parked: bool) {
        if self.leased.is_some() {
            self.session.set_parked(parked);
        }
    }
}

impl Drop for SessionLease {
    fn drop(&mut self) {
        self.set_parked(false);
        if let Some(leased) = &self.leased {
            leased.store(false, Ordering::Release);
        }
    }
}

impl PooledSession {
    fn lease(&self, kind: LeaseKind, max_calls: usize) -> Option<SessionLease> {
        let leased = match kind {
            LeaseKind::Shared if self.session.calls_in_flight() >= max_calls => return None,
            LeaseKind::Shared => None,
            LeaseKind::Exclusive if self.is_leased.swap(true, Ordering::AcqRel) => return None,
            LeaseKind::Exclusive => Some(self.is_leased.clone()),
        };
        Some(SessionLease {
            session: self.session.clone(),
            leased,
            _active: self.session.keep_active(),
        })
    }
}

impl SessionPool {
    /// Returns a free session of this kind.
    pub(crate) fn lease(
        &self,
        key: &PoolKey,
        kind: LeaseKind,
        max_calls: usize,
    ) -> Option<SessionLease> {
        let mut kinds = self.kinds.lock();
        let entry = kinds.get_mut(key)?;
        entry.sessions.retain(|pooled| !pooled.session.is_closed());
        let mut sessions = entry.sessions.iter();
        sessions.find_map(|pooled| pooled.lease(kind, max_calls))
    }

    /// Returns the lock that is held while a session of this kind is being opened.
    pub(crate) fn opening(&self, key: &PoolKey) -> Arc<AsyncMutex<()>> {
        let mut kinds = self.kinds.lock();
        kinds.entry(key.clone()).or_default().opening.clone()
    }

    /// Adds a session and leases it.
    pub(crate) fn insert(
        &self,
        key: &PoolKey,
        session: Arc<Session>,
        kind: LeaseKind,
    ) -> SessionLease {
        let leased = Arc::new(AtomicBool::new(kind == LeaseKind::Exclusive));
        let lease = SessionLease {
            session: session.clone(),
            leased: (kind == LeaseKind::Exclusive).then(|| leased.clone()),
            _active: session.keep_active(),
        };
        let mut kinds = self.kinds.lock();
        let entry = kinds.entry(key.clone()).or_default();
        entry.sessions.push(PooledSession {
            session,
            is_leased: leased,
        });
        lease
    }

    /// Closes the session without requests that was used least recently, to make room for another.
    /// With `of`, only sessions of this principal are considered.
    pub(crate) fn evict(&self, of: Option<&Principal>) -> bool {
        let mut kinds = self.kinds.lock();
        let all = kinds.iter_mut();
        let fitting = all.filter(|(key, _)| of.is_none_or(|of| key.principal == *of));
        let mut oldest: Option<(Duration, Arc<Session>)> = None;
        for (_, entry) in fitting {
            entry.sessions.retain(|pooled| !pooled.session.is_closed());
            for PooledSession { session, .. } in &entry.sessions {
                let silence = session.silence();
                if session.idle(Duration::ZERO)
                    && oldest
                        .as_ref()
                        .is_none_or(|(longest, _)| silence > *longest)
                {
                    oldest = Some((silence, session.clone()));
                }
            }
        }
        drop(kinds);
        match oldest {
            Some((_, session)) => {
                session.close();
                true
            }
            None => false,
        }
    }

    /// Closes sessions that have not been used for some time, and forgets closed ones.
    pub(crate) fn sweep(&self) {
        let mut idle = Vec::new();
        self.kinds.lock().retain(|_, entry| {
            entry.sessions.retain(|pooled| {
                if pooled.session.idle(IDLE) {
                    idle.push(pooled.session.clone());
                    return false;
                }
                !pooled.session.is_closed()
            });
            // Another reference means that a session is being opened.
            !entry.sessions.is_empty() || Arc::strong_count(&entry.opening) > 1
        });
        idle.iter().for_each(|session| session.close());
    }
}
