//! Settings that must survive the end of a link: subscriptions and the log level.

use narrows_wire::Raw;

use super::Upstream;
use crate::link::Link;
use crate::request::Outgoing;

impl Upstream {
    /// Sets the log level on one link. A server that rejects the request keeps its level.
    pub async fn set_level(&self, link: &Link, level: &str) {
        let params = Raw::empty_object().with_member("level", &Raw::string(level));
        let limit = self.settings.startup_timeout;
        let call = Outgoing::own("logging/setLevel", Some(params), limit);
        if link.request(call).await.is_err() {
            tracing::debug!(server = %self.settings.id, level, "could not set the log level");
        }
    }

    pub async fn unsubscribe(&self, uri: &str) {
        let params = Raw::empty_object().with_member("uri", &Raw::string(uri));
        if let Ok(link) = self.shared_link() {
            let limit = self.settings.startup_timeout;
            let call = Outgoing::own("resources/unsubscribe", Some(params), limit);
            // No session needs the notifications any more, so a failure does not matter.
            let _ = link.request(call).await;
        }
    }

    pub async fn subscribe_again(&self, link: &Link, uri: &str) {
        let params = Raw::empty_object().with_member("uri", &Raw::string(uri));
        let call = Outgoing::own(
            "resources/subscribe",
            Some(params),
            self.settings.startup_timeout,
        );
        if link.request(call).await.is_err() {
            tracing::warn!(server = %self.settings.id, uri, "could not subscribe again after reconnecting");
        }
    }
}
