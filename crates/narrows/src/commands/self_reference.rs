//! Detects servers whose URL is the gateway's own listen address.

use std::net::{IpAddr, SocketAddr};

use http::Uri;
use narrows_gateway::settings::{Settings, UpstreamKind};
use narrows_upstream::{Failure, FailureKind, State as UpstreamState};

/// Disables servers whose URL is the `listen` address of the same file, because a gateway with this
/// file would connect to itself. Returns their indexes and failures.
pub(super) fn disable_self_references(
    settings: &mut Settings,
    listen: SocketAddr,
) -> Vec<(usize, Failure)> {
    let mut found = Vec::new();
    for (place, upstream) in settings.upstreams.iter_mut().enumerate() {
        let UpstreamKind::Remote(remote) = &upstream.upstream.kind else {
            continue;
        };
        if upstream.upstream.enabled && is_at(&remote.url, listen) {
            upstream.upstream.enabled = false;
            let message = format!(
                "the url leads back to this gateway, which listens on {listen}. Remove the entry, \
                 or give the gateway another address in `listen`"
            );
            found.push((place, Failure::new(FailureKind::Recursion, message)));
        }
    }
    found
}

/// Returns the state of such a server.
pub(super) fn down(failure: Failure) -> UpstreamState {
    UpstreamState::Down {
        failure: failure.into(),
        attempts: 1,
        next_try: None,
    }
}

/// Returns true if a URL leads to the address that a gateway listens on.
fn is_at(url: &Uri, listen: SocketAddr) -> bool {
    let usual = match url.scheme_str() {
        Some("https" | "wss") => 443,
        _ => 80,
    };
    if url.port_u16().unwrap_or(usual) != listen.port() {
        return false;
    }
    let host = url.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let ip = match host.parse::<IpAddr>() {
        Ok(ip) => ip,
        Err(_) if host.eq_ignore_ascii_case("localhost") => {
            return listen.ip().is_loopback() || listen.ip().is_unspecified();
        }
        Err(_) => return false,
    };
    ip == listen.ip() || (listen.ip().is_unspecified() && ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_at;

    #[track_caller]
    fn check(url: &str, listen: &str, expected: bool) {
        let (url, listen) = (url.parse().expect("a URL"), listen.parse());
        let listen = listen.expect("an address");
        assert_eq!(is_at(&url, listen), expected, "{url} and {listen}");
    }

    #[test]
    fn url_is_compared_with_the_gateway_address() {
        check("http://127.0.0.1:7420/mcp", "127.0.0.1:7420", true);
        check("http://localhost:7420/mcp/lazy", "127.0.0.1:7420", true);
        check("ws://LOCALHOST:7420/ws", "0.0.0.0:7420", true);
        check("http://[::1]:7420/mcp", "[::]:7420", true);
        check("http://127.0.0.1/mcp", "127.0.0.1:80", true);
        check("http://127.0.0.1:7421/mcp", "127.0.0.1:7420", false);
        check("http://10.0.0.7:7420/mcp", "127.0.0.1:7420", false);
        check("http://127.0.0.1:7420/mcp", "10.0.0.7:7420", false);
        check("http://example.test:7420/mcp", "127.0.0.1:7420", false);
    }
}
