//! Input that a server requires for a call: each part becomes a request to the client (MCP
//! 2026-07-28, multi round-trip requests).

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use narrows_wire::token::random_id;
use narrows_wire::{Id, Kind, Raw};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::Modern;
use crate::exchange::{Ask, AskKey, AskReply, AskResponder, Event, EventSink};
use crate::failure::LinkError;
use crate::request::Outgoing;

/// The maximum number of requests to the client in one round.
const MAX_INPUTS: usize = 32;

const ELICITATION: &str = "elicitation/create";

/// One request of a server to the client.
struct InputRequest {
    /// The server's name for the request.
    key: String,
    method: Box<str>,
    params: Option<Raw>,
}

/// Receives the client's responses.
struct Collector(mpsc::Sender<(Id, Result<Raw, Raw>)>);

/// The requests that the client has not answered. They are withdrawn when this is dropped.
struct OpenInputs<'a> {
    sink: &'a EventSink,
    link: u64,
    open: Vec<(Id, InputRequest)>,
}

impl Modern {
    /// Asks the client for the input that `result` requires. Returns the members with which the
    /// call continues.
    pub(super) async fn gather(
        &self,
        call: &Outgoing<'_>,
        result: &Raw,
    ) -> Result<Vec<(&'static str, Raw)>, LinkError> {
        let [requests, state] = result
            .pick(["inputRequests", "requestState"])
            .map_err(|_| LinkError::Invalid("it contains a member twice".to_owned()))?;
        let mut resumed = Vec::with_capacity(2);
        if requests.is_none() && state.is_none() {
            let detail = "it requires input, but says neither which nor for what state";
            return Err(LinkError::Invalid(detail.to_owned()));
        }
        if let Some(requests) = requests {
            let responses = self.ask_all(call, read(&requests)?).await?;
            resumed.push(("inputResponses", responses));
        }
        if let Some(state) = state {
            // Detached from the result, which may be large.
            resumed.push(("requestState", state.detached()));
        }
        Ok(resumed)
    }

    async fn ask_all(
        &self,
        call: &Outgoing<'_>,
        requests: Vec<InputRequest>,
    ) -> Result<Raw, LinkError> {
        let Some(origin) = &call.origin else {
            let detail = "it requires input for a call that belongs to no client";
            return Err(LinkError::Invalid(detail.to_owned()));
        };
        for request in &requests {
            if !origin.asks.allows(&request.method) {
                let detail = format!(
                    "it requires {}, which the client does not support",
                    excerpt(&request.method)
                );
                return Err(LinkError::Invalid(detail));
            }
        }
        let (collector, mut answers) = mpsc::channel(requests.len().max(1));
        let collector = Arc::new(Collector(collector));
        let mut asked = OpenInputs {
            sink: &origin.sink,
            link: self.serial,
            open: Vec::with_capacity(requests.len()),
        };
        for request in requests {
            let ask = self.ask(&request, &collector);
            asked.open.push((ask.key.id.clone(), request));
            // A request that the queue refuses is dropped, and answered with an error.
            origin.sink.send(Event::Ask(ask));
        }
        drop(collector);
        let deadline = Instant::now() + call.timeout.min(super::listen::FOREVER);
        let mut responses = Raw::empty_object();
        while !asked.open.is_empty() {
            let answer = timeout_at(deadline, answers.recv()).await;
            let answer = answer.map_err(|_| LinkError::Timeout(call.timeout))?;
            let Some((id, body)) = answer else {
                let detail = "the client did not answer all requests of the server";
                return Err(LinkError::Invalid(detail.to_owned()));
            };
            let Some(at) = asked.open.iter().position(|(open, _)| *open == id) else {
                continue;
            };
            let (_, request) = asked.open.swap_remove(at);
            let response = response(&request, body)?;
            responses = responses.with_member(&request.key, &response);
        }
        Ok(responses)
    }

    fn ask(&self, request: &InputRequest, collector: &Arc<Collector>) -> Ask {
        let id = Id::number(self.next_ask.fetch_add(1, Ordering::Relaxed));
        Ask {
            server: self.server.clone(),
            method: request.method.clone(),
            params: request.params.clone(),
            input_key: Some(request.key.as_str().into()),
            key: AskKey {
                link: self.serial,
                id: id.clone(),
            },
            reply: AskReply::new(collector.clone(), id),
        }
    }
}

impl AskResponder for Collector {
    fn answer(&self, id: &Id, body: Result<Raw, Raw>) {
        // There is room for one answer to each request.
        let _ = self.0.try_send((id.clone(), body));
    }

    fn notify(&self, _: &str, _: Option<Raw>) {
        // The modern era has no messages about a request that the client answers.
    }
}

impl Drop for OpenInputs<'_> {
    fn drop(&mut self) {
        for (id, _) in self.open.drain(..) {
            let key = AskKey {
                link: self.link,
                id,
            };
            self.sink.send(Event::Withdraw(key));
        }
    }
}

/// Reads the requests of a server.
fn read(requests: &Raw) -> Result<Vec<InputRequest>, LinkError> {
    let invalid = |what: &str| LinkError::Invalid(format!("its inputRequests {what}"));
    if requests.kind() != Kind::Object {
        return Err(invalid("are not an object"));
    }
    let mut keys = HashSet::new();
    let mut all = Vec::new();
    for (key, request) in requests.members() {
        if all.len() == MAX_INPUTS {
            return Err(invalid(&format!("are more than {MAX_INPUTS}")));
        }
        let [method, params] = request
            .pick(["method", "params"])
            .map_err(|_| invalid("contain a member twice"))?;
        let method = method.as_ref().and_then(Raw::as_text);
        let method = method.ok_or_else(|| invalid("have no method"))?;
        if !keys.insert(key.clone().into_owned()) {
            return Err(invalid("contain a name twice"));
        }
        let params = params.filter(|params| params.kind() == Kind::Object);
        all.push(InputRequest {
            key: key.into_owned(),
            params: for_legacy(&method, params),
            method: method.into(),
        });
    }
    Ok(all)
}

/// Adds the id that MCP 2025-11-25 requires of elicitations by URL.
fn for_legacy(method: &str, params: Option<Raw>) -> Option<Raw> {
    let params = params?;
    let is_url = |mode: Raw| mode.as_text().is_some_and(|mode| mode == "url");
    let needs_id = method == ELICITATION
        && params.member("mode").is_some_and(is_url)
        && params.member("elicitationId").is_none();
    Some(match needs_id {
        true => params.with_member("elicitationId", &Raw::string(&random_id())),
        false => params,
    })
}

/// Returns the client's response in the form of this era, which has none for errors.
fn response(request: &InputRequest, body: Result<Raw, Raw>) -> Result<Raw, LinkError> {
    let error = match body {
        Ok(result) if result.kind() == Kind::Object => return Ok(result),
        Ok(_) => Raw::empty_object(),
        Err(error) => error,
    };
    if &*request.method == ELICITATION {
        return Ok(Raw::from_static(r#"{"action":"cancel"}"#));
    }
    let reason = error.member("message");
    let reason = reason.as_ref().and_then(Raw::as_text).unwrap_or_default();
    let message = format!(
        "The client did not answer {}: {}",
        request.method,
        excerpt(&reason)
    );
    let error = Raw::from_static(r#"{"code":-32603}"#);
    Err(LinkError::Answered(
        error.with_member("message", &Raw::string(&message)),
    ))
}

fn excerpt(text: &str) -> String {
    text.chars().take(200).collect()
}
