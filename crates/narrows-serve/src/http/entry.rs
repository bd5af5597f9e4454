//! Identification of clients: the only place that reads their tokens.
//!
//! A token is accepted only in `Authorization: Bearer`. A token in a query would end up in logs and
//! browser histories.

use std::net::IpAddr;

use http::Method;
use http::header::HeaderValue;
use narrows_gateway::Principal;
use narrows_gateway::meter::RefusedFor;
use narrows_gateway::{ClientPermit, IdentifyError, PeerAddress};

use super::Edge;
use super::head::Head;
use super::routes::{Route, Service};
use crate::error::Refused;

#[cfg(test)]
mod tests;

/// The origin of a request, passed to the router of the admin API.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestOrigin {
    /// True if the client is on this machine and no proxy forwarded the request.
    pub(super) is_local: bool,
}

/// Identifies the client and checks that it may use the entrypoint.
pub(super) async fn enter(
    edge: &Edge,
    route: &Route<'_>,
    method: &Method,
    head: &Head<'_>,
    peer: IpAddr,
) -> Result<Principal, Refused> {
    // Browsers send a preflight without a token. WebSockets have no preflight.
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
            gateway.may_enter(&principal, target.entrypoint())
        }
        Service::Pruner => gateway.may_prune(&principal),
        Service::Forward => gateway.may_forward(&principal, target.name()),
        // The owner was checked when the stream was opened.
        Service::Messages => true,
        // These services apply their own rules.
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
            gateway.meter().refused(RefusedFor::Entrypoint);
            Err(Refused::EntrypointNotAllowed)
        }
    }
}

/// Identifies the client.
pub(super) async fn identify(
    edge: &Edge,
    head: &Head<'_>,
    peer: IpAddr,
) -> Result<Principal, Refused> {
    let peer = PeerAddress {
        address: peer,
        is_local: is_local_request(head, peer),
    };
    let token = head.authorization.map(bearer);
    let identified = edge.gateway.identify(token, peer).await;
    identified.map_err(|why| match why {
        IdentifyError::Missing => Refused::NoToken,
        IdentifyError::Wrong => Refused::WrongToken,
        IdentifyError::Throttled { after } => Refused::TooManyTokens { after },
    })
}

/// Acquires the client's permit for one request before its body is read; `None` if the client has
/// no limits.
pub(super) fn permit(edge: &Edge, principal: &Principal) -> Result<Option<ClientPermit>, Refused> {
    if !matches!(principal, Principal::Client(_)) {
        return Ok(None);
    }
    match edge.gateway.permit(principal) {
        Ok(permit) => Ok(Some(permit)),
        // Other errors are reported later, under the id of the request.
        Err(error) => Refused::by_limits(&error).map_or(Ok(None), Err),
    }
}

/// Returns true if a request was made on this machine. A request forwarded by a proxy may come from
/// anywhere.
pub(super) fn is_local_request(head: &Head<'_>, peer: IpAddr) -> bool {
    // A dual-stack socket reports 127.0.0.1 as ::ffff:127.0.0.1.
    peer.to_canonical().is_loopback() && !head.passed_on
}

/// Returns the token of a header, or an empty string, which matches no client, if the header is not
/// valid. Treating an invalid header as no token would let its sender in as anonymous.
fn bearer(value: &HeaderValue) -> &str {
    let credentials = value.to_str().unwrap_or_default();
    match credentials.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        _ => "",
    }
}
