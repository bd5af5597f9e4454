//! Tests of how events become lines.

use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use tracing::{Event, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::{Format, filter, render};
use crate::cli::LogLevel;
use crate::terminal::Palette;
use narrows_wire::Timestamp;

struct Capture(Format, Arc<Mutex<String>>);

impl<S: Subscriber> Layer<S> for Capture {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let line = render(event, self.0, Timestamp::at(1_785_229_507_089));
        self.1.lock().unwrap().push_str(&line);
    }
}

fn lines(format: Format, filter: tracing_subscriber::EnvFilter, work: impl FnOnce()) -> String {
    let lines = Arc::default();
    let subscriber = Registry::default()
        .with(filter)
        .with(Capture(format, Arc::clone(&lines)));
    tracing::subscriber::with_default(subscriber, work);
    let lines = lines.lock().unwrap();
    lines.clone()
}

fn some_events() {
    let payload = r#"{"name":"files__read","arguments":{"path":"a\nb"}}"#;
    tracing::info!(target: "narrows::event", event = "llm_to_facade.request", payload);
    tracing::warn!(target: "narrows::event", event = "x", payload = "{\n  \"a\": 1\r\n}");
    tracing::warn!(server = "files", line = "two\nlines \u{1b}[2J", "it said");
    tracing::error!(count = 3, share = 0.5, ok = false, reason = ?Some(1), "done: {}", "well");
    tracing::info!(empty = "", plain = "word");
    tracing::debug!("not at this level");
}

#[track_caller]
fn check(format: Format, expected: Expect) {
    expected.assert_eq(&lines(
        format,
        filter(None, LogLevel::Info, None),
        some_events,
    ));
}

#[test]
fn json_log_lines_are_formatted() {
    check(
        Format::Json,
        expect![[r#"
        {"timestamp":"2026-07-28T09:05:07.089Z","event":"llm_to_facade.request","payload":{"name":"files__read","arguments":{"path":"a\nb"}}}
        {"timestamp":"2026-07-28T09:05:07.089Z","event":"x","payload":{   "a": 1  }}
        {"timestamp":"2026-07-28T09:05:07.089Z","event":"log","payload":{"level":"warn","target":"narrows::telemetry::tests","message":"it said","server":"files","line":"two\nlines \u001b[2J"}}
        {"timestamp":"2026-07-28T09:05:07.089Z","event":"log","payload":{"level":"error","target":"narrows::telemetry::tests","message":"done: well","count":3,"share":0.5,"ok":false,"reason":"Some(1)"}}
        {"timestamp":"2026-07-28T09:05:07.089Z","event":"log","payload":{"level":"info","target":"narrows::telemetry::tests","message":"","empty":"","plain":"word"}}
    "#]],
    );
}

#[test]
fn human_log_lines_are_formatted() {
    check(
        Format::Human(Palette::none()),
        expect![[r#"
        09:05:07 INFO  llm_to_facade.request {"name":"files__read","arguments":{"path":"a\nb"}}
        09:05:07 WARN  x {\n  "a": 1\r\n}
        09:05:07 WARN  it said server=files line="two\nlines \u{1b}[2J"
        09:05:07 ERROR done: well count=3 share=0.5 ok=false reason=Some(1)
        09:05:07 INFO  empty="" plain=word
    "#]],
    );
}

#[test]
fn flag_overrides_variable_and_libraries_log_warnings() {
    let heard = |flag, variable| {
        let work = || {
            tracing::debug!(target: "narrows_gateway::x", "own debug");
            tracing::info!(target: "hyper", "library info");
            tracing::warn!(target: "hyper", "library warning");
            tracing::error!(target: "narrows", "own error");
        };
        let text = lines(
            Format::Human(Palette::none()),
            filter(flag, LogLevel::Info, variable),
            work,
        );
        let words: Vec<&str> = text.lines().map(|line| &line[15..]).collect();
        words.join(", ")
    };
    assert_eq!(heard(None, None), "library warning, own error");
    assert_eq!(
        heard(Some(LogLevel::Debug), None),
        "own debug, library warning, own error"
    );
    assert_eq!(heard(Some(LogLevel::Error), Some("debug")), "own error");
    assert_eq!(heard(Some(LogLevel::Off), None), "");
    assert_eq!(
        heard(None, Some("hyper=info")),
        "library info, library warning"
    );
    assert_eq!(heard(None, Some("")), "library warning, own error");
}
