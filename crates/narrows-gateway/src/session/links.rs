//! Links of a session's own: opened at its first call to a server, closed with
//! the session.
//!
//! Some servers offer other tools to clients that can be asked, and what such a
//! client is offered can be seen only over such a link. So the first client of
//! its kind has its links opened at once, for the lists; those it does not call
//! over are closed again after [`SPARE`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use narrows_wire::Raw;
use tokio::sync::Mutex as AsyncMutex;

use super::Session;
use crate::catalogue::{Part, View, changes};
use crate::error::Error;
use crate::exchange::{Ask, ClientHello, Event, Notice, Refusal};
use crate::lock::Mutex;
use crate::settings::Sharing;
use crate::upstream::{Ears, Link, ListKind, Offer, OwnLink, Upstream};

/// How long a link that was opened for its lists is kept for a first call.
const SPARE: Duration = Duration::from_secs(60);

/// By the upstream's index.
#[derive(Default)]
pub(super) struct OwnLinks {
    slots: Mutex<HashMap<usize, Arc<Slot>>>,
    /// What these links offer, where it is not what the shared link does.
    offers: Mutex<HashMap<usize, Arc<Offer>>>,
}

#[derive(Default)]
struct Slot {
    /// Held while the link is being opened, so that two first calls open one.
    opening: AsyncMutex<()>,
    link: Mutex<Option<Arc<OwnLink>>>,
    /// Whether a call took it.
    used: AtomicBool,
}

impl OwnLinks {
    pub(super) fn get(&self, upstream: usize) -> Option<Arc<Link>> {
        let slot = self.slots.lock().get(&upstream).cloned()?;
        let link = slot.link.lock().as_ref().map(|own| own.link.clone());
        link
    }

    pub(super) fn notify(&self, method: &str, params: Option<Raw>) {
        let slots: Vec<Arc<Slot>> = self.slots.lock().values().cloned().collect();
        for slot in slots {
            if let Some(own) = &*slot.link.lock() {
                own.link.notify(method, params.clone());
            }
        }
    }

    pub(super) fn take(&self) -> Vec<Arc<OwnLink>> {
        let slots = std::mem::take(&mut *self.slots.lock());
        slots
            .into_values()
            .filter_map(|slot| slot.link.lock().take())
            .collect()
    }

    /// The parts of the endpoint with what this session's links offer.
    pub(super) fn overlay(&self, parts: &[Part]) -> Vec<Part> {
        let offers = self.offers.lock();
        let own = |part: &Part| match offers.get(&part.upstream.index) {
            Some(offer) => Part {
                upstream: part.upstream.clone(),
                offer: offer.clone(),
            },
            None => part.clone(),
        };
        parts.iter().map(own).collect()
    }
}

impl Session {
    /// The link that calls of this session to `upstream` take.
    pub(crate) async fn link_to(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
    ) -> Result<Arc<Link>, Error> {
        if !self.needs_own_link(upstream) {
            return upstream.shared_link();
        }
        if let Some(slot) = self.links.slots.lock().get(&upstream.index) {
            slot.used.store(true, Ordering::Relaxed);
            if let Some(own) = &*slot.link.lock() {
                return Ok(own.link.clone());
            }
        }
        let (slot, own, opened) = self.own_link(upstream).await?;
        slot.used.store(true, Ordering::Relaxed);
        if opened {
            self.spawn(upstream, |session, upstream| async move {
                read_offer(&session, &upstream, &own).await
            });
        }
        let link = slot.link.lock().as_ref().map(|own| own.link.clone());
        link.ok_or(Error::SessionClosed)
    }

