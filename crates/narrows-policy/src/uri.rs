//! Normalisation of URIs, for comparison with rules.
//!
//! Servers process a URI in different orders: some decode it before they extract the path, some
//! afterwards, and some treat everything after the scheme as the path. [`plain`] is the reading of
//! a careful server, and [`readings`] returns all known ones. The results are only compared and
//! never sent.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// The maximum number of decoding passes. Servers that decode even a decoded URI again are rare.
const DECODINGS: usize = 3;

/// Schemes that every parser expects to be followed by a host, regardless of the number of slashes,
/// with their default ports.
const WITH_HOST: [(&str, &str); 5] = [
    ("http", "80"),
    ("https", "443"),
    ("ws", "80"),
    ("wss", "443"),
    ("ftp", "21"),
];

/// Normalises a URI: decodes percent-encoding, lower-cases scheme and host, removes default parts
/// of the host such as the port, and removes empty, `.` and `..` segments of the path. Query and
/// fragment are only decoded.
pub(crate) fn plain(uri: &str) -> String {
    let uri = cleaned(Cow::Borrowed(uri.trim()));
    let parts = UriParts::of(&uri, TailPlacement::Apart);
    parts.path(HostForm::AsGiven) + &decoded(parts.tail)
}

/// Normalises an entry of a preset, in which `*` matches any text.
pub(crate) fn plain_pattern(item: &str) -> String {
    let parts = UriParts::of(item, TailPlacement::Apart);
    // Such a star matches both hosts and paths, and one before `..` matches any number of segments.
    let open = match parts.host {
        "" => parts.path.starts_with('*') || parts.path == "/*",
        host => host.ends_with('*') && parts.path.is_empty(),
    };
    match is_absolute(item) && !open && !has_parent_segments(item) {
        true => plain(item),
        false => decoded(item).into_owned(),
    }
}

/// Returns true if the URI starts with a scheme.
pub(crate) fn is_absolute(uri: &str) -> bool {
    scheme(uri).is_some()
}

/// Returns all spellings that a server may derive from the URI, [`plain`] first.
pub(super) fn readings(uri: &str) -> Vec<String> {
    let mut readings = vec![plain(uri)];
    let decoded = decoded(uri);
    for parts in [
        UriParts::of(uri, TailPlacement::Apart),
        UriParts::of(&decoded, TailPlacement::Apart),
        UriParts::of(&decoded, TailPlacement::InPath),
    ] {
        for host in [HostForm::AsGiven, HostForm::Bare] {
            let path = parts.path(host);
            let shorter = without_slash(&path).to_owned();
            for reading in [path, shorter] {
                if !readings.contains(&reading) {
                    readings.push(reading);
                }
            }
        }
    }
    readings
}

/// Removes one slash at the end of a path, because most servers ignore it.
pub(super) fn without_slash(plain: &str) -> &str {
    match plain.strip_suffix('/') {
        Some(shorter) if !shorter.ends_with('/') => shorter,
        _ => plain,
    }
}

/// Returns true if the URI has characters that parsers remove or replace silently: tabs and line
/// ends anywhere, white space at its ends, and non-ASCII letters in hosts.
pub(super) fn has_ignored_characters(uri: &str) -> bool {
    let odd = |text: &str| text.trim() != text || text.contains(|c: char| c.is_ascii_control());
    let decoded_again = decoded_again(uri);
    let parts = UriParts::of(&decoded_again, TailPlacement::Apart);
    // For these schemes, parsers convert the host to ASCII in different ways.
    let is_foreign = default_port(parts.scheme).is_some() && !parts.host.is_ascii();
    odd(uri) || odd(&decoded_again) || is_foreign
}

/// Returns true if the URI has a `..` segment, so that it may leave the folder in which it starts.
pub(super) fn has_parent_segments(uri: &str) -> bool {
    let has_parent_segments = |text: &str| text.split([':', '/', '\\']).any(|part| part == "..");
    let decoded_all = decoded(uri);
    has_parent_segments(&decoded_all)
        || has_parent_segments(before_tail(&decoded_all))
        || has_parent_segments(&decoded(before_tail(uri)))
}

/// The treatment of query and fragment.
#[derive(Clone, Copy, PartialEq)]
enum TailPlacement {
    Apart,
    InPath,
}

