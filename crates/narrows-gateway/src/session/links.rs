//! Links that belong to one session: opened at its first call to a server and closed with the
//! session. Their offers are described in `variants`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use narrows_wire::Raw;
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio_util::sync::CancellationToken;

use super::Session;
use super::log_level::LogLevel;
use super::variants::{ReadPass, read_offer};
use crate::call::{LinkChoice, LinkSource, ViewSource};
use crate::error::Error;
use crate::gateway_client::GatewayClient;
use crate::settings::Sharing;
use narrows_upstream::chain::via::THROUGH_PROXY;
use narrows_upstream::exchange::{Ask, AskKey, ClientHello, Event, EventSink, Notice, Refusal};
use narrows_upstream::{Link, ListKind, NotificationHandler, OwnLink, Upstream};

/// The time for which a link that was opened to read its lists is kept for a first call.
const SPARE_TIME: Duration = Duration::from_secs(60);

/// The time without a call, a stream or a message after which a session may lose a link that
/// another session needs.
const ABANDONED: Duration = Duration::from_secs(3);

/// The interval between two reads of changed lists.
const REREAD_INTERVAL: Duration = Duration::from_millis(50);

/// The links of a session, by the number of the upstream instance.
#[derive(Default)]
pub(super) struct OwnLinks(Mutex<HashMap<u64, Arc<LinkSlot>>>);

/// The slot for a link, which may be empty.
#[derive(Default)]
struct LinkSlot {
    /// Held while the link is being opened, so that two concurrent first calls open only one.
    opening: AsyncMutex<()>,
    link: Mutex<Option<Arc<OpenOwnLink>>>,
}

/// An open link with its state.
pub(super) struct OpenOwnLink {
    pub(super) own: OwnLink,
    /// True if a call has used the link.
    used: AtomicBool,
    /// Notified when the server reports that its lists have changed.
    changed: Notify,
    /// Cancelled when the lists of the link have been read.
    pub(super) seen: CancellationToken,
    /// Cancelled when the link has ended and its slot is free.
    gone: CancellationToken,
}

impl OwnLinks {
    pub(super) fn get(&self, upstream: u64) -> Option<Arc<Link>> {
        self.held(upstream).map(|held| held.own.link.clone())
    }

    pub(super) fn notify(&self, method: &str, params: Option<Raw>) {
        let slots: Vec<Arc<LinkSlot>> = self.0.lock().values().cloned().collect();
        for slot in slots {
            if let Some(held) = &*slot.link.lock() {
                held.own.link.notify(method, params.clone());
            }
        }
    }

    pub(super) fn take(&self) -> Vec<Arc<Link>> {
        let slots = std::mem::take(&mut *self.0.lock());
        let links = slots
            .into_values()
            .filter_map(|slot| slot.link.lock().take());
        links.map(|held| held.own.link.clone()).collect()
    }

    /// Removes and returns the link to an instance that is ending.
    pub(super) fn take_one(&self, upstream: u64) -> Option<Arc<Link>> {
        let slot = self.0.lock().remove(&upstream)?;
        let held = slot.link.lock().take();
        held.map(|held| held.own.link.clone())
    }

    fn has(&self, upstream: u64, slot: &Arc<LinkSlot>) -> bool {
        let slots = self.0.lock();
        let known = slots.get(&upstream);
        known.is_some_and(|known| Arc::ptr_eq(known, slot))
    }

    fn held(&self, upstream: u64) -> Option<Arc<OpenOwnLink>> {
        let slot = self.0.lock().get(&upstream).cloned()?;
        slot.link.lock().clone()
    }
}

impl Session {
    /// Returns true if the session's calls to `upstream` use the shared link.
    pub(crate) fn shares(&self, upstream: &Upstream) -> bool {
        let view = self.view();
        let mut upstreams = view.upstreams();
        !self.needs_own_link(upstream) && upstreams.any(|other| other.index == upstream.index)
    }

    pub(super) fn needs_own_link(&self, upstream: &Upstream) -> bool {
        match upstream.sharing() {
            // Without this check, gateways that use each other would open links for each other
            // endlessly.
            Sharing::Auto => self.caller.asks.any() && !self.caller.originates_here(),
            Sharing::Shared => false,
            Sharing::Session => true,
        }
    }

    /// Sends a server's request to the client, outside any call.
    pub(crate) fn put(&self, ask: Ask) {
        // Modern clients can be asked only during a call.
        if self.caller.revision.is_legacy() && self.caller.asks.allows(&ask.method) {
            self.outbox.send(Event::Ask(ask));
        } else {
            ask.reply.answer(Err(Refusal::NotSupported.error()));
        }
    }

