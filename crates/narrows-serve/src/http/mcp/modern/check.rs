//! Comparison of a request's headers with its body.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use narrows_wire::modern::{self, ParamHeader, RequestMeta, header};
use narrows_wire::{Raw, Revision};

use crate::error::Refused;

#[cfg(test)]
mod tests;

const VERSION: &str = "mcp-protocol-version";

/// The headers of a request that repeat parts of its body.
pub(in crate::http::mcp) struct ModernHead(Vec<(HeaderName, HeaderValue)>);

impl ModernHead {
    pub(in crate::http::mcp) fn read(headers: &HeaderMap) -> ModernHead {
        let of_mcp = headers
            .iter()
            .filter(|(name, _)| name.as_str().starts_with("mcp-"));
        ModernHead(
            of_mcp
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    }

    /// Checks the metadata of a request and the headers that every request of its method has.
    pub(super) fn check(&self, method: &str, params: Option<&Raw>) -> Result<RequestMeta, Refused> {
        let version = self.text(VERSION)?.unwrap_or_default();
        if Revision::parse(version).is_none() && modern::request_version(params).is_none() {
            let requested = version.to_owned();
            return Err(Refused::UnsupportedVersion { requested });
        }
        let meta = RequestMeta::read(params).map_err(Refused::BadMeta)?;
        same("MCP-Protocol-Version", Some(version), Some(&meta.version))?;
        if Revision::parse(&meta.version).is_none_or(Revision::is_legacy) {
            let requested = meta.version;
            return Err(Refused::UnsupportedVersion { requested });
        }
        same("Mcp-Method", self.text(header::METHOD)?, Some(method))?;
        if let Some(member) = modern::name_member(method) {
            let named = params.and_then(|params| params.member(member));
            let named = named.as_ref().and_then(Raw::as_text);
            let decoded = match self.get(header::NAME)? {
                Some(value) => {
                    let decoded = header::decode(value.as_bytes());
                    Some(decoded.ok_or_else(|| mismatch("the Mcp-Name header is malformed"))?)
                }
                None => None,
            };
            same("Mcp-Name", decoded.as_deref(), named.as_deref())?;
        }
        Ok(meta)
    }

    /// Checks the headers that repeat arguments of a tool.
    pub(super) fn check_params(
        &self,
        headers: &[ParamHeader],
        arguments: Option<&Raw>,
    ) -> Result<(), Refused> {
        for param in headers {
            let value = self.get(&param.header)?;
            if !param.agrees(value.map(HeaderValue::as_bytes), arguments) {
                let name = &param.header;
                let reason = match value {
                    None => format!("the {name} header is missing"),
                    Some(_) => format!("the {name} header does not match the arguments"),
                };
                return Err(Refused::HeaderMismatch(reason));
            }
        }
        Ok(())
    }

    /// Returns a header that must not be repeated.
    fn get(&self, name: &str) -> Result<Option<&HeaderValue>, Refused> {
        let mut found = self.0.iter().filter(|(known, _)| known.as_str() == name);
        let first = found.next().map(|(_, value)| value);
        match found.next() {
            Some(_) => Err(Refused::HeaderMismatch(format!(
                "the {name} header is repeated"
            ))),
            None => Ok(first),
        }
    }

    fn text(&self, name: &str) -> Result<Option<&str>, Refused> {
        let Some(value) = self.get(name)? else {
            return Ok(None);
        };
        let text = value.to_str();
        text.map(Some)
            .map_err(|_| mismatch("a header has invalid characters"))
    }
}

/// Checks that a header is there if the body has the value, and that both agree.
fn same(name: &str, header: Option<&str>, body: Option<&str>) -> Result<(), Refused> {
    match (header, body) {
        (None, None) => Ok(()),
        (Some(header), Some(body)) if header == body => Ok(()),
        (None, Some(_)) => Err(Refused::HeaderMismatch(format!(
            "the {name} header is missing"
        ))),
        (Some(_), _) => Err(Refused::HeaderMismatch(format!(
            "the {name} header does not match the body"
        ))),
    }
}

fn mismatch(reason: &str) -> Refused {
    Refused::HeaderMismatch(reason.to_owned())
}
