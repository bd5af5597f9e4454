//! Requests of upstreams that the client has not answered yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use narrows_wire::{Id, Raw, encode_notification, token};
use parking_lot::Mutex;

use narrows_upstream::exchange::{Ask, AskKey, AskReply};

/// The maximum number of unanswered requests. Beyond it, the oldest is refused.
const MAX_OPEN: usize = 256;

#[derive(Default)]
pub(super) struct OpenAsks(Mutex<AskTable>);

#[derive(Default)]
struct AskTable {
    last: u64,
    /// The open requests, by the number in the id that the client sees.
    open: BTreeMap<u64, OpenAsk>,
}

struct OpenAsk {
    server: Arc<str>,
    key: AskKey,
    reply: AskReply,
    /// The upstream's own progress token, if any.
    token: Option<Raw>,
}

impl OpenAsks {
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().open.is_empty()
    }

    /// Registers a request and encodes it for the client.
    pub(super) fn put(&self, mut ask: Ask) -> Bytes {
        let mut state = self.0.lock();
        state.last += 1;
        let seq = state.last;
        let id = token::ask_id(&ask.server, seq);
        let mut own_token = None;
        if let Some(params) = &ask.params
            && let Some(meta) = params.member("_meta")
            && let Some(token) = meta.member("progressToken")
        {
            // Two servers may use the same token, but the id is unique.
            ask.params = Some(params.edit().replace(&token, Raw::string(&id)).finish());
            own_token = Some(token);
        }
        let message = ask.encode(&Id::string(&id));
        let open = OpenAsk {
            server: ask.server,
            key: ask.key,
            reply: ask.reply,
            token: own_token,
        };
        state.open.insert(seq, open);
        let forgotten = match state.open.len() > MAX_OPEN {
            true => state.open.pop_first(),
            false => None,
        };
        drop(state);
        // Dropping the request refuses it. Done outside the lock.
        drop(forgotten);
        message
    }

    pub(super) fn answer(&self, id: &Id, body: Result<Raw, Raw>) {
        let Some(seq) = self.find(id.as_raw()) else {
            return;
        };
        let ask = self.0.lock().open.remove(&seq);
        if let Some(ask) = ask {
            ask.reply.answer(body);
        }
    }

    /// Returns the notification that cancels the request at the client.
    pub(super) fn withdraw(&self, key: &AskKey) -> Option<Bytes> {
        let mut state = self.0.lock();
        let found = state.open.iter().find(|(_, ask)| ask.key == *key);
        let seq = *found?.0;
        let ask = state.open.remove(&seq)?;
        drop(state);
        ask.reply.forget();
        let id = Raw::string(&token::ask_id(&ask.server, seq));
        let params = Raw::empty_object().with_member("requestId", &id);
        Some(encode_notification(
            "notifications/cancelled",
            Some(&params),
        ))
    }

    /// Forwards the client's progress on a request to the server that sent it.
    pub(super) fn progress(&self, params: Option<Raw>) {
        let Some(params) = params else { return };
        let Some(place) = params.member("progressToken") else {
            return;
        };
        let Some(seq) = self.find(&place) else { return };
        let state = self.0.lock();
        if let Some(OpenAsk {
            reply,
            token: Some(token),
            ..
        }) = state.open.get(&seq)
        {
            let params = params.edit().replace(&place, token.clone()).finish();
            reply.notify("notifications/progress", Some(params));
        }
    }

    /// Refuses all open requests because the client has disconnected.
    pub(super) fn drop_all(&self) {
        let open = std::mem::take(&mut self.0.lock().open);
        drop(open);
    }

    /// Returns the number of the open request with this id or token.
    fn find(&self, id: &Raw) -> Option<u64> {
        let text = id.as_text()?;
        let (server, seq) = token::parse_ask_id(&text)?;
        let state = self.0.lock();
        state.open.get(&seq).filter(|ask| &*ask.server == server)?;
        Some(seq)
    }
}
