//! Encoding of all opaque values that the gateway issues: cursors, wrapped resource URIs, ids of
//! server-to-client requests and ids of stream events. Decoding validates everything, because these
//! values come back from peers.

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD, URL_SAFE};
use bytes::Bytes;

use crate::Raw;
use crate::text::hex;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid token")]
pub struct BadToken;

/// Returns an unguessable id.
pub fn random_id() -> String {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).expect("the operating system provides random numbers");
    hex(&bytes)
}

/// Returns the base64 of `{"offset": n}`. [`parse_cursor`] accepts the standard and URL-safe
/// alphabets, with or without padding.
pub fn cursor(offset: usize) -> String {
    STANDARD.encode(format!("{{\"offset\": {offset}}}"))
}

pub fn parse_cursor(text: &str) -> Result<usize, BadToken> {
    let json = json(text, CURSOR_MAX).ok_or(BadToken)?;
    let [offset] = json.pick(["offset"]).map_err(|_| BadToken)?;
    offset
        .and_then(|offset| digits(offset.as_str()))
        .and_then(|offset| usize::try_from(offset).ok())
        .ok_or(BadToken)
}

/// Returns a cursor that also carries the request to continue:
/// base64url of `{"offset": n, "of": …}`.
pub fn part_cursor(offset: usize, of: &Raw) -> String {
    URL_SAFE.encode(format!("{{\"offset\":{offset},\"of\":{}}}", of.as_str()))
}

pub fn parse_part_cursor(text: &str) -> Result<(usize, Raw), BadToken> {
    let json = json(text, PART_MAX).ok_or(BadToken)?;
    let [offset, of] = json.pick(["offset", "of"]).map_err(|_| BadToken)?;
    let offset = offset
        .and_then(|offset| digits(offset.as_str()))
        .and_then(|offset| usize::try_from(offset).ok())
        .ok_or(BadToken)?;
    Ok((offset, of.ok_or(BadToken)?))
}

/// Returns `proxy://resource/<base64url({"server","uri"})>`.
pub fn wrap_uri(server: &str, uri: &str) -> String {
    let json = serde_json::json!({ "server": server, "uri": uri });
    format!("{WRAPPED}{}", URL_SAFE.encode(json.to_string()))
}

/// Returns the server and its own URI, if `uri` is wrapped.
pub fn unwrap_uri(uri: &str) -> Option<(String, String)> {
    let json = json(uri.strip_prefix(WRAPPED)?, URI_MAX)?;
    let [server, uri] = json.pick(["server", "uri"]).ok()?;
    Some((
        server?.as_text()?.into_owned(),
        uri?.as_text()?.into_owned(),
    ))
}

/// Returns the id under which a server's request is sent to the client: `<server>:<seq>`.
pub fn ask_id(server: &str, seq: u64) -> String {
    format!("{server}:{seq}")
}

/// Returns the server and the sequence number. The last colon separates them.
pub fn parse_ask_id(text: &str) -> Option<(&str, u64)> {
    let (server, seq) = text.rsplit_once(':')?;
    Some((server, digits(seq)?))
}

/// Returns the id of event `seq` on stream `stream` of a session: `<stream>-<seq>`.
pub fn event_id(stream: u64, seq: u64) -> String {
    format!("{stream}-{seq}")
}

pub fn parse_event_id(text: &str) -> Option<(u64, u64)> {
    let (stream, seq) = text.split_once('-')?;
    Some((digits(stream)?, digits(seq)?))
}

const WRAPPED: &str = "proxy://resource/";
/// The maximum length of a cursor. Ours have at most 44 characters; other encoders may add white
/// space and escapes to the JSON.
const CURSOR_MAX: usize = 256;
const URI_MAX: usize = 64 * 1024;
const PART_MAX: usize = 256 * 1024;

/// The standard alphabet, with or without padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Decodes the JSON value in a base64 text of either alphabet.
fn json(base64: &str, max: usize) -> Option<Raw> {
    if base64.len() > max {
        return None;
    }
    let standard: Vec<u8> = base64
        .bytes()
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        })
        .collect();
    Raw::parse(Bytes::from(LENIENT.decode(standard).ok()?)).ok()
}

/// Parses a number in the form in which it is written here, so that every token has only one form:
/// the standard parser also accepts a sign and leading zeros.
fn digits(text: &str) -> Option<u64> {
    let canonical =
        text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    canonical.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
