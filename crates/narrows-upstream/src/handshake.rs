//! The self-description of a server: its response to `initialize`, or to `server/discover` in the
//! modern era.

use narrows_wire::modern::{CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION, SERVER_INFO};
use narrows_wire::{Kind, Raw, Revision};

use crate::exchange::ClientHello;
use crate::failure::{Failure, FailureKind, listed_revisions, spoken, unsupported};

/// The server's response to `initialize` or `server/discover`.
#[derive(Debug, Clone)]
pub struct ServerHello {
    pub revision: Revision,
    pub capabilities: Raw,
    pub server_info: Raw,
    pub instructions: Option<String>,
}

impl ServerHello {
    /// Returns the params of the gateway's `initialize` request.
    pub fn request(hello: &ClientHello) -> Raw {
        Raw::empty_object()
            .with_member(
                "protocolVersion",
                &Raw::string(Revision::LATEST_LEGACY.as_str()),
            )
            .with_member("capabilities", &hello.capabilities)
            .with_member("clientInfo", &hello.client_info)
    }

    /// Returns the description of a server without `initialize`. It declares all lists, so that the
    /// gateway requests each of them to find out what the server offers.
    pub fn without_handshake() -> ServerHello {
        ServerHello {
            revision: Revision::LATEST_LEGACY,
            capabilities: Raw::from_static(r#"{"tools":{},"prompts":{},"resources":{}}"#),
            server_info: Raw::empty_object(),
            instructions: None,
        }
    }

    pub fn read(result: &Raw) -> Result<ServerHello, Failure> {
        let broken = |what: &str| {
            Failure::new(
                FailureKind::Protocol,
                format!("its answer to initialize {what}"),
            )
        };
        let [version, capabilities, server_info, instructions] = result
            .pick([
                "protocolVersion",
                "capabilities",
                "serverInfo",
                "instructions",
            ])
            .map_err(|_| broken("contains a member twice"))?;
        let version = version.ok_or_else(|| broken("has no protocolVersion"))?;
        let version = version
            .as_text()
            .ok_or_else(|| broken("has a protocolVersion that is not a string"))?;
        let revision = Revision::parse(&version)
            .filter(|revision| revision.is_legacy())
            .ok_or_else(|| {
                let shown: String = version.chars().take(40).collect();
                Failure {
                    kind: FailureKind::UnsupportedRevision,
                    // A server of the modern era may answer, although it has no `initialize`.
                    is_answer: Revision::parse(&version).is_some(),
                    ..broken(&format!(
                        "chose the revision {shown:?}; the gateway speaks {}",
                        spoken()
                    ))
                }
            })?;
        Ok(ServerHello {
            revision,
            capabilities: object(capabilities),
            server_info: object(server_info),
            instructions: instructions.and_then(|raw| raw.as_text().map(|text| text.into_owned())),
        })
    }

    /// Returns the members of `_meta` that every request to a server of the modern era has.
    pub(crate) fn request_meta(hello: &ClientHello) -> Raw {
        let version = Raw::string(Revision::V2026_07_28.as_str());
        let meta = Raw::empty_object()
            .with_member(PROTOCOL_VERSION, &version)
            .with_member(CLIENT_CAPABILITIES, &hello.capabilities);
        match hello.client_info.kind() {
            Kind::Object => meta.with_member(CLIENT_INFO, &hello.client_info),
            _ => meta,
        }
    }

    /// Reads the response to `server/discover` of the server with the slug `server`.
    pub(crate) fn of_discovery(result: &Raw, server: &str) -> Result<ServerHello, Failure> {
        let broken = |what: &str| {
            Failure::new(
                FailureKind::Protocol,
                format!("its answer to server/discover {what}"),
            )
        };
        let [versions, capabilities, instructions, meta] = result
            .pick(["supportedVersions", "capabilities", "instructions", "_meta"])
            .map_err(|_| broken("contains a member twice"))?;
        let versions = versions
            .filter(|versions| versions.kind() == Kind::Array)
            .ok_or_else(|| broken("has no supportedVersions"))?;
        let ours = Revision::V2026_07_28.as_str();
        let is_ours = |version: Raw| version.as_text().is_some_and(|text| text == ours);
        if !versions.elements().any(is_ours) {
            return Err(unsupported(&listed_revisions(&versions)));
        }
        Ok(ServerHello {
            revision: Revision::V2026_07_28,
            capabilities: object(capabilities),
            server_info: named(
                object(meta.and_then(|meta| meta.member(SERVER_INFO))),
                server,
            ),
            instructions: instructions.and_then(|raw| raw.as_text().map(|text| text.into_owned())),
        })
    }
}

/// Returns the server's name and version with the members that legacy clients require. In the
/// modern era, servers need not send any.
fn named(info: Raw, server: &str) -> Raw {
    [("name", server), ("version", "unknown")]
        .into_iter()
        .fold(info, |info, (key, value)| match info.member(key) {
            Some(own) if own.kind() == Kind::String => info,
            _ => info.with_member(key, &Raw::string(value)),
        })
}

/// Returns the value if it is an object, and otherwise an empty object.
fn object(raw: Option<Raw>) -> Raw {
    raw.filter(|raw| raw.kind() == Kind::Object)
        .unwrap_or_else(Raw::empty_object)
}