    /// Returns the session's own link for a call. Opens the link if needed.
    async fn open_link(self: &Arc<Self>, upstream: &Arc<Upstream>) -> Result<Arc<Link>, Error> {
        loop {
            let held = self.own_link(upstream).await?;
            // The link has just been lost, so the loop waits until its slot is free and opens
            // another.
            if held.own.link.has_ended() {
                let gone = held.gone.clone();
                drop(held);
                gone.cancelled().await;
                continue;
            }
            // Marked as used under the lock that the closing of unused links takes as well.
            let slot = self.links.0.lock().get(&upstream.serial).cloned();
            let slot = slot.ok_or_else(|| match upstream.is_retired() {
                true => upstream.retired_error(),
                false => upstream.down(),
            })?;
            let current = slot.link.lock();
            if current
                .as_ref()
                .is_some_and(|other| Arc::ptr_eq(other, &held))
            {
                held.used.store(true, Ordering::Relaxed);
                return Ok(held.own.link.clone());
            }
        }
    }

    /// Returns the session's own link, and opens it if needed.
    pub(super) async fn own_link(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
    ) -> Result<Arc<OpenOwnLink>, Error> {
        if let Some(held) = self.links.held(upstream.serial) {
            return Ok(held);
        }
        let slot = self
            .links
            .0
            .lock()
            .entry(upstream.serial)
            .or_default()
            .clone();
        let _opening = slot.opening.lock().await;
        let existing = slot.link.lock().clone();
        if let Some(held) = existing {
            return Ok(held);
        }
        let ears = Arc::new(SessionLinkHandler {
            session: Arc::downgrade(self),
            upstream: upstream.clone(),
        });
        let hello = through_proxy(&self.caller.client, self.caller.gateway.as_ref());
        let held = Arc::new(OpenOwnLink {
            own: upstream
                .open_own_link(&hello, ears, || self.reclaim(upstream.serial))
                .await?,
            used: AtomicBool::new(false),
            changed: Notify::new(),
            seen: CancellationToken::new(),
            gone: CancellationToken::new(),
        });
        let level = self.level();
        held.own.link.preset_level(level.map(LogLevel::as_str));
        *slot.link.lock() = Some(held.clone());
        // If the session or the instance ended in the meantime, its shutdown missed this link.
        let is_known = self.links.has(upstream.serial, &slot) && !upstream.is_retired();
        if !is_known || self.is_closed() {
            slot.link.lock().take();
            held.own.link.close().await;
            return Err(match self.is_closed() {
                true => Error::SessionClosed,
                false if upstream.is_retired() => upstream.retired_error().into(),
                false => upstream.down().into(),
            });
        }
        let tending = follow_link(
            Arc::downgrade(self),
            upstream.clone(),
            slot.clone(),
            held.clone(),
        );
        self.services.tasks.spawn(tending);
        Ok(held)
    }

    /// Closes the link of a session that seems abandoned, otherwise that of the call that has been
    /// parked for the longest time. Without this, clients that disconnect silently, or never answer
    /// a question, would occupy a link until they count as idle.
    fn reclaim(&self, upstream: u64) -> bool {
        let Some(host) = self.host.upgrade() else {
            return false;
        };
        let idle = |session: &Arc<Session>| {
            session.links.held(upstream).is_some() && session.idle(ABANDONED)
        };
        let parked =
            |session: &Arc<Session>| session.links.held(upstream).is_some() && session.is_parked();
        let silent = host.longest_silent(&idle);
        let Some(session) = silent.or_else(|| host.longest_silent(&parked)) else {
            return false;
        };
        let Some(held) = session.links.held(upstream) else {
            return false;
        };
        tracing::info!(
            session = session.serial(),
            "closing a link of a silent session because another session needs one"
        );
        let tasks = &self.services.tasks;
        tasks.spawn(async move { held.own.link.close().await });
        true
    }

    /// Restores the client's log level and subscriptions on a new link.
    async fn restore(&self, upstream: &Upstream, link: &Link) {
        let logs = upstream.offer().has("logging");
        if let Some(level) = self.level().filter(|_| logs) {
            upstream.set_level(link, level.as_str()).await;
        }
        for uri in self.subscriptions_to(upstream.index) {
            upstream.subscribe_again(link, &uri).await;
        }
    }
}

impl LinkSource for Arc<Session> {
    fn link_to<'a>(&'a self, upstream: &'a Arc<Upstream>) -> LinkChoice<'a> {
        match self.needs_own_link(upstream) {
            true => LinkChoice::Opening(Box::pin(self.open_link(upstream))),
            false => LinkChoice::Known(upstream.shared_link().map_err(Error::from)),
        }
    }

