//! The `requestState` of a parked call: an opaque text that only this process can issue.
//!
//! It names the parked call and is bound to the principal, the request and a time. A MAC protects
//! it, because clients could otherwise answer the questions of others.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use narrows_policy::Principal;
use narrows_wire::Raw;
use ring::hmac;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// The length of a state in bytes: id, expiry, owner, request, MAC.
const LENGTH: usize = 16 + 8 + 32 + 32 + 32;

/// The identity of a request and of its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) owner: [u8; 32],
    request: [u8; 32],
}

impl Binding {
    /// Binds to the principal at an entry point, and to the method and params without the members
    /// that differ between the rounds of a request.
    pub(crate) fn new(
        principal: &Principal,
        entrypoint: (bool, &str),
        method: &str,
        params: Option<&Raw>,
    ) -> Binding {
        let mut owner = Sha256::new();
        match principal {
            Principal::Local => owner.update([0]),
            Principal::Anonymous => owner.update([1]),
            Principal::Client(_) => {
                owner.update([2]);
                owner.update(format!("{principal:?}"));
            }
        }
        owner.update([u8::from(entrypoint.0)]);
        owner.update(entrypoint.1);
        let mut request = Sha256::new();
        request.update(method);
        let mut members: Vec<_> = params.iter().flat_map(|params| params.members()).collect();
        members.sort_by(|(one, _), (two, _)| one.cmp(two));
        for (key, value) in members {
            if !matches!(&*key, "_meta" | "inputResponses" | "requestState") {
                request.update((key.len() as u64).to_be_bytes());
                request.update(&*key);
                request.update((value.len() as u64).to_be_bytes());
                request.update(value.as_bytes());
            }
        }
        Binding {
            owner: owner.finalize().into(),
            request: request.finalize().into(),
        }
    }
}

/// The reason why a state is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadState {
    Forged,
    Expired,
    OtherClient,
    OtherRequest,
}

impl BadState {
    pub(crate) fn message(self) -> &'static str {
        match self {
            BadState::Forged => {
                "requestState is not valid: it was changed, or issued before the gateway was restarted. Send the request again without it"
            }
            BadState::Expired => {
                "requestState has expired or was already used. Send the request again without it"
            }
            BadState::OtherClient => "requestState was issued to another client",
            BadState::OtherRequest => {
                "requestState was issued for a request with other params. Repeat the params unchanged"
            }
        }
    }
}

/// Issues and verifies states, with a key that no other process has.
pub(crate) struct Sealer {
    key: hmac::Key,
    start: Instant,
}

impl Sealer {
    pub(crate) fn new() -> Sealer {
        let mut key = [0; 32];
        getrandom::fill(&mut key).expect("the operating system provides random numbers");
        Sealer {
            key: hmac::Key::new(hmac::HMAC_SHA256, &key),
            start: Instant::now(),
        }
    }

    pub(crate) fn seal(&self, id: u128, binding: &Binding, lifetime: Duration) -> String {
        let expiry = (self.start.elapsed() + lifetime).as_millis() as u64;
        let mut state = Vec::with_capacity(LENGTH);
        state.extend(id.to_be_bytes());
        state.extend(expiry.to_be_bytes());
        state.extend(binding.owner);
        state.extend(binding.request);
        state.extend(hmac::sign(&self.key, &state).as_ref());
        URL_SAFE_NO_PAD.encode(state)
    }

    /// Returns the id of the parked call.
    pub(crate) fn open(&self, state: &str, binding: &Binding) -> Result<u128, BadState> {
        if state.len() > 2 * LENGTH {
            return Err(BadState::Forged);
        }
        let state = URL_SAFE_NO_PAD
            .decode(state)
            .map_err(|_| BadState::Forged)?;
        if state.len() != LENGTH {
            return Err(BadState::Forged);
        }
        let (payload, mac) = state.split_at(LENGTH - 32);
        hmac::verify(&self.key, payload, mac).map_err(|_| BadState::Forged)?;
        let (id, rest) = payload.split_at(16);
        let (expiry, rest) = rest.split_at(8);
        let (owner, request) = rest.split_at(32);
        if owner != binding.owner {
            return Err(BadState::OtherClient);
        }
        if request != binding.request {
            return Err(BadState::OtherRequest);
        }
        let expiry = u64::from_be_bytes(expiry.try_into().map_err(|_| BadState::Forged)?);
        if self.start.elapsed().as_millis() as u64 >= expiry {
            return Err(BadState::Expired);
        }
        let id = id.try_into().map_err(|_| BadState::Forged)?;
        Ok(u128::from_be_bytes(id))
    }
}
