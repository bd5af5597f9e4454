//! Offers that differ for clients that can be asked.
//!
//! Some servers offer other tools to clients that support sampling, elicitation or roots. These
//! tools are visible only over a link that declares the client's capabilities. So the gateway opens
//! such links for the first client of a kind at once, to read their lists. Other clients of the
//! same kind get the same lists. If the offers differ from those of the shared links, the session
//! has its own view.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwapOption;
use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::Session;
use crate::call::{LinkSource, ViewSource};
use crate::catalogue::{View, ViewPart, changes};
use narrows_upstream::{Offer, OwnLink, Upstream};

/// The view of a session whose own links have a different offer than the shared ones.
#[derive(Default)]
pub(super) struct OwnView {
    view: ArcSwapOption<View>,
    /// Held while the view is built and stored, so that the newest view is kept.
    building: Mutex<()>,
    /// The offers for this session, by the number of the server.
    variants: Mutex<HashMap<usize, OfferVariant>>,
    survey: Survey,
}

impl OwnView {
    pub(super) fn load(&self) -> Option<Arc<View>> {
        self.view.load_full()
    }

    /// Returns true if the offers for this client are known.
    pub(super) fn is_surveyed(&self) -> bool {
        self.survey.is_done()
    }

    pub(super) async fn surveyed(&self) {
        self.survey.done().await;
    }
}

struct OfferVariant {
    offer: Arc<Offer>,
    /// The shared offer at that time. If it has changed since, the variant is dropped unless the
    /// session has its own link, which reports changes itself.
    base: Arc<Offer>,
}

/// The servers whose offers were read for a session.
struct Survey {
    /// The numbers of the instances that were read.
    seen: Mutex<HashSet<u64>>,
    /// The number of servers being read. `None` before the first.
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

    /// Waits until the offers for this client are known.
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

/// Distinguishes the first read of a link's lists from later ones.
#[derive(Clone, Copy)]
pub(super) enum ReadPass {
    First,
    Again,
}

impl Session {
    /// Starts reading the offers of new servers for clients like this one, and returns immediately.
    /// `survey` is done when all are known.
    pub(crate) fn survey(self: &Arc<Self>) {
        let view = self.preset_view().view();
        // Clients that cannot be asked get the shared offer.
        let differs = |upstream: &&Arc<Upstream>| {
            self.caller.asks.any()
                && !self.caller.originates_here()
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

    /// Rebuilds the session's own view. Returns false if the session has none.
    pub(crate) fn rebuild_view(self: &Arc<Self>, parts: &[ViewPart]) -> bool {
        if self.caller.asks.any() {
            // Includes servers that were added since.
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

    /// Uses the offer of the session's own link if it differs from the shared one.
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
            variants.insert(upstream.index, OfferVariant { offer, base });
        }
        let old = self.view();
        self.show(&old, &host.parts());
    }

    fn show(&self, old: &View, parts: &[ViewPart]) {
        let variants = self.own_view.variants.lock();
        let own = |part: &ViewPart| match variants.get(&part.upstream.index) {
            Some(variant) => ViewPart {
                upstream: part.upstream.clone(),
                offer: variant.offer.clone(),
            },
            None => part.clone(),
        };
        let parts: Vec<ViewPart> = parts.iter().map(own).collect();
        drop(variants);
        let new = View::build(self.preset_view().plan(), &parts);
        let changes = changes(old, &new);
        self.own_view.view.store(Some(Arc::new(new)));
        self.notify_lists_changed(&changes);
    }

    /// Removes outdated variants, so that they are read again.
    fn drop_old_variants(&self, parts: &[ViewPart]) {
        let mut variants = self.own_view.variants.lock();
        let before = variants.len();
        variants.retain(|index, variant| {
            let part = parts.iter().find(|part| part.upstream.index == *index);
            let same = part.is_some_and(|part| Arc::ptr_eq(&part.offer, &variant.base));
            let has_link = |part: &ViewPart| self.links.get(part.upstream.serial).is_some();
            same || part.is_some_and(has_link)
        });
        if variants.len() < before {
            self.own_view.survey.seen.lock().clear();
        }
    }
}

/// Opens a link to read its offer. Runs for one client at a time, so that the next client finds the
/// offer known.
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
            tracing::debug!(server = %upstream.settings.id, "could not open a link to read the lists: {error}")
        }
    }
}

/// Reads the lists of a session's own link.
pub(super) async fn read_offer(
    session: &Weak<Session>,
    upstream: &Arc<Upstream>,
    own: &OwnLink,
    reading: ReadPass,
) {
    let reader = upstream.list_reader(&own.link, upstream.settings.startup_timeout);
    let read = Offer::read(reader, own.hello.clone()).await;
    if let (Ok(offer), Some(session)) = (read, session.upgrade()) {
        upstream.report_changed_definitions(session.caller.asks, &offer);
        let offer = Arc::new(offer);
        match reading {
            ReadPass::First => upstream.keep_variant(session.caller.asks, offer.clone()),
            // The session itself may have caused the change, or the first read was incomplete, so
            // the next client of the kind reads the offer again.
            ReadPass::Again => upstream.doubt_variant(session.caller.asks, &offer),
        }
        session.adopt(upstream, offer);
    }
}
