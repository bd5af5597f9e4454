//! Requests of servers as questions in a result, and the answers in the next request.

use std::borrow::Cow;

use narrows_upstream::exchange::{Ask, AskKey};
use narrows_wire::{ClientHello, Kind, Raw, token};

use crate::error::Error;

/// The maximum length of a key that a server chose.
const MAX_KEY: usize = 128;

/// A question that the client has not answered.
pub(crate) struct Question {
    key: String,
    ask: Ask,
}

/// The unanswered questions of a call.
#[derive(Default)]
pub(crate) struct Questions {
    open: Vec<Question>,
    last: u64,
}

impl Questions {
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Adds a request of a server. Refuses one for which the client lacks the capability.
    pub(crate) fn add(&mut self, ask: Ask, client: &ClientHello) -> Result<(), Error> {
        if let Some(required) = missing_capability(&ask, client) {
            return Err(Error::MissingCapability {
                method: ask.method.clone(),
                required,
            });
        }
        self.last += 1;
        // A server of this era chose the key; a string id is as good.
        let own = match &ask.input_key {
            Some(key) => Some(Cow::Borrowed(&**key)),
            None => ask.key.id.as_raw().as_text(),
        };
        let own = own.filter(|own| !own.is_empty() && own.len() <= MAX_KEY);
        let is_free = |key: &str| self.open.iter().all(|question| question.key != key);
        let key = match own {
            Some(own) if is_free(&own) => own.into_owned(),
            _ => token::ask_id(&ask.server, self.last),
        };
        self.open.push(Question { key, ask });
        Ok(())
    }

    /// Forgets a request that its server has cancelled.
    pub(crate) fn withdraw(&mut self, key: &AskKey) {
        if let Some(at) = self
            .open
            .iter()
            .position(|question| question.ask.key == *key)
        {
            self.open.swap_remove(at).ask.reply.forget();
        }
    }

    /// Forgets all requests because the call has ended.
    pub(crate) fn forget(&mut self) {
        for question in self.open.drain(..) {
            question.ask.reply.forget();
        }
    }

    /// Answers the questions for a client that does not return.
    pub(crate) fn decline(&mut self) {
        for question in self.open.drain(..) {
            if &*question.ask.method == "elicitation/create" {
                let answer = Raw::from_static(r#"{"action":"cancel"}"#);
                question.ask.reply.answer(Ok(answer));
            }
            // Other requests are refused when they are dropped.
        }
    }

    /// Passes the client's answers to the servers. Invalid answers leave their questions open.
    pub(crate) fn answer(&mut self, responses: Option<&Raw>) {
        let Some(responses) = responses.filter(|responses| responses.kind() == Kind::Object) else {
            return;
        };
        for (key, answer) in responses.members() {
            let Some(at) = self.open.iter().position(|question| question.key == key) else {
                continue;
            };
            if is_answer(&self.open[at].ask.method, &answer) {
                let question = self.open.remove(at);
                question.ask.reply.answer(Ok(answer));
            }
        }
    }

    /// Returns the `inputRequests` of a result.
    pub(crate) fn encode(&self) -> Raw {
        self.open.iter().fold(Raw::empty_object(), |all, question| {
            let method = Raw::string(&question.ask.method);
            let mut request = Raw::empty_object().with_member("method", &method);
            if let Some(params) = &question.ask.params {
                // A progress token or a task belongs to the exchange with the server.
                let params = params.without_member("_meta").without_member("task");
                request = request.with_member("params", &params);
            }
            all.with_member(&question.key, &request)
        })
    }
}

/// Returns the capability that a request needs and the client did not declare.
fn missing_capability(ask: &Ask, client: &ClientHello) -> Option<&'static str> {
    let [roots, sampling, elicitation] = client
        .capabilities
        .pick(["roots", "sampling", "elicitation"])
        .unwrap_or_default();
    let param = |name| ask.params.as_ref().and_then(|params| params.member(name));
    match &*ask.method {
        "roots/list" => roots.is_none().then_some(r#"{"roots":{}}"#),
        "sampling/createMessage" => match sampling {
            None => Some(r#"{"sampling":{}}"#),
            Some(sampling) => (param("tools").is_some() && sampling.member("tools").is_none())
                .then_some(r#"{"sampling":{"tools":{}}}"#),
        },
        _ => {
            let is_url = param("mode").is_some_and(|mode| mode.as_text().as_deref() == Some("url"));
            match elicitation {
                Some(elicitation) if is_url => {
                    (elicitation.member("url").is_none()).then_some(r#"{"elicitation":{"url":{}}}"#)
                }
                // Without any mode, the capability means forms.
                Some(elicitation) => (elicitation.member("form").is_none()
                    && elicitation.member("url").is_some())
                .then_some(r#"{"elicitation":{"form":{}}}"#),
                None if is_url => Some(r#"{"elicitation":{"url":{}}}"#),
                None => Some(r#"{"elicitation":{}}"#),
            }
        }
    }
}

/// Returns true if the answer has the members that its request demands.
fn is_answer(method: &str, answer: &Raw) -> bool {
    if answer.kind() != Kind::Object {
        return false;
    }
    let has = |name| answer.member(name).is_some();
    match method {
        "roots/list" => (answer.member("roots")).is_some_and(|roots| roots.kind() == Kind::Array),
        "sampling/createMessage" => has("role") && has("content") && has("model"),
        _ => {
            let action = answer.member("action");
            let action = action.as_ref().and_then(Raw::as_text);
            matches!(action.as_deref(), Some("accept" | "decline" | "cancel"))
        }
    }
}
