//! One spelling for all spellings of a URI.

use std::borrow::Cow;

/// A server that decodes again what it has decoded is hardly to be found.
const DECODINGS: usize = 3;

/// The URI with its percent signs decoded, scheme and host in lower case, and
/// its path without empty, `.` and `..` segments. It is for comparing only.
pub(super) fn plain(uri: &str) -> String {
    let decoded = decoded(uri);
    let (scheme, rest) = decoded.split_once(':').unwrap_or(("", &decoded));
    let (host, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    };
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split(['/', '\\']) {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            segment => segments.push(segment),
        }
    }
    let (scheme, host) = (scheme.to_lowercase(), host.to_lowercase());
    format!("{scheme}://{host}/{}", segments.join("/"))
}

/// Whether it leaves a folder, so that it does not lead where it begins.
pub(super) fn climbs(uri: &str) -> bool {
    decoded(uri)
        .split([':', '/', '\\'])
        .any(|part| part == "..")
}

/// What is left without a query and a fragment, which a server may not look at.
pub(super) fn path(plain: &str) -> &str {
    plain.find(['?', '#']).map_or(plain, |end| &plain[..end])
}

fn decoded(uri: &str) -> Cow<'_, str> {
    let mut decoded = Cow::Borrowed(uri);
    for _ in 0..DECODINGS {
        match decode(&decoded) {
            Some(next) => decoded = Cow::Owned(next),
            None => break,
        }
    }
    decoded
}

/// `None` if there is nothing to decode.
fn decode(text: &str) -> Option<String> {
    let (head, mut rest) = text.split_once('%')?;
    let mut bytes = head.as_bytes().to_vec();
    let mut changed = false;
    loop {
        match rest
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok())
        {
            Some(byte) if rest.as_bytes()[0] != b'+' => {
                bytes.push(byte);
                rest = &rest[2..];
                changed = true;
            }
            _ => bytes.push(b'%'),
        }
        match rest.split_once('%') {
            Some((literal, behind)) => {
                bytes.extend_from_slice(literal.as_bytes());
                rest = behind;
            }
            None => {
                bytes.extend_from_slice(rest.as_bytes());
                break;
            }
        }
    }
    changed.then(|| String::from_utf8_lossy(&bytes).into_owned())
}
