//! Messages without a response: notifications, and responses to server requests. One task posts
//! them in order.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::endpoint::Endpoint;
use crate::web::HttpError;

/// The maximum number of messages that wait for a slow server. Further notifications are dropped.
const MAX_WAITING: usize = 256;

/// The time after which a message that the server has not accepted no longer delays the next one.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Outbox {
    queue: mpsc::Sender<OutboxItem>,
    /// Limits the messages that wait for room in the queue.
    late: Arc<Semaphore>,
    _task: AbortOnDropHandle<()>,
}

enum OutboxItem {
    Message(Bytes),
    /// Sent when all earlier messages have been posted.
    Mark(oneshot::Sender<()>),
}

impl Outbox {
    pub(super) fn new(endpoint: Arc<Endpoint>, server: Arc<str>) -> Self {
        let (queue, waiting) = mpsc::channel(MAX_WAITING);
        let task = tokio::spawn(deliver(waiting, endpoint, server));
        Outbox {
            queue,
            late: Arc::new(Semaphore::new(MAX_WAITING)),
            _task: AbortOnDropHandle::new(task),
        }
    }

    /// Adds a message to the queue. Returns false if the queue is full and the message is dropped.
    pub(super) fn put(&self, message: Bytes) -> bool {
        self.queue.try_send(OutboxItem::Message(message)).is_ok()
    }

    /// Adds a message that must not be lost as long as the server accepts messages at all.
    pub(super) fn put_reserved(&self, message: Bytes) {
        if let Err(mpsc::error::TrySendError::Full(item)) =
            self.queue.try_send(OutboxItem::Message(message))
            && let Ok(permit) = self.late.clone().try_acquire_owned()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let queue = self.queue.clone();
            runtime.spawn(async move {
                let _ = queue.send(item).await;
                drop(permit);
            });
        }
    }

    /// Waits until all queued messages have been posted.
    pub(super) async fn empty(&self) {
        let (mark, reached) = oneshot::channel();
        if self.queue.send(OutboxItem::Mark(mark)).await.is_ok() {
            let _ = reached.await;
        }
    }
}

async fn deliver(
    mut waiting: mpsc::Receiver<OutboxItem>,
    endpoint: Arc<Endpoint>,
    server: Arc<str>,
) {
    while let Some(item) = waiting.recv().await {
        let message = match item {
            OutboxItem::Message(message) => message,
            OutboxItem::Mark(mark) => {
                let _ = mark.send(());
                continue;
            }
        };
        match tokio::time::timeout(ACCEPT_TIMEOUT, post(&endpoint, message)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let error = error.into_link_error(endpoint.shown());
                tracing::debug!(%server, ?error, "the server did not accept a message");
            }
            Err(_) => tracing::debug!(%server, "the server did not accept a message in time"),
        }
    }
}

/// Posts a message that has no response (MCP 2025-03-26 and later: 202 Accepted).
pub(super) async fn post(endpoint: &Endpoint, message: Bytes) -> Result<(), HttpError> {
    let answer = endpoint
        .post(&endpoint.session(), message, &mut false)
        .await?;
    answer.discard(&endpoint.address.pool).await;
    Ok(())
}
