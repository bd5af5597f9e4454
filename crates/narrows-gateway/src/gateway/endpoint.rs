//! A way in, and its faces: what clients under the same presets see of it.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use narrows_wire::Raw;
use parking_lot::Mutex;

use super::roster::Roster;
use crate::catalogue::{Part, Plan, Scope, View, changes};
use crate::settings::Uris;
use narrows_results::shaping::Shaping;
use narrows_upstream::exchange::Notice;

/// A way in. It stays the same while settings and presets change, and with it
/// the sessions that came in by it.
pub(crate) struct Endpoint {
    pub(super) name: Arc<str>,
    /// True if it is that of one server, whose id is its name then.
    pub(super) single: bool,
    shaping: Arc<Shaping>,
    faces: Mutex<HashMap<Bound, Arc<Face>>>,
}

/// The presets that bind some clients of an endpoint in particular, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Bound {
    /// In place of the endpoint's own.
    pub(crate) instead: Option<String>,
    /// Besides it.
    pub(crate) besides: Option<String>,
}

/// What clients see that are bound by the same presets.
pub(crate) struct Face {
    plan: Plan,
    view: ArcSwap<View>,
}

impl Endpoint {
    pub(super) fn new(name: &str, single: bool, shaping: Arc<Shaping>) -> Endpoint {
        Endpoint {
            name: name.into(),
            single,
            shaping,
            faces: Mutex::default(),
        }
    }

    /// Its name as operators read it, which no other way in has.
    pub(crate) fn label(&self) -> Arc<str> {
        match self.single {
            false => self.name.clone(),
            // No name of an endpoint holds a slash.
            true => format!("servers/{}", self.name).into(),
        }
    }

    pub(crate) fn shaping(&self) -> &Arc<Shaping> {
        &self.shaping
    }

    /// The face for clients that are bound like this.
    pub(super) fn face(&self, bound: &Bound, roster: &Roster) -> Arc<Face> {
        let mut faces = self.faces.lock();
        if let Some(face) = faces.get(bound) {
            return face.clone();
        }
        let face = Arc::new(Face::new(roster.plan(self, bound), &roster.parts()));
        faces.insert(bound.clone(), face.clone());
        face
    }

    /// Builds every view anew. True if any of them lists something else now.
    pub(super) fn rebuild(&self, parts: &[Part]) -> bool {
        let mut differs = false;
        self.forget_unused();
        for face in self.faces().values() {
            let view = View::build(&face.plan, parts);
            differs |= !changes(&face.view.load(), &view).is_empty();
            face.view.store(Arc::new(view));
        }
        differs
    }

    /// Builds every view anew by what is planned now. True if any of them lists
    /// something else.
    pub(super) fn renew(&self, roster: &Roster) -> bool {
        let mut differs = false;
        self.forget_unused();
        let mut faces = self.faces.lock();
        let parts = roster.parts();
        for (bound, face) in faces.iter_mut() {
            let plan = roster.plan(self, bound);
            let new = Face::new(plan, &parts);
            differs |= !changes(&face.view(), &new.view()).is_empty();
            match new.plan == face.plan {
                // Servers may be others all the same.
                true => face.view.store(new.view()),
                false => *face = Arc::new(new),
            }
        }
        differs
    }

    /// Faces that nobody looks at any more go.
    fn forget_unused(&self) {
        let mut faces = self.faces.lock();
        // One is the table's own.
        faces.retain(|bound, face| *bound == Bound::default() || Arc::strong_count(face) > 1);
    }

    /// The views are built outside of the lock, since that takes time.
    fn faces(&self) -> HashMap<Bound, Arc<Face>> {
        self.faces.lock().clone()
    }
}

impl Face {
    fn new(plan: Plan, parts: &[Part]) -> Face {
        Face {
            view: ArcSwap::from_pointee(View::build(&plan, parts)),
            plan,
        }
    }

    pub(crate) fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// A notice of an upstream with the upstream's name on it, where the
    /// endpoint shows more than one.
    pub(crate) fn signed(&self, notice: Notice) -> Notice {
        let (Scope::Joined(settings), Some(server)) = (&self.plan.scope, &notice.server) else {
            return notice;
        };
        let server = Raw::string(server);
        let params = notice.params.clone().unwrap_or_else(Raw::empty_object);
        let meta = params.member("_meta").unwrap_or_else(Raw::empty_object);
        let mut params = params.with_member("_meta", &meta.with_member("narrows/server", &server));
        if settings.uris == Uris::Wrapped {
            params =
                params.with_member("proxy", &Raw::empty_object().with_member("server", &server));
        }
        Notice {
            params: Some(params),
            ..notice
        }
    }
}
