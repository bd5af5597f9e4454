//! `narrows sessions`: the sessions of a running gateway and their calls.

mod event_line;

use std::io::{self, ErrorKind, Write};

use http::Method;
use serde::Deserialize;
use serde_json::Value;

use super::table::table;
use super::{Exit, Signals};
use crate::admin_client::{AdminClient, AdminClientError, Event, Resource, report_outcome};
use crate::cli::operator::{Calls, EndSession, GatewayOptions, Sessions, SessionsAction};
use crate::config::Environment;
use crate::terminal::{Palette, answer, counted, eprint_line, plain};

use self::event_line::{CallLine, line_of, time_of};

pub(crate) async fn run(options: Sessions, environment: &Environment) -> anyhow::Result<Exit> {
    let action = options
        .action
        .unwrap_or(SessionsAction::List(options.gateway_options));
    let result = match action {
        SessionsAction::List(gateway_options) => list(&gateway_options, environment).await,
        SessionsAction::End(options) => end(&options, environment).await,
        SessionsAction::Calls(options) => calls(&options, environment).await,
        SessionsAction::Watch(gateway_options) => watch(&gateway_options, environment).await,
    };
    Ok(report_outcome(result))
}

#[derive(Debug, Deserialize)]
struct SessionList {
    sessions: Vec<SessionRow>,
}

#[derive(Debug, Deserialize)]
struct SessionRow {
    number: u64,
    endpoint: String,
    client: Option<String>,
    program: Option<String>,
    revision: Option<String>,
    model_reads: Option<String>,
    #[serde(default)]
    presets: Vec<String>,
    #[serde(default)]
    age_s: f64,
    #[serde(default)]
    silence_s: f64,
    #[serde(default)]
    calls_in_flight: usize,
    #[serde(default)]
    calls: u64,
}

#[derive(Debug, Deserialize)]
struct CallList {
    calls: Vec<CallLine>,
}

async fn list(
    gateway_options: &GatewayOptions,
    environment: &Environment,
) -> Result<Exit, AdminClientError> {
    let client = AdminClient::of(gateway_options, environment)?;
    let value = client.get(Resource::at(&["sessions"])).await?;
    let list: SessionList = client.understood(&value)?;
    let text = match gateway_options.json {
        true => format!("{value:#}\n"),
        false if list.sessions.is_empty() => "there are no sessions\n".to_owned(),
        false => {
            let rows: Vec<_> = list.sessions.iter().map(SessionRow::row).collect();
            let head = [
                "session", "endpoint", "client", "program", "revision", "reads", "presets", "age",
                "silent", "calls",
            ];
            let table = table(head, &rows, palette(environment));
            format!("{table}{}\n", counted(rows.len(), "session"))
        }
    };
    answer(&text)?;
    Ok(Exit::Done)
}

async fn end(options: &EndSession, environment: &Environment) -> Result<Exit, AdminClientError> {
    let client = AdminClient::of(&options.gateway_options, environment)?;
    let number = options.number.to_string();
    let path = Resource::at(&["sessions", &number]);
    let value = client.send(Method::DELETE, path, None).await?;
    match (options.gateway_options.json, value) {
        (false, _) => answer(&format!("session {number} has ended\n"))?,
        (true, Value::Null) => {}
        (true, value) => answer(&format!("{value:#}\n"))?,
    }
    Ok(Exit::Done)
}

async fn calls(options: &Calls, environment: &Environment) -> Result<Exit, AdminClientError> {
    let client = AdminClient::of(&options.gateway_options, environment)?;
    let mut path = Resource::at(&["calls"]);
    if let Some(limit) = options.limit {
        path = path.with("limit", &limit.to_string());
    }
    let filters = [
        ("server", &options.server),
        ("client", &options.client),
        ("method", &options.method),
    ];
    for (key, value) in filters {
        if let Some(value) = value {
            path = path.with(key, value);
        }
    }
    if options.failed {
        path = path.with("failed", "true");
    }
    let value = client.get(path).await?;
    let list: CallList = client.understood(&value)?;
    let text = match options.gateway_options.json {
        true => format!("{value:#}\n"),
        false if list.calls.is_empty() => "there are no matching calls\n".to_owned(),
        false => {
            let rows: Vec<_> = list.calls.iter().map(CallLine::row).collect();
            table(CallLine::HEAD, &rows, palette(environment))
        }
    };
    answer(&text)?;
    Ok(Exit::Done)
}

/// Prints one line per event until interrupted.
async fn watch(
    gateway_options: &GatewayOptions,
    environment: &Environment,
) -> Result<Exit, AdminClientError> {
    let mut signals = Signals::new()?;
    let client = AdminClient::of(gateway_options, environment)?;
    let watching = async {
        let mut events = client.events().await?;
        while let Some(event) = events.next().await? {
            if !is_read(&shown(event, gateway_options.json))? {
                return Ok(Exit::Done);
            }
        }
        eprint_line("the gateway has shut down");
        Ok(Exit::Done)
    };
    tokio::select! {
        result = watching => result,
        _ = signals.next() => Ok(Exit::Done),
    }
}

fn shown(event: Event, json: bool) -> String {
    let Event { name, mut data } = event;
    if !json {
        return format!("{}  {}\n", time_of(&data), line_of(&name, &data));
    }
    // Events about the stream itself carry no name in their data.
    if let Some(members) = data.as_object_mut()
        && !members.contains_key("event")
    {
        members.insert("event".to_owned(), name.into());
    }
    format!("{data}\n")
}

/// Writes a line to stdout. Returns false if the reader has closed the pipe.
fn is_read(line: &str) -> io::Result<bool> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(line.as_bytes());
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        result => result.map(|()| true),
    }
}

impl SessionRow {
    fn row(&self) -> [String; 10] {
        let optional = |text: &Option<String>| {
            let text = text.as_deref().unwrap_or("-");
            plain(text).into_owned()
        };
        let presets = match self.presets.is_empty() {
            true => "-".to_owned(),
            false => plain(&self.presets.join(", ")).into_owned(),
        };
        let calls = match self.calls_in_flight {
            0 => self.calls.to_string(),
            running => format!("{} ({running} running)", self.calls),
        };
        [
            self.number.to_string(),
            plain(&self.endpoint).into_owned(),
            optional(&self.client),
            optional(&self.program),
            optional(&self.revision),
            optional(&self.model_reads),
            presets,
            span(self.age_s),
            span(self.silence_s),
            calls,
        ]
    }
}

/// Formats a duration.
fn span(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3_600.0),
        s => format!("{:.0} d", s / 86_400.0),
    }
}

fn palette(environment: &Environment) -> Palette {
    Palette::of(&io::stdout(), environment.no_color())
}