    fn needs_own_link(&self, upstream: &Upstream) -> bool {
        Session::needs_own_link(self, upstream)
    }
}

/// Runs for the lifetime of a link: reads its lists, reads them again when they change, closes the
/// link if no call uses it, and frees its slot when it ends, so that the next call opens another.
async fn follow_link(
    session: Weak<Session>,
    upstream: Arc<Upstream>,
    slot: Arc<LinkSlot>,
    held: Arc<OpenOwnLink>,
) {
    // Dropped last, even if the task is aborted, because waiting calls need the slot to be free.
    let _gone = held.gone.clone().drop_guard();
    let held = held;
    let work = async {
        if let Some(session) = session.upgrade() {
            session.restore(&upstream, &held.own.link).await;
        }
        read_offer(&session, &upstream, &held.own, ReadPass::First).await;
        held.seen.cancel();
        let spare = tokio::time::sleep(SPARE_TIME);
        tokio::pin!(spare);
        let mut wanted = false;
        loop {
            tokio::select! {
                () = held.changed.notified() => {
                    read_offer(&session, &upstream, &held.own, ReadPass::Again).await;
                    tokio::time::sleep(REREAD_INTERVAL).await;
                }
                () = &mut spare, if !wanted => {
                    let mut current = slot.link.lock();
                    if held.used.load(Ordering::Relaxed) {
                        wanted = true;
                    } else {
                        current.take();
                        return;
                    }
                }
            }
        }
    };
    tokio::select! {
        () = work => held.own.link.close().await,
        _ = held.own.link.ended() => {}
    }
    held.seen.cancel();
    let mut current = slot.link.lock();
    if current
        .as_ref()
        .is_some_and(|link| Arc::ptr_eq(link, &held))
    {
        *current = None;
    }
}

/// Returns the client's `initialize` data with the suffix that shows servers that a proxy is in
/// between (S3-4).
fn through_proxy(client: &ClientHello, gateway: Option<&GatewayClient>) -> ClientHello {
    let name = client.client_info.member("name");
    let name = name.as_ref().and_then(Raw::as_text);
    let name = name.unwrap_or("client".into());
    let name = Raw::string(&format!("{name}{THROUGH_PROXY}"));
    let client_info = client.client_info.with_member("name", &name);
    ClientHello {
        client_info: match gateway {
            Some(gateway) => gateway.mark_info(&client_info),
            None => client_info,
        },
        ..client.clone()
    }
}

/// Handles messages on a session's own link that belong to no call.
struct SessionLinkHandler {
    session: Weak<Session>,
    upstream: Arc<Upstream>,
}

impl SessionLinkHandler {
    /// Requests a new read of this link's lists, and of the shared lists, because a change on one
    /// link may affect all.
    fn relist(&self, session: &Session) {
        if let Some(held) = session.links.held(self.upstream.serial) {
            held.changed.notify_one();
        }
        for kind in ListKind::ALL {
            self.upstream.refresh(kind);
        }
    }
}

impl NotificationHandler for SessionLinkHandler {
    fn notice(&self, notice: Notice) {
        let Some(session) = self.session.upgrade() else {
            return;
        };
        match &*notice.method {
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed" => self.relist(&session),
            // The server lost its session and has opened a new one.
            "narrows/reopened" => {
                self.relist(&session);
                if let Some(held) = session.links.held(self.upstream.serial) {
                    let (session, upstream) = (session.clone(), self.upstream.clone());
                    let tasks = session.services.tasks.clone();
                    tasks.spawn(async move {
                        tokio::select! {
                            () = session.restore(&upstream, &held.own.link) => {}
                            _ = held.own.link.ended() => {}
                        }
                    });
                }
            }
            "notifications/resources/updated" => {
                session.notify_resource_updated(&self.upstream, &notice)
            }
            _ if session.is_looped_notice(&notice) => {}
            _ => session.emit(notice),
        }
    }

    fn ask(&self, ask: Ask) {
        match self.session.upgrade() {
            Some(session) => session.put(ask),
            None => drop(ask),
        }
    }

    fn withdraw(&self, key: AskKey) {
        if let Some(session) = self.session.upgrade() {
            session.withdraw(key);
        }
    }

    fn is_own(&self) -> bool {
        true
    }

    fn outbox(&self) -> Option<EventSink> {
        // Over Streamable HTTP, clients may not have opened the stream for these events.
        let session = self.session.upgrade()?;
        session
            .liveness
            .is_connected()
            .then(|| session.outbox.clone())
    }
}
