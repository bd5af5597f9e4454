//! Calls whose clients requested progress, by the progress token that the server received.
//!
//! A server should report progress on the stream of the call, where it needs no lookup. Many
//! servers send it on the GET stream instead, for example those that use the low-level interface of
//! the official TypeScript SDK. There, only the token identifies the call.

use std::collections::HashMap;
use std::sync::Arc;

use narrows_wire::Raw;
use parking_lot::Mutex;

use super::renewable_timeout::RenewableTimeout;
use crate::exchange::Notice;
use crate::request::{Origin, Outgoing};

#[derive(Default)]
pub(super) struct Progress(Mutex<HashMap<u64, WatchedCall>>);

struct WatchedCall {
    origin: Origin,
    /// The client's own token.
    token: Raw,
    timeout: Arc<RenewableTimeout>,
}

/// The registration of a call, which is removed when this is dropped.
pub(super) struct WatchGuard<'a> {
    progress: &'a Progress,
    id: u64,
}

impl Progress {
    /// Registers a call to receive its progress, if its client has requested progress.
    pub(super) fn watch(
        &self,
        id: u64,
        call: &Outgoing<'_>,
        timeout: &Arc<RenewableTimeout>,
    ) -> Option<WatchGuard<'_>> {
        let token = call.progress_token.clone()?;
        let waiting = WatchedCall {
            origin: call.origin.clone()?,
            token,
            timeout: timeout.clone(),
        };
        self.0.lock().insert(id, waiting);
        Some(WatchGuard { progress: self, id })
    }

    /// Renews the timeout of the call that the token identifies, and forwards the notification
    /// under the client's own token.
    pub(super) fn forward(&self, server: &Arc<str>, params: &Raw) {
        let Some(token) = params.member("progressToken") else {
            return;
        };
        let calls = self.0.lock();
        if let Some(call) = token.as_u64().and_then(|id| calls.get(&id)) {
            call.timeout.renew();
            let params = params.edit().replace(&token, call.token.clone()).finish();
            let notice = Notice::from_server(server, "notifications/progress", Some(params));
            call.origin.notice(notice);
        }
    }
}

impl Drop for WatchGuard<'_> {
    fn drop(&mut self) {
        self.progress.0.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests;
