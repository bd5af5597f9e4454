//! Parsing and validation of `initialize` params.

use std::borrow::Cow;

use narrows_upstream::exchange::ClientHello;
use narrows_upstream::offload;
use narrows_wire::{Kind, Raw, Revision};

use crate::error::Refused;

#[cfg(test)]
mod tests;

/// The content of an `initialize` request.
#[derive(Debug)]
pub(crate) struct Hello {
    /// The negotiated revision.
    pub(crate) revision: Revision,
    pub(crate) client: ClientHello,
}

impl Hello {
    pub(crate) fn read(params: Option<&Raw>) -> Result<Hello, Refused> {
        let bad = |reason: Cow<'static, str>| Refused::BadInitialize(reason);
        let params = params
            .filter(|params| params.kind() == Kind::Object)
            .ok_or_else(|| bad("params must be an object".into()))?;
        // Valid params are far shorter, and this many bytes should not be parsed on an async
        // thread.
        if params.len() >= offload::LARGE {
            let reason = format!("params must not be longer than {} bytes", offload::LARGE);
            return Err(bad(reason.into()));
        }
        let [version, capabilities, client_info] = params
            .pick(["protocolVersion", "capabilities", "clientInfo"])
            .map_err(|error| bad(error.to_string().into()))?;
        let version = version
            .as_ref()
            .and_then(Raw::as_text)
            .ok_or_else(|| bad("protocolVersion must be a string".into()))?;
        let object = |value: Option<Raw>, reason: &'static str| {
            value
                .filter(|value| value.kind() == Kind::Object)
                .ok_or_else(|| bad(reason.into()))
        };
        Ok(Hello {
            revision: Revision::negotiate(&version),
            client: ClientHello {
                capabilities: object(capabilities, "capabilities must be an object")?,
                client_info: object(client_info, "clientInfo must be an object")?,
            },
        })
    }
}
