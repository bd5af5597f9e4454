//! The connection to a built-in server: reads messages, answers the handshake, runs every other
//! request in its own task and aborts the task when the request is cancelled.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use narrows_wire::{
    Error, Id, Incoming, Message, Notification, Raw, Request, Revision, decode, encode_error,
    encode_result,
};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio_util::task::AbortOnDropHandle;

use super::peer::ClientHandle;
use super::{BuiltinCall, BuiltinServer, RpcError};
use narrows_upstream::offload;
use narrows_upstream::{Channel, ChannelEvent};

/// The number of messages queued in each direction.
const QUEUE: usize = 256;
/// The number of requests in progress at once. Further requests are refused instead of queued,
/// because the response that a running request waits for may be queued behind them.
const CALLS: usize = 1_024;

/// Serves one connection until it is closed or dropped.
pub(super) fn open(server: impl BuiltinServer) -> Channel {
    let (outgoing, requests) = mpsc::channel(QUEUE);
    let (answers, arrivals) = mpsc::channel(QUEUE);
    let connection = Connection {
        server: Arc::new(server),
        peer: ClientHandle::new(answers),
        calls: HashMap::new(),
        tasks: JoinSet::new(),
    };
    // The task is owned by the closer: dropping the closer ends the connection and all calls.
    let task = AbortOnDropHandle::new(tokio::spawn(connection.serve(requests)));
    let incoming = stream::unfold(arrivals, async |mut arrivals| {
        let message: Bytes = arrivals.recv().await?;
        Some((ChannelEvent::Message(message), arrivals))
    });
    Channel {
        outgoing,
        incoming: incoming.boxed(),
        closer: Box::new(move || {
            Box::pin(async move {
                task.abort();
                let _ = task.await;
            })
        }),
    }
}

struct Connection<S> {
    server: Arc<S>,
    peer: ClientHandle,
    calls: HashMap<Id, AbortHandle>,
    /// The running calls. Each task returns the id of its call.
    tasks: JoinSet<Id>,
}

impl<S: BuiltinServer> Connection<S> {
    async fn serve(mut self, mut requests: mpsc::Receiver<Bytes>) {
        loop {
            tokio::select! {
                message = requests.recv() => match message {
                    Some(message) => self.handle(message).await,
                    None => return,
                },
                Some(ended) = self.tasks.join_next() => self.call_ended(ended).await,
            }
        }
    }

    async fn handle(&mut self, message: Bytes) {
        match decode(message) {
            Ok(Incoming::Single(message)) => self.handle_message(message).await,
            Ok(Incoming::Batch(messages)) => {
                for message in messages {
                    match message {
                        Ok(message) => self.handle_message(message).await,
                        Err(error) => self.handle_invalid(error).await,
                    }
                }
            }
            Err(error) => self.handle_invalid(error).await,
        }
    }

    async fn handle_message(&mut self, message: Message) {
        match message {
            Message::Request(request) => self.handle_request(request).await,
            Message::Notification(notification) => self.handle_notification(&notification),
            Message::Response(response) => self.peer.answered(response),
        }
    }

    async fn handle_invalid(&mut self, error: Error) {
        let (code, id) = match &error {
            Error::Parse(_) => (-32700, None),
            Error::Invalid { id, .. } => (-32600, id.clone()),
        };
        let answer = RpcError {
            code,
            message: error.to_string(),
        };
        self.refuse(id.as_ref(), &answer).await;
    }

    async fn handle_request(&mut self, request: Request) {
        let Request { id, method, params } = request;
        match &*method {
            "initialize" => {
                let hello = self.hello(params.as_ref());
                self.peer.send(encode_result(&id, &hello)).await;
            }
            "ping" => {
                self.peer
                    .send(encode_result(&id, &Raw::empty_object()))
                    .await
            }
            _ if self.calls.contains_key(&id) => {
                let error = RpcError {
                    code: -32600,
                    message: "Request id is already in use".into(),
                };
                self.refuse(Some(&id), &error).await;
            }
            _ if self.calls.len() >= CALLS => {
                let error =
                    RpcError::internal(format!("Too many requests in flight (limit {CALLS})"));
                self.refuse(Some(&id), &error).await;
            }
            _ => {
                let call = BuiltinCall {
                    method,
                    params,
                    peer: self.peer.clone(),
                };
                let task = self
                    .tasks
                    .spawn(answer(self.server.clone(), id.clone(), call));
                self.calls.insert(id, task);
            }
        }
    }

    fn handle_notification(&mut self, notification: &Notification) {
        if &*notification.method != "notifications/cancelled" {
            return;
        }
        let id = notification
            .params
            .as_ref()
            .and_then(|params| params.member("requestId"));
        // A cancelled request gets no response (MCP 2025-11-25, cancellation).
        if let Some(task) = id
            .and_then(Id::from_raw)
            .and_then(|id| self.calls.remove(&id))
        {
            task.abort();
        }
    }

    fn hello(&self, params: Option<&Raw>) -> Raw {
        let capabilities = params.and_then(|params| params.member("capabilities"));
        self.peer
            .declare(capabilities.unwrap_or_else(Raw::empty_object));
        let pending = params.and_then(|params| params.member("protocolVersion"));
        let pending = pending.as_ref().and_then(Raw::as_text).unwrap_or_default();
        Raw::empty_object()
            .with_member(
                "protocolVersion",
                &Raw::string(Revision::negotiate(&pending).as_str()),
            )
            .with_member("capabilities", &self.server.capabilities())
            .with_member("serverInfo", &self.server.info())
            .with_member("instructions", &Raw::string(self.server.instructions()))
    }

    async fn call_ended(&mut self, ended: Result<Id, JoinError>) {
        match ended {
            Ok(id) => drop(self.calls.remove(&id)),
            // A panic fails only this call and leaves the connection open.
            Err(error) if error.is_panic() => {
                let failed = self.calls.iter().find(|(_, task)| task.id() == error.id());
                if let Some(id) = failed.map(|(id, _)| id.clone()) {
                    self.calls.remove(&id);
                    self.refuse(
                        Some(&id),
                        &RpcError::internal("Internal error in the built-in server"),
                    )
                    .await;
                }
            }
            Err(_) => {}
        }
    }

    async fn refuse(&self, id: Option<&Id>, error: &RpcError) {
        self.peer
            .send(encode_error(id, &Raw::from_serialize(error)))
            .await;
    }
}

async fn answer(server: Arc<impl BuiltinServer>, id: Id, call: BuiltinCall) -> Id {
    let message = match server.answer(&call).await {
        Ok(result) => {
            let id = id.clone();
            offload::run(result.len(), move || encode_result(&id, &result)).await
        }
        Err(error) => encode_error(Some(&id), &Raw::from_serialize(&error)),
    };
    call.peer.send(message).await;
    id
}
