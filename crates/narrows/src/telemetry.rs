//! Logs one line per event to stderr.
//!
//! The gateway emits its events through `tracing` with the target `narrows::event`, the event name
//! in `event` and JSON text in `payload`. This module writes them as JSON lines `{"timestamp",
//! "event", "payload"}` or as readable lines. All other `tracing` events become the event `log`.

mod line;
mod pipe;
#[cfg(test)]
mod tests;

use std::io::IsTerminal;

use std::time::SystemTime;

use narrows_wire::Timestamp;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::{EnvFilter, Registry};

use crate::cli::{LogFormat, LogLevel, LogOptions};
use crate::config::Environment;
use crate::terminal::{Palette, eprint_line};

use self::line::Fields;
use self::pipe::Pipe;

/// The target of the gateway's own events.
const EVENT_TARGET: &str = "narrows::event";

/// The log of the process. Dropping it writes the lines still queued.
pub(crate) struct Telemetry {
    format: Format,
    pipe: Pipe,
}

#[derive(Debug, Clone, Copy)]
enum Format {
    Human(Palette),
    Json,
}

impl Telemetry {
    /// Starts logging for the whole process; call it only once. The level is that of `--log-level`,
    /// else the filter in `NARROWS_LOG`, else `usual`.
    pub(crate) fn start(options: &LogOptions, usual: LogLevel, environment: &Environment) -> Self {
        let format = match options.log_format {
            Some(LogFormat::Json) => Format::Json,
            None if !std::io::stderr().is_terminal() => Format::Json,
            Some(LogFormat::Human) | None => {
                let no_color = environment.no_color();
                Format::Human(Palette::of(&std::io::stderr(), no_color))
            }
        };
        let pipe = Pipe::start();
        let filter = filter(options.log_level, usual, environment.text("NARROWS_LOG"));
        let lines = LogLines {
            format,
            pipe: pipe.clone(),
        };
        let subscriber = Registry::default().with(filter).with(lines);
        tracing::subscriber::set_global_default(subscriber).expect("logging starts once");
        Telemetry { format, pipe }
    }

    /// Prints an announcement at any log level: `lines` for users, or one event in a JSON log.
    pub(crate) fn announce(&self, lines: &str, event: &str, payload: &serde_json::Value) {
        let text = match self.format {
            Format::Human(_) => format!("{}\n", lines.trim_end()),
            Format::Json => line::json(
                Timestamp::from(SystemTime::now()),
                event,
                &payload.to_string(),
            ),
        };
        self.pipe.send(text.into_bytes());
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        narrows_gateway::flush_events();
        self.pipe.finish();
    }
}

/// Returns the filter for events. The level applies to Narrows itself; events of libraries below a
/// warning are useful only to their authors.
fn filter(flag: Option<LogLevel>, usual: LogLevel, variable: Option<&str>) -> EnvFilter {
    let of_level = |level: LogLevel| {
        let ours = level.as_str();
        let others = if level > LogLevel::Warn { "warn" } else { ours };
        EnvFilter::new(format!("{others},narrows={ours}"))
    };
    match (flag, variable.filter(|variable| !variable.is_empty())) {
        (Some(level), _) => of_level(level),
        (None, None) => of_level(usual),
        (None, Some(variable)) => EnvFilter::try_new(variable).unwrap_or_else(|_| {
            eprint_line("warning: NARROWS_LOG is not a log filter such as info or narrows=debug");
            of_level(usual)
        }),
    }
}

/// A layer that writes every event as a line.
struct LogLines {
    format: Format,
    pipe: Pipe,
}

impl<S: Subscriber> Layer<S> for LogLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let line = render(event, self.format, Timestamp::from(SystemTime::now()));
        self.pipe.send(line.into_bytes());
    }
}

fn render(event: &Event<'_>, format: Format, now: Timestamp) -> String {
    let metadata = event.metadata();
    let mut fields = Fields::default();
    event.record(&mut fields);
    // Events of calls are logged shortly after they happened.
    let at = fields.take_time().unwrap_or(now);
    match format {
        Format::Json if metadata.target() == EVENT_TARGET => {
            line::json(at, &fields.text("event"), &fields.text("payload"))
        }
        Format::Json => {
            let payload = fields.payload(metadata.level(), metadata.target());
            line::json(at, "log", &payload)
        }
        Format::Human(palette) => line::human(at, level_word(*metadata.level()), palette, &fields),
    }
}

fn level_word(level: Level) -> &'static str {
    match level {
        Level::ERROR => "ERROR",
        Level::WARN => "WARN",
        Level::INFO => "INFO",
        Level::DEBUG => "DEBUG",
        Level::TRACE => "TRACE",
    }
}
