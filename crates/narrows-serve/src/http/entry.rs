//! Who stands at the door: the one place that reads tokens.
//!
//! A token stands in `Authorization: Bearer` and nowhere else. In a query it
//! would be written into logs and histories on its way.

use std::net::IpAddr;

use http::Method;
use http::header::HeaderValue;
use narrows_gateway::Principal;
use narrows_gateway::meter::RefusedFor;
use narrows_gateway::{ClientPermit, Peer, Unidentified};

use super::Edge;
use super::head::Head;
use super::routes::{Route, Service};
use crate::error::Refused;

#[cfg(test)]
mod tests;

/// The origin of a request, as handed to the router of the admin API.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestOrigin {
    /// True if the client is on this machine and speaks for itself.
    pub(super) from_here: bool,
}

/// Finds out who asks, and whether that way in is among its rights.
pub(super) async fn enter(
    edge: &Edge,
    route: &Route<'_>,
    method: &Method,
    head: &Head<'_>,
    peer: IpAddr,
) -> Result<Principal, Refused> {
    // Browsers ask without a token whether they may send one. There is no such
    // question about a WebSocket.
    if *method == Method::OPTIONS && route.service != Service::WebSocket {
        return Ok(Principal::Anonymous);
    }
    let identified = identify(edge, head, peer).await;
    if identified == Err(Refused::NoToken) {
        edge.gateway.meter().refused(RefusedFor::Token);
    }
    let principal = identified?;
    if principal == Principal::Anonymous {
        return Ok(principal);
    }
    let gateway = &edge.gateway;
    let target = &route.target;
    let may = match route.service {
        Service::StreamableHttp | Service::Sse | Service::WebSocket => {
            gateway.may_enter(&principal, target.door())
        }
        Service::Pruner => gateway.may_prune(&principal),
        Service::Forward => gateway.may_forward(&principal, target.name()),
        // Whose stream it is has been found out when it was opened.
        Service::Messages => true,
        // Their own rules decide.
        Service::Admin
        | Service::Index
        | Service::Health
        | Service::Ready
        | Service::Metrics
        | Service::Unknown => true,
    };
    match may {
        true => Ok(principal),
        false => {
            gateway.meter().refused(RefusedFor::Door);
            Err(Refused::DoorNotAllowed)
        }
    }
}

/// Finds out who asks.
pub(super) async fn identify(
    edge: &Edge,
    head: &Head<'_>,
    peer: IpAddr,
) -> Result<Principal, Refused> {
    let peer = Peer {
        address: peer,
        from_here: is_from_here(head, peer),
    };
    let token = head.authorization.map(bearer);
    let identified = edge.gateway.identify(token, peer).await;
    identified.map_err(|why| match why {
        Unidentified::Missing => Refused::NoToken,
        Unidentified::Wrong => Refused::WrongToken,
        Unidentified::Throttled { after } => Refused::TooManyTokens { after },
    })
}

/// Takes the client's permit for one request before its body is read; `None`
/// if the client has no limits.
pub(super) fn permit(edge: &Edge, principal: &Principal) -> Result<Option<ClientPermit>, Refused> {
    if !matches!(principal, Principal::Client(_)) {
        return Ok(None);
    }
    match edge.gateway.permit(principal) {
        Ok(permit) => Ok(Some(permit)),
        // Anything else is said of the request, under its id.
        Err(error) => Refused::by_limits(&error).map_or(Ok(None), Err),
    }
}

/// Returns true if a request was made on this machine. One that somebody passed
/// on here may come from anywhere.
pub(super) fn is_from_here(head: &Head<'_>, peer: IpAddr) -> bool {
    // A socket for both families tells 127.0.0.1 as ::ffff:127.0.0.1.
    peer.to_canonical().is_loopback() && !head.passed_on
}

/// The token of a header. What is there but cannot be read as one is a token
/// that nobody has: to take it for none would let in as anonymous who tried to
/// be somebody.
fn bearer(value: &HeaderValue) -> &str {
    let credentials = value.to_str().unwrap_or_default();
    match credentials.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        _ => "",
    }
}
