//! The part of `initialize` in which a client describes itself.

use crate::Raw;

/// The self-description of a client, as sent.
#[derive(Debug, Clone)]
pub struct ClientHello {
    pub capabilities: Raw,
    pub client_info: Raw,
}

impl ClientHello {
    /// Returns the kinds of requests that the client accepts from servers.
    pub fn asks(&self) -> Asks {
        let [roots, sampling, elicitation] = self
            .capabilities
            .pick(["roots", "sampling", "elicitation"])
            .unwrap_or_default();
        Asks {
            roots: roots.is_some(),
            sampling: sampling.is_some(),
            elicitation: elicitation.is_some(),
        }
    }
}

/// The kinds of requests that servers send to clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Asks {
    pub roots: bool,
    pub sampling: bool,
    pub elicitation: bool,
}

impl Asks {
    pub fn any(self) -> bool {
        self.roots || self.sampling || self.elicitation
    }

    /// Returns true if a request of this method may be sent to the client.
    /// Links answer `ping` themselves; unknown methods are refused.
    pub fn allows(self, method: &str) -> bool {
        match method {
            "roots/list" => self.roots,
            "sampling/createMessage" => self.sampling,
            "elicitation/create" => self.elicitation,
            _ => false,
        }
    }
}
