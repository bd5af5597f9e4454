//! The levels of `logging/setLevel`, and what a session wants to read.

use std::sync::atomic::Ordering;

use narrows_wire::Raw;

use super::Session;
use crate::upstream::Outgoing;

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

    fn word(self) -> &'static str {
        LogLevel::WORDS[usize::from(self.0)]
    }
}

impl Session {
    /// Remembers the level and passes it on to every server that logs.
    pub(crate) fn set_level(&self, level: LogLevel) {
        self.level.store(level.0, Ordering::Relaxed);
        let Some(gateway) = self.gateway.upgrade() else {
            return;
        };
        // A shared link speaks for several sessions: the most talkative one
        // decides, and each reads only what it asked for.
        let shared = gateway.lowest_level().unwrap_or(level);
        for upstream in self.view().with_capability("logging") {
            let own = self.links.get(upstream.index);
            let (link, level) = match own {
                Some(link) => (link, level),
                None => match upstream.shared_link() {
                    Ok(link) => (link, shared),
                    Err(_) => continue,
                },
            };
            let params = Raw::empty_object().with_member("level", &Raw::string(level.word()));
            let (id, limit) = (
                upstream.settings.id.clone(),
                upstream.settings.startup_timeout,
            );
            gateway.tasks.spawn(async move {
                if link
                    .request(Outgoing::own("logging/setLevel", Some(params), limit))
                    .await
                    .is_err()
                {
                    tracing::debug!(server = id, "the log level was not accepted");
                }
            });
        }
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
