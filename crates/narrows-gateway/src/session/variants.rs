//! What servers offer to clients that can be asked.
//!
//! Some servers have other tools for such clients, which can be seen only over
//! a link that says what the client can be asked. So the first client of its
//! kind has links of its own opened at once, for their lists; others of the
//! kind are shown the same. A session whose servers offer it something else
//! than the shared links do has a view of its own.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwapOption;
use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::Session;
use crate::call::{LinkSource, ViewSource};
use crate::catalogue::{Part, View, changes};
use narrows_upstream::{Offer, OwnLink, Upstream};

/// The view of a session whose links of its own offer something else than the
/// shared ones.
#[derive(Default)]
pub(super) struct OwnView {
    view: ArcSwapOption<View>,
    /// Held while the view is built and stored, so that the newest stays.
    building: Mutex<()>,
    /// What servers offer to this session, by the number of the server.
    variants: Mutex<HashMap<usize, Variant>>,
    survey: Survey,
}

impl OwnView {
    pub(super) fn load(&self) -> Option<Arc<View>> {
        self.view.load_full()
    }

    /// Returns true if it is known what servers offer to this client.
    pub(super) fn is_surveyed(&self) -> bool {
        self.survey.is_done()
    }

    pub(super) async fn surveyed(&self) {
        self.survey.done().await;
    }
}

struct Variant {
    offer: Arc<Offer>,
    /// What everybody was offered at that time. When that has changed, and no
    /// link of its own tells what became of it, this counts no more.
    base: Arc<Offer>,
}

/// The servers whose offers were read for a session.
struct Survey {
    /// Numbers of instances.
    seen: Mutex<HashSet<u64>>,
    /// The number of servers being read; `None` before the first.
    running: watch::Sender<Option<usize>>,
}

impl Default for Survey {
    fn default() -> Self {
        Survey {
            seen: Mutex::default(),
            running: watch::Sender::new(None),
        }
    }
}

impl Survey {
    fn is_done(&self) -> bool {
        *self.running.borrow() == Some(0)
    }

    /// Ready when it is known what servers offer to this client.
    async fn done(&self) {
        let mut running = self.running.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        let _ = running.wait_for(|running| *running == Some(0)).await;
    }

    fn begin(&self, servers: usize) {
        self.running
            .send_modify(|running| *running = Some(running.unwrap_or_default() + servers));
    }

    fn end(&self, servers: usize) {
        self.running
            .send_modify(|running| *running = running.map(|all| all.saturating_sub(servers)));
    }
}

/// Whether a link's lists are read for the first time.
#[derive(Clone, Copy)]
pub(super) enum Reading {
    First,
    Again,
}

impl Session {
    /// Finds out what servers that were not looked at yet offer to clients like
    /// this one. Returns at once; `survey` is done when it is known.
    pub(crate) fn survey(self: &Arc<Self>) {
        let view = self.preset_view().view();
        // A client that can be asked nothing is offered what everybody is.
        let differs = |upstream: &&Arc<Upstream>| {
            self.caller.asks.any()
                && !self.caller.has_come_round()
                && self.needs_own_link(upstream)
                && upstream.shared_link().is_ok()
                && self.own_view.survey.seen.lock().insert(upstream.serial)
        };
        let mut unknown = Vec::new();
        for upstream in view.upstreams().filter(differs) {
            match upstream.variant(self.caller.asks) {
                Some(offer) => self.adopt(upstream, offer),
                None => unknown.push(upstream.clone()),
            }
        }
        if unknown.is_empty() {
            return self.own_view.survey.begin(0);
        }
        self.own_view.survey.begin(unknown.len());
        let (session, stop) = (Arc::downgrade(self), self.services.stop.clone());
        self.services.tasks.spawn(async move {
            let looks = unknown.iter().map(|upstream| look(&session, upstream));
            tokio::select! {
                _ = join_all(looks) => {}
                () = stop.cancelled() => {}
            }
            if let Some(session) = session.upgrade() {
                session.own_view.survey.end(unknown.len());
            }
        });
    }

