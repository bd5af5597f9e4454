//! Endpoints, and their views for clients under different presets.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use narrows_wire::Raw;
use parking_lot::Mutex;

use crate::catalogue::{EndpointScope, Uris, View, ViewPart, ViewPlan, changes};
use narrows_results::shaping::Shaping;
use narrows_upstream::exchange::Notice;

/// An endpoint. Endpoints and their sessions survive changes to settings and presets.
pub(crate) struct Endpoint {
    pub(crate) name: Arc<str>,
    /// True for the endpoint of one server, whose id is the endpoint's name.
    pub(crate) single: bool,
    shaping: Arc<Shaping>,
    views: Mutex<HashMap<ClientPresets, Arc<PresetView>>>,
}

/// The ids of the presets that bind a client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct ClientPresets {
    /// Replaces the preset of the endpoint.
    pub(crate) instead: Option<String>,
    /// Applies in addition to the preset of the endpoint.
    pub(crate) additional: Option<String>,
}

/// The view of an endpoint for all clients under the same presets.
pub(crate) struct PresetView {
    plan: ViewPlan,
    view: ArcSwap<View>,
}

impl Endpoint {
    pub(crate) fn new(name: &str, single: bool, shaping: Arc<Shaping>) -> Endpoint {
        Endpoint {
            name: name.into(),
            single,
            shaping,
            views: Mutex::default(),
        }
    }

    /// Returns the name for operators, unique among all endpoints.
    pub(crate) fn label(&self) -> Arc<str> {
        match self.single {
            false => self.name.clone(),
            // Endpoint names contain no slash.
            true => format!("servers/{}", self.name).into(),
        }
    }

    pub(crate) fn shaping(&self) -> &Arc<Shaping> {
        &self.shaping
    }

    /// Returns the view for clients under these presets. Calls `make` if there is no such view yet.
    pub(crate) fn preset_view(
        &self,
        presets: &ClientPresets,
        make: impl FnOnce() -> PresetView,
    ) -> Arc<PresetView> {
        let mut views = self.views.lock();
        if let Some(view) = views.get(presets) {
            return view.clone();
        }
        let view = Arc::new(make());
        views.insert(presets.clone(), view.clone());
        view
    }

    /// Rebuilds every view. Returns true if the lists of any view have changed.
    pub(crate) fn rebuild(&self, parts: &[ViewPart]) -> bool {
        let mut differs = false;
        self.forget_unused();
        // Built outside the lock because it takes time.
        let all: Vec<Arc<PresetView>> = self.views.lock().values().cloned().collect();
        for own in all {
            let view = View::build(&own.plan, parts);
            differs |= !changes(&own.view.load(), &view).is_empty();
            own.view.store(Arc::new(view));
        }
        differs
    }

    /// Rebuilds every view with a new plan. Returns true if the lists of any view have changed.
    pub(crate) fn renew(
        &self,
        parts: &[ViewPart],
        plan: impl Fn(&ClientPresets) -> ViewPlan,
    ) -> bool {
        let mut differs = false;
        self.forget_unused();
        let mut views = self.views.lock();
        for (presets, view) in views.iter_mut() {
            let new = PresetView::new(plan(presets), parts);
            differs |= !changes(&view.view(), &new.view()).is_empty();
            match new.plan == view.plan {
                // The plan is equal, but the servers may have been replaced.
                true => view.view.store(new.view()),
                false => *view = Arc::new(new),
            }
        }
        differs
    }

    /// Drops the views that no session uses.
    fn forget_unused(&self) {
        let mut views = self.views.lock();
        // The table itself holds one reference.
        views.retain(|presets, view| {
            *presets == ClientPresets::default() || Arc::strong_count(view) > 1
        });
    }
}

impl PresetView {
    pub(crate) fn new(plan: ViewPlan, parts: &[ViewPart]) -> PresetView {
        PresetView {
            view: ArcSwap::from_pointee(View::build(&plan, parts)),
            plan,
        }
    }

    pub(crate) fn view(&self) -> Arc<View> {
        self.view.load_full()
    }

    pub(crate) fn plan(&self) -> &ViewPlan {
        &self.plan
    }

    /// Adds the name of its server to a notice if the endpoint joins several servers.
    pub(crate) fn signed(&self, notice: Notice) -> Notice {
        let (EndpointScope::Joined(settings), Some(server)) = (&self.plan.scope, &notice.server)
        else {
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