    /// Finds out what servers offer to clients like this one. Returns at once
    /// where another client has shown it already.
    pub(crate) fn survey(self: &Arc<Self>) {
        let view = self.endpoint.view();
        // A client that can be asked nothing is offered what everybody is.
        let differs = |upstream: &Upstream| self.asks.any() && self.needs_own_link(upstream);
        let unknown = view.upstreams().filter(|upstream| {
            differs(upstream)
                && upstream.shared_link().is_ok()
                && upstream.variant(self.asks).is_none()
        });
        let unknown: Vec<Arc<Upstream>> = unknown.cloned().collect();
        for upstream in view.upstreams().filter(|upstream| differs(upstream)) {
            if let Some(offer) = upstream.variant(self.asks) {
                self.adopt(upstream, offer);
            }
        }
        let Some(gateway) = self.gateway.upgrade().filter(|_| !unknown.is_empty()) else {
            return self.surveyed.cancel();
        };
        let session = Arc::downgrade(self);
        gateway.tasks.spawn(async move {
            let looks = unknown.iter().map(|upstream| look(&session, upstream));
            futures_util::future::join_all(looks).await;
            if let Some(session) = session.upgrade() {
                session.surveyed.cancel();
            }
        });
    }

    /// Whether its calls to `upstream` take the shared link.
    pub(crate) fn shares(&self, upstream: &Upstream) -> bool {
        !self.needs_own_link(upstream)
            && self
                .view()
                .upstreams()
                .any(|other| other.index == upstream.index)
    }

    /// Puts a question outside of any call.
    pub(crate) fn put(&self, ask: Ask) {
        if self.asks.allows(&ask.method) {
            self.outbox.send(Event::Ask(ask));
        } else {
            ask.reply.answer(Err(Refusal::NotSupported.error()));
        }
    }

    fn needs_own_link(&self, upstream: &Upstream) -> bool {
        match upstream.settings.sharing {
            Sharing::Auto => self.asks.any(),
            Sharing::Shared => false,
            Sharing::Session => true,
        }
    }

    /// The slot with its link open; true if it was opened just now.
    async fn own_link(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
    ) -> Result<(Arc<Slot>, Arc<OwnLink>, bool), Error> {
        let slot = self
            .links
            .slots
            .lock()
            .entry(upstream.index)
            .or_default()
            .clone();
        let _opening = slot.opening.lock().await;
        let existing = slot.link.lock().clone();
        if let Some(own) = existing {
            return Ok((slot.clone(), own, false));
        }
        let ears = Arc::new(SessionEars {
            session: Arc::downgrade(self),
            upstream: upstream.clone(),
        });
        let own = Arc::new(
            upstream
                .open_own_link(&through_proxy(&self.caller.client), ears)
                .await?,
        );
        *slot.link.lock() = Some(own.clone());
        if self.is_closed() {
            // The session ended meanwhile and did not see this link.
            slot.link.lock().take();
            own.link.close().await;
            return Err(Error::SessionClosed);
        }
        if let Some(level) = self.level() {
            // The client may have set its level before there was this link.
            self.set_level(level);
        }
        let (watched, link) = (slot.clone(), own.clone());
        self.spawn(upstream, |_, _| async move {
            forget_when_ended(&watched, &link).await
        });
        Ok((slot.clone(), own, true))
    }

    /// Runs something about an upstream in the background; the gateway's end waits for it.
    fn spawn<F: Future<Output = ()> + Send + 'static>(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        work: impl FnOnce(Weak<Session>, Arc<Upstream>) -> F,
    ) {
        if let Some(gateway) = self.gateway.upgrade() {
            gateway
                .tasks
                .spawn(work(Arc::downgrade(self), upstream.clone()));
        }
    }

    /// Takes up what a link of its own offers, if it is something else.
    fn adopt(&self, upstream: &Arc<Upstream>, offer: Arc<Offer>) {
        let Some(gateway) = self.gateway.upgrade() else {
            return;
        };
        {
            let mut offers = self.links.offers.lock();
            if offer.same_lists(&upstream.offer()) && !offers.contains_key(&upstream.index) {
                return;
            }
            offers.insert(upstream.index, offer);
        }
        let old = self.view();
        let parts = self.links.overlay(&gateway.parts());
        let new = Arc::new(View::build(
            self.endpoint.scope(),
            &parts,
            gateway.instructions_max_chars,
        ));
        let changes = changes(&old, &new);
        self.own_view.store(Some(new));
        self.tell_changed(&changes);
    }
}

