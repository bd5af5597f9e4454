//! The `_meta` of a request: what earlier revisions settle once, in `initialize`.

use crate::modern::{CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION};
use crate::{ClientHello, Kind, Raw};

/// The metadata of a request.
#[derive(Debug, Clone)]
pub struct RequestMeta {
    pub version: String,
    /// The client. `clientInfo` is optional; without it, this has an empty object.
    pub client: ClientHello,
    /// The lowest level of log messages; without one, the server must not send any.
    pub log_level: Option<String>,
}

/// An error in the metadata of a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadMeta {
    #[error("params._meta is missing")]
    NoMeta,
    #[error("params._meta is not valid: a member occurs twice")]
    Duplicate,
    #[error("params._meta[\"{0}\"] is missing")]
    Missing(&'static str),
    #[error("params._meta[\"{0}\"] must be {1}")]
    WrongType(&'static str, &'static str),
}

impl RequestMeta {
    /// Reads the metadata of a request from its params.
    pub fn read(params: Option<&Raw>) -> Result<RequestMeta, BadMeta> {
        let meta = meta_of(params)?.ok_or(BadMeta::NoMeta)?;
        let keys = [
            PROTOCOL_VERSION,
            CLIENT_CAPABILITIES,
            CLIENT_INFO,
            LOG_LEVEL,
        ];
        let [version, capabilities, info, level] =
            meta.pick(keys).map_err(|_| BadMeta::Duplicate)?;
        let version = version.ok_or(BadMeta::Missing(PROTOCOL_VERSION))?;
        let version = text(&version, PROTOCOL_VERSION)?;
        let capabilities = capabilities.ok_or(BadMeta::Missing(CLIENT_CAPABILITIES))?;
        let capabilities = object(capabilities, CLIENT_CAPABILITIES)?;
        let client_info = match info {
            Some(info) => object(info, CLIENT_INFO)?,
            None => Raw::empty_object(),
        };
        let log_level = match level {
            Some(level) => Some(text(&level, LOG_LEVEL)?),
            None => None,
        };
        Ok(RequestMeta {
            version,
            client: ClientHello {
                capabilities,
                client_info,
            },
            log_level,
        })
    }
}

/// Returns the protocol version in the params of a request. Requests of earlier revisions have
/// none.
pub fn request_version(params: Option<&Raw>) -> Option<Raw> {
    meta_of(params).ok()??.member(PROTOCOL_VERSION)
}

/// Returns the params without the metadata that only this revision has. Other members of `_meta`,
/// such as the progress token, are kept.
pub fn without_request_meta(params: &Raw) -> Raw {
    let Some(meta) = params.member("_meta") else {
        return params.clone();
    };
    let keys = [
        PROTOCOL_VERSION,
        CLIENT_CAPABILITIES,
        CLIENT_INFO,
        LOG_LEVEL,
    ];
    let mut rest = meta;
    for key in keys {
        rest = rest.without_member(key);
    }
    match rest.members().next() {
        Some(_) => params.with_member("_meta", &rest),
        None => params.without_member("_meta"),
    }
}

/// Returns `params._meta`, if it is there.
fn meta_of(params: Option<&Raw>) -> Result<Option<Raw>, BadMeta> {
    let Some(params) = params else {
        return Ok(None);
    };
    let [meta] = params.pick(["_meta"]).map_err(|_| BadMeta::Duplicate)?;
    match meta {
        Some(meta) => object(meta, "_meta").map(Some),
        None => Ok(None),
    }
}

fn object(value: Raw, key: &'static str) -> Result<Raw, BadMeta> {
    match value.kind() {
        Kind::Object => Ok(value),
        _ => Err(BadMeta::WrongType(key, "an object")),
    }
}

fn text(value: &Raw, key: &'static str) -> Result<String, BadMeta> {
    let text = value.as_text();
    let text = text.ok_or(BadMeta::WrongType(key, "a string"))?;
    Ok(text.into_owned())
}
