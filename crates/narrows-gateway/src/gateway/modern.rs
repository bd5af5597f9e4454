//! Requests of modern clients: finds or opens the session that serves a request.

use std::sync::Arc;

use narrows_policy::Principal;
use narrows_wire::modern::may_require_input;
use narrows_wire::{ClientHello, Id, Raw, Revision};

use super::{Entrypoint, Gateway, Opened};
use crate::clients::ClientPermit;
use crate::error::Error;
use crate::modern::exchange::{NewExchange, RunningCall};
use crate::modern::parked::ParkedCalls;
use crate::modern::pool::{LeaseKind, PoolKey, SessionLease, SessionPool};
use crate::modern::seal::Binding;
use crate::modern::{ListenStream, ModernExchange, ModernRequest, is_removed};
use crate::session::Lifetime;

/// The number of sessions that are closed to make room for one, because others may take the room.
const EVICTIONS: usize = 8;

/// The state that the gateway keeps for modern clients between their requests.
pub(super) struct ModernClients {
    pool: SessionPool,
    parked: Arc<ParkedCalls<Box<RunningCall>>>,
}

impl Default for ModernClients {
    fn default() -> Self {
        ModernClients {
            pool: SessionPool::default(),
            parked: Arc::new(ParkedCalls::new()),
        }
    }
}

impl ModernClients {
    /// Ends sessions that have not been used for some time.
    pub(super) fn sweep(&self) {
        self.pool.sweep();
    }
}

impl Gateway {
    /// Starts or continues a request of a modern client. Returns `None` if the entry point does not
    /// exist or the client may not use it. `permit` is the client's permit, if it was acquired
    /// before.
    pub async fn exchange(
        &self,
        entrypoint: Entrypoint<'_>,
        principal: &Principal,
        request: ModernRequest,
        permit: Option<ClientPermit>,
    ) -> Option<Result<ModernExchange, Error>> {
        if !self.has_entrypoint(entrypoint) {
            return None;
        }
        if is_removed(&request.method) {
            return Some(Err(Error::UnknownMethod(request.method.into())));
        }
        let modern = &self.0.modern;
        let binding = binding(entrypoint, principal, &request);
        match ModernExchange::resume(&modern.parked, &binding, &request) {
            Ok(None) => {}
            Ok(Some(exchange)) => return Some(Ok(exchange)),
            Err(error) => return Some(Err(error)),
        }
        let client = described(&request.meta.client);
        let asked = may_be_asked(&client, &request.method);
        let lease = self.lease(entrypoint, principal, client.clone(), LeaseKind::Shared);
        let mut lease = match lease.await? {
            Ok(lease) => lease,
            Err(error) => return Some(Err(error)),
        };
        let (method, params) = (&request.method, request.params.as_ref());
        if asked && !lease.session().ties_asks(method, params) {
            let alone = self.lease(entrypoint, principal, client, LeaseKind::Exclusive);
            lease = match alone.await? {
                Ok(lease) => lease,
                Err(error) => return Some(Err(error)),
            };
        }
        let new = NewExchange {
            lease,
            binding,
            parked: modern.parked.clone(),
            permit,
        };
        Some(ModernExchange::start(new, request).await)
    }

    /// Opens a stream of notifications for a modern client.
    pub async fn listen_modern(
        &self,
        entrypoint: Entrypoint<'_>,
        principal: &Principal,
        request: ModernRequest,
        id: Id,
    ) -> Option<Result<ListenStream, Error>> {
        // Nothing can be asked on this stream, so the session needs no links of its own.
        let mut client = described(&request.meta.client);
        client.capabilities = Raw::empty_object();
        let opened = match self.open_modern(entrypoint, principal, client).await? {
            Ok(opened) => opened,
            Err(error) => return Some(Err(error)),
        };
        let params = request.params.as_ref();
        Some(ListenStream::open(opened.session, opened.outbox, id, params).await)
    }

    /// Returns a session for a request.
    async fn lease(
        &self,
        entrypoint: Entrypoint<'_>,
        principal: &Principal,
        client: ClientHello,
        kind: LeaseKind,
    ) -> Option<Result<SessionLease, Error>> {
        let pool = &self.0.modern.pool;
        let (is_server, name) = parts(entrypoint);
        let key = PoolKey::new(is_server, name, principal, &client);
        let max_calls = self.0.services.limits.calls_per_session;
        if let Some(lease) = pool.lease(&key, kind, max_calls) {
            return Some(Ok(lease));
        }
        // Exclusive sessions are needed side by side; of shared ones, one is enough.
        let opening = pool.opening(&key);
        let _opening = match kind {
            LeaseKind::Shared => Some(opening.lock().await),
            LeaseKind::Exclusive => None,
        };
        if let Some(lease) = pool.lease(&key, kind, max_calls) {
            return Some(Ok(lease));
        }
        let opened = self.open_modern(entrypoint, principal, client).await?;
        Some(opened.map(|opened| pool.insert(&key, opened.session, kind)))
    }

    /// Opens a session. If there are too many, an unused one is closed.
    async fn open_modern(
        &self,
        entrypoint: Entrypoint<'_>,
        principal: &Principal,
        client: ClientHello,
    ) -> Option<Result<Opened, Error>> {
        let open = || {
            let revision = Revision::V2026_07_28;
            let (principal, client) = (principal.clone(), client.clone());
            self.open(entrypoint, principal, Lifetime::Idle, revision, client)
        };
        let mut opened = open().await?;
        for _ in 0..EVICTIONS {
            match &opened {
                Err(error) if self.makes_room(error, principal) => opened = open().await?,
                _ => break,
            }
        }
        Some(opened)
    }

    /// Closes an unused session if there were too many. Returns false if nothing could be closed.
    fn makes_room(&self, error: &Error, principal: &Principal) -> bool {
        let pool = &self.0.modern.pool;
        match error {
            Error::TooManySessions(_) => pool.evict(None),
            Error::ClientSessions { .. } => pool.evict(Some(principal)),
            _ => false,
        }
    }
}

fn parts(entrypoint: Entrypoint<'_>) -> (bool, &str) {
    match entrypoint {
        Entrypoint::Endpoint(name) => (false, name),
        Entrypoint::Server(name) => (true, name),
    }
}

fn binding(entrypoint: Entrypoint<'_>, principal: &Principal, request: &ModernRequest) -> Binding {
    let params = request
        .params
        .as_ref()
        .filter(|_| may_require_input(&request.method));
    Binding::new(principal, parts(entrypoint), &request.method, params)
}

/// Returns true if a server may ask the client something during such a request.
fn may_be_asked(client: &ClientHello, method: &str) -> bool {
    let is_local = matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
    );
    !is_local && client.asks().any()
}

/// Returns the client with a name and a version, which servers of earlier revisions require.
fn described(client: &ClientHello) -> ClientHello {
    let mut info = client.client_info.clone();
    for (name, default) in [("name", "unknown"), ("version", "0")] {
        if info.member(name).is_none() {
            info = info.with_member(name, &Raw::string(default));
        }
    }
    ClientHello {
        client_info: info,
        capabilities: client.capabilities.clone(),
    }
}
