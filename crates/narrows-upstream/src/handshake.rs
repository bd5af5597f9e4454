//! The `initialize` handshake of a link: the params of the request, and the server's response.

use narrows_wire::{Kind, Raw, Revision};

use crate::exchange::ClientHello;
use crate::failure::{Failure, FailureKind};

/// The server's response to `initialize`.
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
                let version: String = version.chars().take(40).collect();
                Failure {
                    kind: FailureKind::UnsupportedRevision,
                    ..broken(&format!(
                        "chose the revision {version:?}; the gateway speaks 2024-11-05 to {}",
                        Revision::LATEST_LEGACY
                    ))
                }
            })?;
        let object = |raw: Option<Raw>| {
            raw.filter(|raw| raw.kind() == Kind::Object)
                .unwrap_or_else(Raw::empty_object)
        };
        Ok(ServerHello {
            revision,
            capabilities: object(capabilities),
            server_info: object(server_info),
            instructions: instructions.and_then(|raw| raw.as_text().map(|text| text.into_owned())),
        })
    }
}