    /// Builds the view again if this session has its own; false if it has not.
    pub(crate) fn rebuild_view(self: &Arc<Self>, parts: &[Part]) -> bool {
        if self.caller.asks.any() {
            // Servers that came since are looked at as well.
            self.drop_old_variants(parts);
            self.survey();
        }
        let _one_at_a_time = self.own_view.building.lock();
        let Some(old) = self.own_view.load() else {
            return false;
        };
        self.show(&old, parts);
        true
    }

    /// Takes up what a link of its own offers, if it is something else.
    fn adopt(&self, upstream: &Arc<Upstream>, offer: Arc<Offer>) {
        let Some(host) = self.host.upgrade() else {
            return;
        };
        let _one_at_a_time = self.own_view.building.lock();
        let base = upstream.offer();
        {
            let mut variants = self.own_view.variants.lock();
            if offer.same_lists(&base) && !variants.contains_key(&upstream.index) {
                return;
            }
            variants.insert(upstream.index, Variant { offer, base });
        }
        let old = self.view();
        self.show(&old, &host.parts());
    }

    fn show(&self, old: &View, parts: &[Part]) {
        let variants = self.own_view.variants.lock();
        let own = |part: &Part| match variants.get(&part.upstream.index) {
            Some(variant) => Part {
                upstream: part.upstream.clone(),
                offer: variant.offer.clone(),
            },
            None => part.clone(),
        };
        let parts: Vec<Part> = parts.iter().map(own).collect();
        drop(variants);
        let new = View::build(self.preset_view().plan(), &parts);
        let changes = changes(old, &new);
        self.own_view.view.store(Some(Arc::new(new)));
        self.tell_changed(&changes);
    }

    /// Forgets what counts no more, so that it is looked at again.
    fn drop_old_variants(&self, parts: &[Part]) {
        let mut variants = self.own_view.variants.lock();
        let before = variants.len();
        variants.retain(|index, variant| {
            let part = parts.iter().find(|part| part.upstream.index == *index);
            let same = part.is_some_and(|part| Arc::ptr_eq(&part.offer, &variant.base));
            let has_link = |part: &Part| self.links.get(part.upstream.serial).is_some();
            same || part.is_some_and(has_link)
        });
        if variants.len() < before {
            self.own_view.survey.seen.lock().clear();
        }
    }
}

/// Opens a link to see what it offers. One client at a time: the next one finds
/// it seen.
async fn look(session: &Weak<Session>, upstream: &Arc<Upstream>) {
    let _lookup = upstream.variant_lookup().await;
    let Some(live) = session.upgrade() else {
        return;
    };
    if let Some(offer) = upstream.variant(live.caller.asks) {
        return live.adopt(upstream, offer);
    }
    match live.own_link(upstream).await {
        Ok(held) => {
            drop(live);
            held.seen.cancelled().await;
        }
        Err(error) => {
            tracing::debug!(server = %upstream.settings.id, "no link for its lists: {error}")
        }
    }
}

/// Reads the lists of a link of a session's own.
pub(super) async fn read_offer(
    session: &Weak<Session>,
    upstream: &Arc<Upstream>,
    own: &OwnLink,
    reading: Reading,
) {
    let reader = upstream.list_reader(&own.link, upstream.settings.startup_timeout);
    let read = Offer::read(reader, own.hello.clone()).await;
    if let (Ok(offer), Some(session)) = (read, session.upgrade()) {
        upstream.compare_definitions(session.caller.asks, &offer);
        let offer = Arc::new(offer);
        match reading {
            Reading::First => upstream.keep_variant(session.caller.asks, offer.clone()),
            // This may be the session's own doing, or what was read first was
            // not all yet: the next client of the kind looks for itself.
            Reading::Again => upstream.doubt_variant(session.caller.asks, &offer),
        }
        session.adopt(upstream, offer);
    }
}
