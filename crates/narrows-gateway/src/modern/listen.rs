//! `subscriptions/listen`: notifications outside requests.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use narrows_upstream::exchange::{Event, EventSink, EventStream, Notice};
use narrows_upstream::memory::ClientMemory;
use narrows_wire::modern::SUBSCRIPTION_ID;
use narrows_wire::{Id, Kind, Raw, Request};
use tokio::time::timeout;

use super::results;
use crate::call::ViewSource;
use crate::error::Error;
use crate::session::{ActivityGuard, Session};

/// The maximum number of resources of one stream.
const MAX_RESOURCES: usize = 1_000;

/// The number of resources that are subscribed to at the same time.
const AT_ONCE: usize = 16;

/// The maximum time for all of them. Others are left out of the acknowledgement.
const SUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(10);

/// A stream of notifications. Its session ends with it.
pub struct ListenStream {
    session: Arc<Session>,
    outbox: EventStream,
    id: Id,
    filter: Filter,
    /// The acknowledgement, until it has been sent.
    acknowledgement: Option<Bytes>,
    _active: ActivityGuard,
}

/// The kinds of notifications that the client wants and the servers have.
#[derive(Default)]
struct Filter {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: Vec<Raw>,
}

impl ListenStream {
    /// Opens the stream on a session of its own.
    pub(crate) async fn open(
        session: Arc<Session>,
        outbox: EventStream,
        id: Id,
        params: Option<&Raw>,
    ) -> Result<ListenStream, Error> {
        let mut stream = ListenStream {
            _active: session.keep_active(),
            session,
            outbox,
            id,
            filter: Filter::default(),
            acknowledgement: None,
        };
        let wanted = params.and_then(|params| params.member("notifications"));
        let wanted = wanted.filter(|wanted| wanted.kind() == Kind::Object);
        let wanted = wanted.ok_or_else(|| {
            Error::BadParams("subscriptions/listen needs 'notifications' as an object".into())
        })?;
        stream.filter = stream.granted(&wanted).await?;
        let params = Raw::empty_object().with_member("notifications", &stream.filter.encode());
        let notice = Notice::new("notifications/subscriptions/acknowledged", Some(params));
        stream.acknowledgement = Some(stream.tagged(notice).encode());
        Ok(stream)
    }

    pub fn memory(&self) -> &ClientMemory {
        self.session.memory()
    }

    /// Polls for the next notification; `None` when the session has ended.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(acknowledgement) = self.acknowledgement.take() {
            return Poll::Ready(Some(acknowledgement));
        }
        loop {
            match self.outbox.poll_recv(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(event)) => {
                    if let Event::Notice(notice) = *event
                        && self.filter.wants(&notice)
                        && let Some(message) =
                            self.session.encode(Event::Notice(self.tagged(notice)))
                    {
                        return Poll::Ready(Some(message));
                    }
                }
            }
        }
    }

    /// Waits until the session has ended.
    pub async fn closed(&self) {
        self.session.closed().await;
    }

    /// Returns the session, whose end ends the stream.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Returns the result that ends the stream.
    pub fn end(&self) -> Raw {
        results::listened(&self.session.view(), &self.id)
    }

    /// Returns the part of the filter that the servers support.
    async fn granted(&self, wanted: &Raw) -> Result<Filter, Error> {
        let [tools, prompts, resources, uris] = wanted
            .pick([
                "toolsListChanged",
                "promptsListChanged",
                "resourcesListChanged",
                "resourceSubscriptions",
            ])
            .map_err(|error| Error::BadParams(error.to_string()))?;
        let capabilities = self.session.view().capabilities.clone();
        let has = |wanted: Option<Raw>, kind: &str, what: &str| {
            let offered = capabilities.member(kind).and_then(|kind| kind.member(what));
            wanted.and_then(|wanted| wanted.as_bool()) == Some(true)
                && offered.and_then(|offered| offered.as_bool()) == Some(true)
        };
        let uris: Vec<Raw> = match uris {
            Some(uris) => uris
                .elements()
                .filter(|uri| uri.kind() == Kind::String)
                .take(MAX_RESOURCES + 1)
                .map(|uri| uri.detached())
                .collect(),
            None => Vec::new(),
        };
        if uris.len() > MAX_RESOURCES {
            let message = format!("resourceSubscriptions has more than {MAX_RESOURCES} entries");
            return Err(Error::BadParams(message));
        }
        Ok(Filter {
            tools: has(tools, "tools", "listChanged"),
            prompts: has(prompts, "prompts", "listChanged"),
            resources: has(resources, "resources", "listChanged"),
            uris: self.subscribe(uris).await,
        })
    }

    /// Subscribes to resources and returns those that succeeded.
    async fn subscribe(&self, uris: Vec<Raw>) -> Vec<Raw> {
        let mut granted = Vec::new();
        let all = async {
            for (round, some) in uris.chunks(AT_ONCE).enumerate() {
                let requests = some.iter().enumerate().map(|(at, uri)| {
                    let request = Request {
                        id: Id::number((round * AT_ONCE + at) as u64),
                        method: "resources/subscribe".into(),
                        params: Some(Raw::empty_object().with_member("uri", uri)),
                    };
                    let (sink, _) = EventSink::channel(1);
                    self.session.clone().request(request, sink, None)
                });
                let outcomes = join_all(requests).await;
                let succeeded = some
                    .iter()
                    .zip(outcomes)
                    .filter(|(_, outcome)| outcome.is_ok());
                granted.extend(succeeded.map(|(uri, _)| uri.clone()));
            }
        };
        let _ = timeout(SUBSCRIBE_TIMEOUT, all).await;
        granted
    }

    fn tagged(&self, notice: Notice) -> Notice {
        let params = notice.params.clone().unwrap_or_else(Raw::empty_object);
        let meta = params.member("_meta").unwrap_or_else(Raw::empty_object);
        let meta = meta.with_member(SUBSCRIPTION_ID, self.id.as_raw());
        Notice {
            params: Some(params.with_member("_meta", &meta)),
            ..notice
        }
    }
}

impl Drop for ListenStream {
    fn drop(&mut self) {
        self.session.close();
    }
}

impl Filter {
    fn wants(&self, notice: &Notice) -> bool {
        match &*notice.method {
            "notifications/tools/list_changed" => self.tools,
            "notifications/prompts/list_changed" => self.prompts,
            "notifications/resources/list_changed" => self.resources,
            "notifications/resources/updated" => !self.uris.is_empty(),
            _ => false,
        }
    }

    fn encode(&self) -> Raw {
        let flags = [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ];
        let mut filter = Raw::empty_object();
        for (name, _) in flags.into_iter().filter(|(_, is_set)| *is_set) {
            filter = filter.with_member(name, &Raw::from_static("true"));
        }
        if self.uris.is_empty() {
            return filter;
        }
        let uris: Vec<_> = self.uris.iter().filter_map(Raw::as_text).collect();
        filter.with_member("resourceSubscriptions", &Raw::from_serialize(&uris))
    }
}
