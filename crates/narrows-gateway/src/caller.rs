//! The caller of a request, the same for every adapter.

use std::sync::Arc;

use narrows_policy::Principal;
use narrows_wire::{ClientHello, Raw, Revision};

use crate::error::Error;
use crate::gateway_client::GatewayClient;
use crate::known_clients::ResultTraits;
use narrows_upstream::exchange::Asks;

/// The client behind a request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The name of the endpoint that the client uses.
    pub endpoint: Arc<str>,
    pub principal: Principal,
    pub revision: Revision,
    pub client: ClientHello,
    /// The requests that servers may send to the client.
    pub(crate) asks: Asks,
    /// The client program's handling of tool results.
    pub(crate) result_traits: ResultTraits,
    /// The mark of the gateway if the client is itself a gateway.
    pub(crate) gateway: Option<GatewayClient>,
}

impl Caller {
    /// Returns the params of a request or notification, marked for forwarding if the client is a
    /// gateway.
    pub(crate) fn mark_params(&self, params: Option<Raw>) -> Result<Option<Raw>, Error> {
        match &self.gateway {
            Some(gateway) => gateway.mark_params(params),
            None => Ok(params),
        }
    }

    /// Returns the requests of servers that are passed on during a call. The adapter of modern
    /// clients answers those that the client does not support, because the call fails then.
    pub(crate) fn call_asks(&self) -> Asks {
        match self.revision.is_legacy() {
            true => self.asks,
            false => Asks {
                roots: true,
                sampling: true,
                elicitation: true,
            },
        }
    }

    /// Returns true if the client is a gateway that this gateway called, directly or through
    /// others.
    pub(crate) fn originates_here(&self) -> bool {
        let gateway = self.gateway.as_ref();
        gateway.is_some_and(GatewayClient::originates_here)
    }
}
