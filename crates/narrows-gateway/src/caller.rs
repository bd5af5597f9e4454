//! The caller of a request, the same for every way in.

use std::sync::Arc;

use narrows_policy::Principal;
use narrows_wire::{ClientHello, Revision};

/// The client behind a request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The name of the endpoint that the client uses.
    pub endpoint: Arc<str>,
    pub principal: Principal,
    pub revision: Revision,
    pub client: ClientHello,
}
