//! A server without a connection, for tests of its representation in the gateway.

use std::sync::Arc;
use std::time::Duration;

use narrows_upstream::guard::LazyGuard;
use narrows_upstream::{HttpClient, Upstream, UpstreamContext};

use crate::builtin::{Builtins, Pruner};
use crate::event_bus::EventBus;
use crate::meter::Meter;
use crate::server_observer::ServerObserver;
use crate::settings::{Builtin, ProxySettings, Settings, UpstreamKind, UpstreamSettings};

pub(crate) fn upstream(index: usize, id: &str, slug: &str) -> Arc<Upstream> {
    let pruner = Arc::new(Pruner::in_memory(Default::default(), &Default::default()));
    let context = UpstreamContext::new(
        Settings::default().limits.upstream(),
        HttpClient::new(&ProxySettings::default(), Duration::from_secs(1)),
        String::new(),
        LazyGuard::default(),
        Arc::new(Builtins::new(pruner)),
        Default::default(),
    );
    let settings = UpstreamSettings::new(id, UpstreamKind::Builtin(Builtin::Demo));
    let observer = ServerObserver::new(id, &Meter::default(), &Arc::<EventBus>::default());
    let context = Arc::new(context);
    Arc::new(Upstream::new(
        index,
        slug,
        settings,
        context,
        Arc::new(observer),
    ))
}