/// Opens a link to see what it offers, and closes it again unless it is used.
async fn look(session: &Weak<Session>, upstream: &Arc<Upstream>) {
    let Some(live) = session.upgrade() else {
        return;
    };
    let Ok((slot, own, _)) = live.own_link(upstream).await else {
        return;
    };
    drop(live);
    read_offer(session, upstream, &own).await;
    let Some(live) = session.upgrade() else {
        return;
    };
    live.spawn(upstream, |session, _| async move {
        tokio::select! {
            _ = own.link.ended() => return,
            () = tokio::time::sleep(SPARE) => {}
        }
        let subscribed = session
            .upgrade()
            .is_some_and(|session| session.has_subscriptions());
        if !slot.used.load(Ordering::Relaxed) && !subscribed {
            slot.link.lock().take();
            own.link.close().await;
        }
    });
}

/// Forgets the link when it ends, so that the next call opens another.
async fn forget_when_ended(slot: &Slot, own: &Arc<OwnLink>) {
    own.link.ended().await;
    let mut current = slot.link.lock();
    if current.as_ref().is_some_and(|link| Arc::ptr_eq(link, own)) {
        *current = None;
    }
}

async fn read_offer(session: &Weak<Session>, upstream: &Arc<Upstream>, own: &OwnLink) {
    let gateway = session
        .upgrade()
        .and_then(|session| session.gateway.upgrade());
    let Some(limits) = gateway.map(|gateway| gateway.limits.clone()) else {
        return;
    };
    let limit = upstream.settings.startup_timeout;
    let read = Offer::read(&own.link, own.hello.clone(), &upstream.slug, &limits, limit).await;
    if let (Ok(offer), Some(session)) = (read, session.upgrade()) {
        let offer = Arc::new(offer);
        upstream.keep_variant(session.asks, offer.clone());
        session.adopt(upstream, offer);
    }
}

/// What the client said of itself, with the suffix that tells servers that
/// somebody stands between (S3-4).
fn through_proxy(client: &ClientHello) -> ClientHello {
    let name = client.client_info.member("name");
    let name = name
        .as_ref()
        .and_then(Raw::as_text)
        .unwrap_or("client".into());
    let name = Raw::string(&format!("{name}-through-proxy"));
    ClientHello {
        client_info: client.client_info.with_member("name", &name),
        ..client.clone()
    }
}

/// Hears what comes over a session's own link and belongs to no call.
struct SessionEars {
    session: Weak<Session>,
    upstream: Arc<Upstream>,
}

impl Ears for SessionEars {
    fn notice(&self, notice: Notice) {
        let Some(session) = self.session.upgrade() else {
            return;
        };
        match &*notice.method {
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed"
            | "narrows/reopened" => session.reread(&self.upstream),
            "notifications/resources/updated" => {
                session.tell_updated(self.upstream.index, None, &notice)
            }
            _ => session.tell(notice),
        }
    }

    fn ask(&self, ask: Ask) {
        match self.session.upgrade() {
            Some(session) => session.put(ask),
            None => drop(ask),
        }
    }
}

impl Session {
    /// Reads the lists of a link of its own again.
    fn reread(self: &Arc<Self>, upstream: &Arc<Upstream>) {
        let slot = self.links.slots.lock().get(&upstream.index).cloned();
        let Some(own) = slot.and_then(|slot| slot.link.lock().clone()) else {
            return;
        };
        // What one session's server changed may have changed for all.
        ListKind::ALL
            .into_iter()
            .for_each(|kind| upstream.refresh(kind));
        self.spawn(upstream, |session, upstream| async move {
            read_offer(&session, &upstream, &own).await
        });
    }
}
