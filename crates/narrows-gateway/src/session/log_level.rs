//! The levels of `logging/setLevel`, and what a session wants to read.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use narrows_wire::Raw;
use tokio::time::timeout;

use super::Session;
use crate::call::{Call, ViewSource, text};
use crate::error::Error;

/// How long the client waits for servers to take the level.
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
    /// No level was asked for: the server decides what it sends.
    pub(super) const UNSET: u8 = u8::MAX;

    pub(crate) fn parse(word: &str) -> Option<LogLevel> {
        let index = LogLevel::WORDS.iter().position(|known| *known == word)?;
        Some(LogLevel(index as u8))
    }

    pub(crate) fn word(self) -> &'static str {
        LogLevel::WORDS[usize::from(self.0)]
    }
}

impl Session {
    /// Handles `logging/setLevel`: remembers the level and passes it on to
    /// every server that logs.
    pub(super) async fn set_level(&self, call: Call<'_>) -> Result<Raw, Error> {
        let level = text("level", call.params.find("level")?, call.method)?;
        call.context.observer.named(&level);
        let level = level.as_text().and_then(|level| LogLevel::parse(&level));
        let level = level.ok_or_else(|| {
            Error::BadParams(format!(
                "Unknown log level; there are {}",
                LogLevel::WORDS.join(", ")
            ))
        })?;
        self.pass_on_level(level).await;
        Ok(Raw::empty_object())
    }

    async fn pass_on_level(&self, level: LogLevel) {
        let before = self.level.swap(level.0, Ordering::Relaxed);
        // Gateways that use each other would tell each other without end.
        if before == level.0 && self.caller.gateway.is_some() {
            return;
        }
        let Some(host) = self.host.upgrade() else {
            return;
        };
        // A shared link speaks for several sessions: the most talkative one
        // decides, and each reads only what it asked for.
        let shared = host.lowest_level().unwrap_or(level);
        let view = self.view();
        let telling = view.with_capability("logging").filter_map(|upstream| {
            let (link, level) = match self.needs_own_link(upstream) {
                // One that is not there yet is told when it is opened.
                true => (self.links.get(upstream.serial)?, level),
                false => (upstream.shared_link().ok()?, shared),
            };
            Some(async move { upstream.set_level(&link, level.word()).await })
        });
        // A server that does not answer must not keep the client waiting.
        let _ = timeout(LEVEL_TIMEOUT, join_all(telling)).await;
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
