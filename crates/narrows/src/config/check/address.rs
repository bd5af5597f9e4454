//! Describes errors in the address of a `url` without revealing secrets.
//!
//! A password whose `@host` is missing stands in the place of the port, and any text may stand in
//! the place of a URL. Only parts that cannot be secrets are repeated.

use std::net::IpAddr;

use http::uri::Authority;

/// The URL schemes of a transport, without and with TLS.
pub(super) struct Schemes {
    pub(super) plain: &'static str,
    pub(super) secure: &'static str,
}

/// Describes an invalid port. `Authority::port_u16` returns `None` for it, so requests would go to
/// the default port of the scheme.
pub(super) fn wrong_port(authority: &Authority) -> Option<String> {
    let whole = authority.as_str();
    let (_, port) = host_and_port(whole.rsplit('@').next().unwrap_or(whole));
    let port = port?;
    if is_port(port) {
        return None;
    }
    let what = match port {
        "" => "the port after the colon is missing".to_owned(),
        port if port.len() <= 6 && is_number(port) => format!("the port '{port}' is invalid"),
        _ => "the text after the host is not a port".to_owned(),
    };
    Some(format!("{what}; a port is a number from 1 to 65535"))
}

/// Suggests the intended URL for one without a scheme, as far as it may be repeated.
pub(super) fn with_scheme(text: &str, schemes: &Schemes) -> Option<String> {
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let (authority, path) = text.split_at(end);
    let (host, port) = host_and_port(authority);
    let scheme = match is_near(host)? {
        true => schemes.plain,
        false => schemes.secure,
    };
    let path = match path.trim_start_matches('/').split('/').all(is_plain_word) {
        true => path,
        false => "/...",
    };
    port.is_none_or(is_port)
        .then(|| format!("{scheme}{authority}{path}"))
}

/// Splits an authority into the host, in brackets for IPv6, and the text after the colon.
fn host_and_port(text: &str) -> (&str, Option<&str>) {
    let bracket = text.rfind(']').map_or(0, |bracket| bracket + 1);
    match text[bracket..].find(':') {
        Some(colon) => {
            let (host, port) = text.split_at(bracket + colon);
            (host, port.strip_prefix(':'))
        }
        // `[::1]8080`
        None if 0 < bracket && bracket < text.len() => (&text[..bracket], Some(&text[bracket..])),
        None => (text, None),
    }
}

fn is_port(text: &str) -> bool {
    // `parse` accepts a sign, which a port cannot have.
    is_number(text) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true if a host is in the local network, where TLS is rare, and `None` if the text may
/// not be a host.
fn is_near(host: &str) -> Option<bool> {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    match bare.unwrap_or(host).parse() {
        Ok(IpAddr::V4(ip)) => {
            Some(ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified())
        }
        Ok(IpAddr::V6(ip)) if bare.is_some() => Some(
            ip.is_loopback()
                || ip.is_unique_local()
                || ip.is_unicast_link_local()
                || ip.is_unspecified(),
        ),
        _ if host == "localhost" => Some(true),
        _ => is_name(host).then(|| host.ends_with(".localhost") || host.ends_with(".local")),
    }
}

/// Returns true for a name such as `api.example.com`. Tokens can contain dots too, but they do not
/// consist of lower-case labels with a word at the end.
fn is_name(host: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_label = |label: &str| (1..=30).contains(&label.len()) && label.chars().all(fits);
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_word = last.len() >= 2 && last.chars().all(|c| c.is_ascii_lowercase());
    host.contains('.') && is_word && host.split('.').all(is_label)
}

/// Returns true if a path segment is a word such as `mcp` or `v1` and not a token.
fn is_plain_word(part: &str) -> bool {
    let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
    part.len() <= word.len() + 1 && word.len() <= 12 && word.chars().all(|c| c.is_ascii_lowercase())
}
