//! Who comes in, as the edges ask for it.

use narrows_policy::Principal;

use super::{Door, Gateway, Inner};
use crate::clients::{ClientPermit, ClientReport, Peer, Unidentified};
use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::settings::ClientSettings;

impl Gateway {
    /// Who brings this token, or none. Where there are no clients it is
    /// [`Principal::Anonymous`], whatever is brought. A wrong token may be
    /// held back for a moment before it is refused.
    pub async fn identify(
        &self,
        token: Option<&str>,
        peer: Peer,
    ) -> Result<Principal, Unidentified> {
        self.0.services.clients.identify(token, peer).await
    }

    /// Whether a door is among the rights of a principal. That says nothing of
    /// whether there is such a door. [`Principal::Anonymous`] has every right
    /// as long as there are no clients, and then none.
    pub fn may_enter(&self, principal: &Principal, door: Door<'_>) -> bool {
        self.0.may_enter(principal, door)
    }

    /// The same for plain JSON-RPC to a server, by any name that this route takes.
    pub fn may_forward(&self, principal: &Principal, server: &str) -> bool {
        self.0.services.clients.may(principal, |doors| {
            let id = self.0.config().plain_routes.id_of(server);
            doors.has_server(id.as_deref().unwrap_or(server))
        })
    }

    /// The same for the pruner's plain JSON-RPC.
    pub fn may_prune(&self, principal: &Principal) -> bool {
        self.0
            .services
            .clients
            .may(principal, |doors| doors.has_pruner())
    }

    /// Leave for one request outside of sessions, within the limits of its client.
    pub fn permit(&self, principal: &Principal) -> Result<ClientPermit, Error> {
        self.0.services.clients.permit(principal)
    }

    /// Takes up other clients, and ends the sessions of those who would not
    /// get in any more: a token that was taken back must not go on to be used
    /// by a connection that it opened. The names of clients that are new, gone
    /// or changed come back.
    pub fn replace_clients(&self, settings: &[ClientSettings]) -> Vec<String> {
        let mut all = self.0.config().settings.clone();
        all.clients = settings.to_vec();
        self.apply(all).clients
    }

    /// Every client, in the order of the configuration.
    pub fn clients(&self) -> Vec<ClientReport> {
        self.0.services.clients.report()
    }
}

impl Inner {
    pub(crate) fn may_enter(&self, principal: &Principal, door: Door<'_>) -> bool {
        self.services.clients.may(principal, |doors| match door {
            Door::Endpoint(name) => doors.has_endpoint(name),
            // Rights go by ids, and servers are called by slugs, too.
            Door::Server(name) => match self.config().endpoint(door) {
                Some(endpoint) => doors.has_server(&endpoint.name),
                None => doors.has_server(name),
            },
        })
    }
}

impl Endpoint {
    /// Where one comes in to it.
    pub(crate) fn door(&self) -> Door<'_> {
        match self.single {
            false => Door::Endpoint(&self.name),
            true => Door::Server(&self.name),
        }
    }
}
