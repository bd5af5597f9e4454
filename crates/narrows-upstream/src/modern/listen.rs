//! The stream of notifications of a link: changes of lists, and updates of resources.
//!
//! A server of the modern era sends them only on request, and the filter of a stream cannot be
//! changed. So one task keeps one stream open: when the filter changes, it opens a new stream before
//! it closes the old one, and when the stream is lost, it opens another after a pause.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::{HeaderMap, HeaderValue};
use narrows_wire::modern::{SUBSCRIPTION_ID, header};
use narrows_wire::{Kind, Raw};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::carrier::Carrier;
use crate::exchange::{Ask, AskKey, EventSink, Notice};
use crate::failure::LinkError;
use crate::handler::NotificationHandler;
use crate::handshake::ServerHello;
use crate::request::{ModernParts, Outgoing};

/// Longer than any link lives, and short enough to be added to any instant without overflow.
pub(super) const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// The time that a server has to acknowledge a stream.
const ACK_TIMEOUT: Duration = Duration::from_secs(5);

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The time that a stream must have been open for the pauses to start anew.
const STEADY_TIME: Duration = Duration::from_secs(30);

/// The maximum number of resources that a link is subscribed to.
const MAX_URIS: usize = 10_000;

const METHOD_NOT_FOUND: i64 = -32601;

const METHOD: &str = "subscriptions/listen";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// The notifications that a link receives.
pub(super) struct Subscriptions {
    wanted: watch::Sender<Filter>,
    /// The number of the filter that is in force.
    active: watch::Receiver<u64>,
    /// True if the server sends updates of resources.
    has_updates: bool,
    _task: AbortOnDropHandle<()>,
}

/// The notification of changes of a list.
#[derive(Debug)]
struct ListChange {
    /// The capability that announces it.
    capability: &'static str,
    /// The member of the filter that asks for it.
    member: &'static str,
    method: &'static str,
}

const LIST_CHANGES: [ListChange; 3] = [
    ListChange {
        capability: "tools",
        member: "toolsListChanged",
        method: "notifications/tools/list_changed",
    },
    ListChange {
        capability: "prompts",
        member: "promptsListChanged",
        method: "notifications/prompts/list_changed",
    },
    ListChange {
        capability: "resources",
        member: "resourcesListChanged",
        method: "notifications/resources/list_changed",
    },
];

#[derive(Debug, Clone, Default)]
struct Filter {
    /// Counts the changes of the filter.
    number: u64,
    lists: Vec<&'static ListChange>,
    uris: BTreeSet<String>,
}

/// Delivers the messages of a carrier outside any call, and notes which streams are acknowledged.
pub(crate) struct StreamHandler {
    inner: Arc<dyn NotificationHandler>,
    acknowledged: watch::Sender<u64>,
}

impl Subscriptions {
    pub(super) fn start(
        carrier: Carrier,
        meta: Arc<ArcSwap<Raw>>,
        hello: &ServerHello,
        handler: Arc<StreamHandler>,
    ) -> Subscriptions {
        let has = |capability: &str, member: &str| {
            let capability = hello.capabilities.member(capability);
            let value = capability.and_then(|capability| capability.member(member));
            value.and_then(|value| value.as_bool()) == Some(true)
        };
        let lists = LIST_CHANGES
            .iter()
            .filter(|list| has(list.capability, "listChanged"))
            .collect();
        let (wanted, filters) = watch::channel(Filter {
            lists,
            ..Filter::default()
        });
        let (report, active) = watch::channel(0);
        let has_updates = has("resources", "subscribe");
        let listener = Listener {
            carrier,
            meta,
            handler,
            filters,
            report,
            pause: FIRST_PAUSE,
            lost: false,
        };
        Subscriptions {
            wanted,
            active,
            has_updates,
            _task: AbortOnDropHandle::new(tokio::spawn(listener.run())),
        }
    }

