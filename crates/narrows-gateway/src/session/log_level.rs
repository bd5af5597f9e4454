//! The levels of `logging/setLevel`, and the filter for a session's log messages.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use narrows_wire::Raw;
use tokio::time::timeout;

use super::Session;
use crate::call::{Call, ViewSource, text};
use crate::error::Error;

/// The maximum time that the client waits for servers to accept the level.
const LEVEL_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogLevel(u8);

impl LogLevel {
    pub(crate) const WORDS: [&'static str; 8] = [
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ];
    /// No level was set, so the server decides which messages it sends.
    pub(super) const UNSET: u8 = u8::MAX;

    pub(crate) fn parse(word: &str) -> Option<LogLevel> {
        let index = LogLevel::WORDS.iter().position(|known| *known == word)?;
        Some(LogLevel(index as u8))
    }

    pub(crate) fn as_str(self) -> &'static str {
        LogLevel::WORDS[usize::from(self.0)]
    }
}

impl Session {
    /// Handles `logging/setLevel`: stores the level and forwards it to every server with the
    /// logging capability.
    pub(super) async fn set_level(&self, call: Call<'_>) -> Result<Raw, Error> {
        let level = text("level", call.params.find("level")?, call.method)?;
        call.context.observer.named(&level);
        let level = level.as_text().and_then(|level| LogLevel::parse(&level));
        let level = level.ok_or_else(|| {
            Error::BadParams(format!(
                "Unknown log level. Use one of {}",
                LogLevel::WORDS.join(", ")
            ))
        })?;
        self.pass_on_level(level).await;
        Ok(Raw::empty_object())
    }

    /// Sets the level of the servers for a request that wants messages from `level` on, unless they
    /// send these already. Requests that share the session filter by their own levels.
    pub(crate) async fn widen_level(&self, level: LogLevel) {
        if self.level().is_none_or(|current| level < current) {
            self.pass_on_level(level).await;
        }
    }

    async fn pass_on_level(&self, level: LogLevel) {
        let before = self.level.swap(level.0, Ordering::Relaxed);
        // Without this check, gateways that use each other would forward the level endlessly.
        if before == level.0 && self.caller.gateway.is_some() {
            return;
        }
        let Some(host) = self.host.upgrade() else {
            return;
        };
        // Several sessions use a shared link, so it gets the most verbose of their levels. Each
        // session then filters by its own level.
        let shared = host.lowest_level().unwrap_or(level);
        let view = self.view();
        let tool_index = view.with_capability("logging").filter_map(|upstream| {
            let (link, level) = match self.needs_own_link(upstream) {
                // A link that is not open yet gets the level when it opens.
                true => (self.links.get(upstream.serial)?, level),
                false => (upstream.shared_link().ok()?, shared),
            };
            Some(async move { upstream.set_level(&link, level.as_str()).await })
        });
        // Limited, because an unresponsive server must not delay the client.
        let _ = timeout(LEVEL_TIMEOUT, join_all(tool_index)).await;
    }

    pub(crate) fn level(&self) -> Option<LogLevel> {
        let level = self.level.load(Ordering::Relaxed);
        (level != LogLevel::UNSET).then_some(LogLevel(level))
    }

    pub(super) fn wants_log(&self, params: Option<&Raw>) -> bool {
        let Some(wanted) = self.level() else {
            return true;
        };
        let level = params.and_then(|params| params.member("level"));
        let level = level
            .as_ref()
            .and_then(Raw::as_text)
            .and_then(|level| LogLevel::parse(&level));
        level.is_none_or(|level| level >= wanted)
    }
}