/// The parts of the host that are compared.
#[derive(Clone, Copy, PartialEq)]
enum HostForm {
    AsGiven,
    /// Without the user, and for files without the host, which some servers ignore.
    Bare,
}

struct UriParts<'a> {
    scheme: &'a str,
    host: &'a str,
    path: &'a str,
    tail: &'a str,
}

impl UriParts<'_> {
    fn of(uri: &str, tail: TailPlacement) -> UriParts<'_> {
        let scheme = scheme(uri).unwrap_or_default();
        let rest = match scheme {
            "" => uri,
            scheme => &uri[scheme.len() + 1..],
        };
        let (rest, tail) = match tail {
            TailPlacement::Apart => rest.split_at(before_tail(rest).len()),
            TailPlacement::InPath => (rest, ""),
        };
        let behind = rest.trim_start_matches(['/', '\\']);
        let slashes = rest.len() - behind.len();
        let (host, path) = match default_port(scheme) {
            Some(_) => split_host(behind),
            None if slashes >= 2 => split_host(&rest[2..]),
            None => ("", rest),
        };
        UriParts {
            scheme,
            host,
            path,
            tail,
        }
    }

    /// Returns everything except query and fragment.
    fn path(&self, host: HostForm) -> String {
        let scheme = self.scheme.to_ascii_lowercase();
        let host = plain_host(&scheme, &decoded(self.host), host);
        let path = decoded(self.path);
        let mut segments: Vec<&str> = Vec::new();
        let mut is_folder = false;
        for segment in path.split(['/', '\\']) {
            is_folder = matches!(segment, "" | "." | "..");
            match segment {
                "" | "." => {}
                ".." => {
                    segments.pop();
                }
                segment => segments.push(segment),
            }
        }
        let end = match is_folder && !segments.is_empty() {
            true => "/",
            false => "",
        };
        format!("{scheme}://{host}/{}{end}", segments.join("/"))
    }
}

fn scheme(uri: &str) -> Option<&str> {
    let (scheme, _) = uri.split_once(':')?;
    let fits = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let is_one = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(fits);
    is_one.then_some(scheme)
}

fn default_port(scheme: &str) -> Option<&'static str> {
    let mut known = WITH_HOST.iter();
    let known = known.find(|(known, _)| scheme.eq_ignore_ascii_case(known));
    known.map(|(_, port)| *port)
}

fn split_host(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len()))
}

fn plain_host(scheme: &str, authority: &str, look: HostForm) -> String {
    let default_port = default_port(scheme);
    let bare = look == HostForm::Bare;
    if bare && scheme == "file" {
        return String::new();
    }
    // For other schemes the user may be part of the name, as in `mail://me@host`.
    let host = match authority.rsplit_once('@') {
        Some((_, host)) if bare || default_port.is_some() || scheme == "file" => host,
        _ => authority,
    };
    let is_default = |port: &str| port.is_empty() || Some(port) == default_port;
    let host = match host.rsplit_once(':') {
        Some((host, port)) if is_default(port.trim_start_matches('0')) => host,
        _ => host,
    };
    let host = host.trim_end_matches('.').to_lowercase();
    match &*host {
        "localhost" | "127.0.0.1" | "[::1]" if scheme == "file" => String::new(),
        _ => host,
    }
}

/// Returns the URI without query and fragment, which a server may ignore.
fn before_tail(uri: &str) -> &str {
    uri.find(['?', '#']).map_or(uri, |end| &uri[..end])
}

fn decoded(text: &str) -> Cow<'_, str> {
    cleaned(decoded_again(text))
}

/// Removes the control characters that parsers drop.
fn cleaned(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.contains(|c: char| c.is_ascii_control()) {
        true => Cow::Owned(text.chars().filter(|c| !c.is_ascii_control()).collect()),
        false => text,
    }
}

fn decoded_again(text: &str) -> Cow<'_, str> {
    let mut decoded_again = Cow::Borrowed(text);
    for _ in 0..DECODINGS {
        match Cow::<[u8]>::from(percent_decode_str(&decoded_again)) {
            Cow::Owned(next) => {
                decoded_again = Cow::Owned(String::from_utf8_lossy(&next).into_owned())
            }
            Cow::Borrowed(_) => break,
        }
    }
    decoded_again
}

#[cfg(test)]
mod tests;