    /// Subscribes to a resource. Waits until the server has acknowledged the new filter, so that no
    /// later update is missed.
    pub(super) async fn add(&self, uri: Option<&str>, limit: Duration) -> Result<Raw, LinkError> {
        let refused = |error| Err(LinkError::Answered(Raw::from_static(error)));
        if !self.has_updates {
            return refused(r#"{"code":-32601,"message":"The server has no subscriptions"}"#);
        }
        let Some(uri) = uri else {
            return refused(r#"{"code":-32602,"message":"uri must be a string"}"#);
        };
        let mut number = 0;
        let mut is_full = false;
        self.wanted.send_if_modified(|filter| {
            is_full = filter.uris.len() >= MAX_URIS;
            let is_new = !is_full && filter.uris.insert(uri.to_owned());
            filter.number += u64::from(is_new);
            number = filter.number;
            is_new
        });
        if is_full {
            return refused(r#"{"code":-32603,"message":"Too many subscriptions"}"#);
        }
        let mut active = self.active.clone();
        let acknowledged = active.wait_for(|active| *active >= number);
        let _ = timeout(limit.min(ACK_TIMEOUT), acknowledged).await;
        Ok(Raw::empty_object())
    }

    pub(super) fn remove(&self, uri: Option<&str>) {
        self.wanted.send_if_modified(|filter| {
            let is_known = uri.is_some_and(|uri| filter.uris.remove(uri));
            filter.number += u64::from(is_known);
            is_known
        });
    }
}

impl Filter {
    fn is_empty(&self) -> bool {
        self.lists.is_empty() && self.uris.is_empty()
    }

    fn params(&self) -> Raw {
        let mut filter = Raw::empty_object();
        for list in &self.lists {
            filter = filter.with_member(list.member, &Raw::from_static("true"));
        }
        if !self.uris.is_empty() {
            filter = filter.with_member("resourceSubscriptions", &Raw::from_serialize(&self.uris));
        }
        Raw::empty_object().with_member("notifications", &filter)
    }
}

/// The task that keeps the stream open.
struct Listener {
    carrier: Carrier,
    meta: Arc<ArcSwap<Raw>>,
    handler: Arc<StreamHandler>,
    filters: watch::Receiver<Filter>,
    report: watch::Sender<u64>,
    pause: Duration,
    /// True if a stream was lost, so that notifications may have been missed.
    lost: bool,
}

type Stream = AbortOnDropHandle<Result<Raw, LinkError>>;

/// The reason why a stream could not be opened.
enum Refusal {
    /// The server does not have the method, so only a changed filter is worth another attempt.
    Unsupported,
    Other,
}

impl Listener {
    async fn run(mut self) {
        let carrier = self.carrier.clone();
        tokio::select! {
            _ = carrier.ended() => {}
            () = self.follow_filter() => {}
        }
    }

    /// Returns when the link is dropped.
    async fn follow_filter(&mut self) {
        let mut old: Option<Stream> = None;
        loop {
            let filter = self.filters.borrow_and_update().clone();
            if filter.is_empty() {
                drop(old.take());
                self.report.send_replace(filter.number);
                if self.filters.changed().await.is_err() {
                    return;
                }
                continue;
            }
            let mut stream = match self.open(&filter).await {
                Ok(stream) => stream,
                Err(refusal) => {
                    // Requests must not wait for a stream that the server refuses.
                    self.report.send_replace(filter.number);
                    // The old stream still covers a part of the filter.
                    let rested = match refusal {
                        Refusal::Unsupported => self.filters.changed().await,
                        Refusal::Other => self.rest().await,
                    };
                    if rested.is_err() {
                        return;
                    }
                    continue;
                }
            };
            drop(old.take());
            self.report.send_replace(filter.number);
            self.catch_up(&filter);
            let began = Instant::now();
            let is_lost = tokio::select! {
                _ = &mut stream => true,
                changed = self.filters.changed() => match changed {
                    Ok(()) => false,
                    Err(_) => return,
                },
            };
            if !is_lost {
                old = Some(stream);
                continue;
            }
            self.lost = true;
            if began.elapsed() > STEADY_TIME {
                self.pause = FIRST_PAUSE;
            }
            if self.rest().await.is_err() {
                return;
            }
        }
    }

    /// Opens a stream and waits for its acknowledgement.
    async fn open(&self, filter: &Filter) -> Result<Stream, Refusal> {
        let mut acknowledged = self.handler.acknowledged.subscribe();
        let (carrier, meta, params) = (self.carrier.clone(), self.meta.clone(), filter.params());
        let mut stream = AbortOnDropHandle::new(tokio::spawn(async move {
            let mut headers = HeaderMap::new();
            headers.insert(header::METHOD, HeaderValue::from_static(METHOD));
            let meta = meta.load_full();
            let parts = ModernParts {
                meta: &meta,
                resumed: &[],
                headers: Some(&headers),
            };
            let call = Outgoing::own(METHOD, Some(params), FOREVER);
            carrier.request(call, &parts).await
        }));
        tokio::select! {
            // The next acknowledgement is that of this stream, because the earlier streams have had
            // theirs.
            _ = acknowledged.changed() => Ok(stream),
            // Some servers send none.
            () = sleep(ACK_TIMEOUT) => Ok(stream),
            ended = &mut stream => {
                tracing::debug!(?ended, "the server opens no stream of notifications");
                let code = match ended {
                    Ok(Err(LinkError::Answered(error))) => error.member("code"),
                    _ => None,
                };
                Err(match code.and_then(|code| code.as_i64()) {
                    Some(METHOD_NOT_FOUND) => Refusal::Unsupported,
                    _ => Refusal::Other,
                })
            }
        }
    }

    /// Waits before the next attempt. A changed filter ends the pause.
    async fn rest(&mut self) -> Result<(), watch::error::RecvError> {
        // The random part keeps links that lost a server together from returning together.
        let pause = self.pause.mul_f64(1.0 + fastrand::f64() / 4.0);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        tokio::select! {
            () = sleep(pause) => Ok(()),
            changed = self.filters.changed() => changed,
        }
    }

    /// Reports changes of all lists if a stream was lost, because some may have been missed.
    fn catch_up(&mut self, filter: &Filter) {
        if std::mem::take(&mut self.lost) {
            for list in &filter.lists {
                self.handler.inner.notice(Notice::new(list.method, None));
            }
        }
    }
}

impl StreamHandler {
    pub(crate) fn new(inner: Arc<dyn NotificationHandler>) -> Arc<StreamHandler> {
        Arc::new(StreamHandler {
            inner,
            acknowledged: watch::Sender::new(0),
        })
    }
}

impl NotificationHandler for StreamHandler {
    fn notice(&self, mut notice: Notice) {
        if &*notice.method == ACKNOWLEDGED {
            self.acknowledged.send_modify(|count| *count += 1);
            return;
        }
        notice.params = notice.params.map(|params| without_stream(&params));
        self.inner.notice(notice);
    }

    fn ask(&self, ask: Ask) {
        // Only servers that turn out to be legacy send requests.
        self.inner.ask(ask);
    }

    fn withdraw(&self, key: AskKey) {
        self.inner.withdraw(key);
    }

    fn is_own(&self) -> bool {
        self.inner.is_own()
    }

    fn outbox(&self) -> Option<EventSink> {
        self.inner.outbox()
    }
}

/// Returns the params of a notification without the id of its stream.
fn without_stream(params: &Raw) -> Raw {
    let Some(meta) = params
        .member("_meta")
        .filter(|meta| meta.kind() == Kind::Object)
    else {
        return params.clone();
    };
    let rest = meta.without_member(SUBSCRIPTION_ID);
    match rest.members().next() {
        Some(_) => params.with_member("_meta", &rest),
        None => params.without_member("_meta"),
    }
}
