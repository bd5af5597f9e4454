//! Questions of upstreams that the client has not answered yet.

use std::collections::HashMap;

use bytes::Bytes;
use narrows_wire::{Id, Kind, Raw, encode_notification, token};

use crate::exchange::{Ask, AskKey, AskReply, Refusal};
use crate::lock::Mutex;

/// An upstream that asks without end is refused from here on.
const MAX_OPEN: usize = 256;

#[derive(Default)]
pub(super) struct OpenAsks(Mutex<State>);

#[derive(Default)]
struct State {
    last: u64,
    /// By the id that the client knows.
    open: HashMap<Id, OpenAsk>,
}

struct OpenAsk {
    key: AskKey,
    reply: AskReply,
    /// The upstream's own progress token, where it gave one.
    token: Option<Raw>,
}

impl OpenAsks {
    /// Notes a question and gives it the form in which it goes to the client.
    pub(super) fn put(&self, mut ask: Ask) -> Option<Bytes> {
        let mut state = self.0.lock();
        if state.open.len() >= MAX_OPEN {
            drop(state);
            ask.reply.answer(Err(Refusal::NoAnswer.error()));
            return None;
        }
        state.last += 1;
        let id = token::ask_id(&ask.server, state.last);
        let mut own_token = None;
        if let Some(params) = &ask.params
            && let Some(meta) = params.member("_meta")
            && let Some(token) = meta.member("progressToken")
        {
            // Two servers may use the same token; the id is ours alone.
            ask.params = Some(params.edit().replace(&token, Raw::string(&id)).finish());
            own_token = Some(token);
        }
        let id = Id::string(&id);
        let message = ask.encode(&id);
        state.open.insert(
            id,
            OpenAsk {
                key: ask.key,
                reply: ask.reply,
                token: own_token,
            },
        );
        Some(message)
    }

    pub(super) fn answer(&self, id: &Id, body: Result<Raw, Raw>) {
        let ask = self.0.lock().open.remove(id);
        if let Some(ask) = ask {
            ask.reply.answer(body);
        }
    }

    /// The notice that tells the client not to bother.
    pub(super) fn withdraw(&self, key: &AskKey) -> Option<Bytes> {
        let mut state = self.0.lock();
        let id = state
            .open
            .iter()
            .find(|(_, ask)| ask.key == *key)
            .map(|(id, _)| id.clone())?;
        let ask = state.open.remove(&id)?;
        drop(state);
        ask.reply.forget();
        let params = Raw::empty_object().with_member("requestId", id.as_raw());
        Some(encode_notification(
            "notifications/cancelled",
            Some(&params),
        ))
    }

    /// Progress of the client on a question goes to who asked.
    pub(super) fn progress(&self, params: Option<Raw>) {
        let Some(params) = params else { return };
        let Some(place) = params
            .member("progressToken")
            .filter(|token| token.kind() == Kind::String)
        else {
            return;
        };
        let Some(id) = Id::from_raw(place.clone()) else {
            return;
        };
        let state = self.0.lock();
        if let Some(OpenAsk {
            reply,
            token: Some(token),
            ..
        }) = state.open.get(&id)
        {
            reply.notify(
                "notifications/progress",
                Some(params.edit().replace(&place, token.clone()).finish()),
            );
        }
    }

    /// Refuses all of them: the client is gone.
    pub(super) fn drop_all(&self) {
        let open = std::mem::take(&mut self.0.lock().open);
        drop(open);
    }
}
