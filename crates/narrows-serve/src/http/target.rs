//! Which door a path leads to.

use std::borrow::Cow;

use narrows_gateway::Door;

#[cfg(test)]
mod tests;

/// A door by its name, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target<'a> {
    Endpoint(Cow<'a, str>),
    Server(Cow<'a, str>),
}

impl<'a> Target<'a> {
    /// The only place that knows the paths of MCP endpoints: `/mcp`,
    /// `/mcp/{endpoint}`, `/servers/{id}/mcp`, each with or without a slash at
    /// its end.
    pub(super) fn parse(path: &'a str) -> Option<Target<'a>> {
        if path == "/mcp" {
            return Some(Target::Endpoint(Cow::Borrowed("default")));
        }
        let path = path.strip_suffix('/').unwrap_or(path);
        if let Some(rest) = path.strip_prefix("/mcp") {
            return match rest.strip_prefix('/') {
                Some(name) => segment(name).map(Target::Endpoint),
                None if rest.is_empty() => Some(Target::Endpoint(Cow::Borrowed("default"))),
                None => None,
            };
        }
        let id = path.strip_prefix("/servers/")?.strip_suffix("/mcp")?;
        segment(id).map(Target::Server)
    }

    pub(super) fn door(&self) -> Door<'_> {
        match self {
            Target::Endpoint(name) => Door::Endpoint(name),
            Target::Server(id) => Door::Server(id),
        }
    }

    pub(super) fn into_owned(self) -> Target<'static> {
        match self {
            Target::Endpoint(name) => Target::Endpoint(Cow::Owned(name.into_owned())),
            Target::Server(id) => Target::Server(Cow::Owned(id.into_owned())),
        }
    }
}

/// One path segment, percent-decoded: ids of servers may hold any character,
/// a slash too.
fn segment(raw: &str) -> Option<Cow<'_, str>> {
    if raw.is_empty() || raw.contains('/') {
        return None;
    }
    if !raw.contains('%') {
        return Some(Cow::Borrowed(raw));
    }
    let mut decoded = Vec::with_capacity(raw.len());
    let mut bytes = raw.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let high = char::from(bytes.next()?).to_digit(16)?;
        let low = char::from(bytes.next()?).to_digit(16)?;
        decoded.push((high * 16 + low) as u8);
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}
