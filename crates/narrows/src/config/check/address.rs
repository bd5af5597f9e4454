//! What is wrong with the address in a `url`, told without its secrets.
//!
//! A password that lost its `@host` stands where a port does, and anything at
//! all may stand where a url should: only what cannot be a secret is repeated.

use std::net::IpAddr;

use http::uri::Authority;

/// How urls begin, without and with TLS.
pub(super) struct Schemes {
    pub(super) plain: &'static str,
    pub(super) secure: &'static str,
}

/// What is wrong with the port, if anything is. `Authority::port_u16` knows
/// none where it cannot be read, and requests would go to the port of the scheme.
pub(super) fn wrong_port(authority: &Authority) -> Option<String> {
    let whole = authority.as_str();
    let (_, port) = host_and_port(whole.rsplit('@').next().unwrap_or(whole));
    let port = port?;
    if is_port(port) {
        return None;
    }
    let what = match port {
        "" => "there is no port behind the colon".to_owned(),
        port if port.len() <= 6 && is_number(port) => format!("the port '{port}' is no port"),
        _ => "what stands behind the host is no port".to_owned(),
    };
    Some(format!("{what}; a port is 1 to 65535"))
}

/// The url that was meant by one without a scheme, as far as it may be repeated.
pub(super) fn mended(text: &str, schemes: &Schemes) -> Option<String> {
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

/// The host, in brackets where it is of IPv6, and what follows the colon behind it.
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
    // A number may have a sign, a port may not.
    is_number(text) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a host is in our own network, where servers seldom have TLS; `None`
/// for what need not be a host.
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

/// Whether a text is a name such as `api.example.com`. Tokens have dots, too,
/// but not in small letters before a word.
fn is_name(host: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_label = |label: &str| (1..=30).contains(&label.len()) && label.chars().all(fits);
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_word = last.len() >= 2 && last.chars().all(|c| c.is_ascii_lowercase());
    host.contains('.') && is_word && host.split('.').all(is_label)
}

/// Whether a part of a path is a word such as `mcp` or `v1`, and no token.
fn is_plain_word(part: &str) -> bool {
    let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
    part.len() <= word.len() + 1 && word.len() <= 12 && word.chars().all(|c| c.is_ascii_lowercase())
}
