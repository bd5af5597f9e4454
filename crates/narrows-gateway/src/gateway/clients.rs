//! Authentication and access checks for the edges.

use narrows_policy::Principal;

use super::{Entrypoint, Gateway, Inner};
use crate::clients::{ClientPermit, ClientReport, IdentifyError, PeerAddress};
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::settings::ClientSettings;

impl Gateway {
    /// Identifies a client by its token. Without configured clients, returns
    /// [`Principal::Anonymous`] for any token. The refusal of a wrong token may be delayed.
    pub async fn identify(
        &self,
        token: Option<&str>,
        peer: PeerAddress,
    ) -> Result<Principal, IdentifyError> {
        self.0.services.clients.identify(token, peer).await
    }

    /// Returns true if the principal may use the endpoint. Does not check that the endpoint exists.
    /// [`Principal::Anonymous`] has all rights while no clients are configured, and otherwise none.
    pub fn may_enter(&self, principal: &Principal, entrypoint: Entrypoint<'_>) -> bool {
        self.0.may_enter(principal, entrypoint)
    }

    /// Returns true if the principal may use plain JSON-RPC to a server, by any name that this
    /// route accepts.
    pub fn may_forward(&self, principal: &Principal, server: &str) -> bool {
        self.0.services.clients.may(principal, |entrypoints| {
            let id = self.0.config().plain_routes.id_of(server);
            entrypoints.has_server(id.as_deref().unwrap_or(server))
        })
    }

    /// Returns true if the principal may use the plain JSON-RPC of the pruner.
    pub fn may_prune(&self, principal: &Principal) -> bool {
        self.0
            .services
            .clients
            .may(principal, |entrypoints| entrypoints.has_pruner())
    }

    /// Permits one request outside sessions, within the limits of its client.
    pub fn permit(&self, principal: &Principal) -> Result<ClientPermit, Error> {
        self.0.services.clients.permit(principal)
    }

    /// Replaces the clients, and ends the sessions of clients that no longer have access: a
    /// connection must not outlive the token that opened it. Returns the names of clients that were
    /// added, removed or changed.
    pub fn replace_clients(&self, settings: &[ClientSettings]) -> Vec<String> {
        let mut all = self.0.config().settings.clone();
        all.clients = settings.to_vec();
        self.apply(all).clients
    }

    /// Returns all clients, in the order of the configuration.
    pub fn clients(&self) -> Vec<ClientReport> {
        self.0.services.clients.report()
    }
}

impl Inner {
    pub(crate) fn may_enter(&self, principal: &Principal, entrypoint: Entrypoint<'_>) -> bool {
        self.services
            .clients
            .may(principal, |entrypoints| match entrypoint {
                Entrypoint::Endpoint(name) => entrypoints.has_endpoint(name),
                // Rights refer to ids, but clients may also use slugs.
                Entrypoint::Server(name) => match self.config().endpoint(entrypoint) {
                    Some(endpoint) => entrypoints.has_server(&endpoint.name),
                    None => entrypoints.has_server(name),
                },
            })
    }
}

impl Endpoint {
    /// Returns the entry point of the endpoint.
    pub(crate) fn entrypoint(&self) -> Entrypoint<'_> {
        match self.single {
            false => Entrypoint::Endpoint(&self.name),
            true => Entrypoint::Server(&self.name),
        }
    }
}
