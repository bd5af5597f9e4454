//! Logs: one line for each event, on stderr and nowhere else.
//!
//! The gateway tells its events through `tracing`, with the target
//! `narrows::event`, their name in `event` and JSON text in `payload`. Here
//! they become JSON lines `{"timestamp", "event", "payload"}`, or lines for
//! people; everything else that is traced becomes the event `log`.

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
use crate::terminal::{Palette, say};

use self::line::Fields;
use self::pipe::Pipe;

/// The target of the gateway's own events.
const EVENT_TARGET: &str = "narrows::event";

/// The log while the program runs. Dropping it writes what is still waiting.
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
    /// Starts logging, for the whole process and once. Without `--log-level`
    /// the variable `NARROWS_LOG` holds a filter, without both `usual` counts.
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
        let lines = Lines {
            format,
            pipe: pipe.clone(),
        };
        let subscriber = Registry::default().with(filter).with(lines);
        tracing::subscriber::set_global_default(subscriber).expect("logging starts once");
        Telemetry { format, pipe }
    }

    /// Says something that is to be heard at any log level: lines for people,
    /// or one event in a log that programs read.
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

/// Which events are let through. A level is meant for ourselves; what
/// libraries have to say below a warning helps only their authors.
fn filter(flag: Option<LogLevel>, usual: LogLevel, variable: Option<&str>) -> EnvFilter {
    let of_level = |level: LogLevel| {
        let ours = level.word();
        let others = if level > LogLevel::Warn { "warn" } else { ours };
        EnvFilter::new(format!("{others},narrows={ours}"))
    };
    match (flag, variable.filter(|variable| !variable.is_empty())) {
        (Some(level), _) => of_level(level),
        (None, None) => of_level(usual),
        (None, Some(variable)) => EnvFilter::try_new(variable).unwrap_or_else(|_| {
            say("warning: NARROWS_LOG is not a log filter such as info or narrows=debug");
            of_level(usual)
        }),
    }
}

/// Writes every event as a line.
struct Lines {
    format: Format,
    pipe: Pipe,
}

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let line = render(event, self.format, Timestamp::from(SystemTime::now()));
        self.pipe.send(line.into_bytes());
    }
}

fn render(event: &Event<'_>, format: Format, now: Timestamp) -> String {
    let metadata = event.metadata();
    let mut fields = Fields::default();
    event.record(&mut fields);
    // Events of calls are logged a moment after they happened.
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
