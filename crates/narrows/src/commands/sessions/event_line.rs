//! Gateway events, formatted in one line each.

use narrows_wire::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use std::time::SystemTime;

use crate::commands::change::ChangeResult;
use crate::terminal::{grouped, plain};

/// A finished call.
#[derive(Debug, Deserialize)]
pub(super) struct CallLine {
    at: String,
    session: u64,
    endpoint: String,
    client: Option<String>,
    method: String,
    name: Option<String>,
    server: Option<String>,
    elapsed_us: u64,
    bytes_in: usize,
    bytes_out: usize,
    error: Option<CallFailure>,
}

#[derive(Debug, Deserialize)]
struct CallFailure {
    code: String,
    fault: String,
}

impl CallLine {
    pub(super) const HEAD: [&'static str; 10] = [
        "time", "session", "endpoint", "client", "method", "name", "server", "took", "bytes",
        "result",
    ];

    pub(super) fn row(&self) -> [String; 10] {
        let optional = |text: &Option<String>| plain(text.as_deref().unwrap_or("-")).into_owned();
        [
            time_in(&self.at),
            self.session.to_string(),
            plain(&self.endpoint).into_owned(),
            optional(&self.client),
            plain(&self.method).into_owned(),
            optional(&self.name),
            optional(&self.server),
            took(self.elapsed_us),
            format!("{} > {}", grouped(self.bytes_in), grouped(self.bytes_out)),
            self.result(),
        ]
    }

    fn result(&self) -> String {
        match &self.error {
            None => "ok".to_owned(),
            Some(error) => {
                let (code, fault) = (plain(&error.code), plain(&error.fault));
                format!("{code} (fault of the {fault})")
            }
        }
    }

    fn in_words(&self) -> String {
        let mut text = format!("call    session {}", self.session);
        let client = self.client.as_deref();
        if let Some(client) = client {
            text.push_str(&format!(" of {}", plain(client)));
        }
        text.push_str(&format!(": {}", plain(&self.method)));
        if let Some(name) = &self.name {
            text.push_str(&format!(" {}", plain(name)));
        }
        format!("{text}, {}, {}", took(self.elapsed_us), self.result())
    }
}

/// Returns the time of day of the event in UTC: that of the call, or the current one.
pub(super) fn time_of(data: &Value) -> String {
    match data.get("at").and_then(Value::as_str) {
        Some(at) => time_in(at),
        None => Timestamp::from(SystemTime::now()).time(),
    }
}

/// Describes an event. An unknown event, as from a newer gateway, is printed as JSON.
pub(super) fn line_of(name: &str, data: &Value) -> String {
    let text = |key: &str| data.get(key).and_then(Value::as_str).map(plain);
    let or_none = |key: &str| text(key).unwrap_or("?".into());
    let as_it_is = || format!("{}  {}", plain(name), plain(&data.to_string()));
    let number = |key: &str| data.get(key).and_then(Value::as_u64).unwrap_or_default();
    match name {
        "server_state" => {
            let (server, state) = (or_none("server"), or_none("state"));
            let why = text("reason").map(|why| format!(": {why}"));
            format!("server  {server} is {state}{}", why.unwrap_or_default())
        }
        "session_opened" => {
            let by = text("client").map(|client| format!(" by {client}"));
            let (session, by) = (number("session"), by.unwrap_or_default());
            format!("session {session} opened at {}{by}", or_none("endpoint"))
        }
        "session_closed" => format!("session {} closed", number("session")),
        "lists_changed" => format!("lists   of {} changed", or_none("endpoint")),
        "tool_changed" => {
            let members = data.get("changed").and_then(Value::as_array);
            let members = members.into_iter().flatten().filter_map(Value::as_str);
            let members: Vec<_> = members.map(plain).collect();
            let (server, tool) = (or_none("server"), or_none("tool"));
            format!("tool    {server} changed {tool}: {}", members.join(", "))
        }
        "settings_changed" => {
            let change = ChangeResult::deserialize(data).unwrap_or_default();
            format!("config  {}", change.summary())
        }
        "settings_refused" => {
            let problems = data.get("problems").and_then(Value::as_array);
            let problems = problems.into_iter().flatten().filter_map(Value::as_str);
            let problems: Vec<_> = problems.map(plain).collect();
            format!("config  the new file was rejected: {}", problems.join("; "))
        }
        "preset_switched" => match text("preset") {
            Some(preset) => format!("session {} now has the preset {preset}", number("session")),
            None => format!("session {} now has no preset of its own", number("session")),
        },
        "call" => match CallLine::deserialize(data) {
            Ok(call) => call.in_words(),
            Err(_) => as_it_is(),
        },
        "missed" => format!(
            "missed  {} events: the stream was read too slowly",
            number("count")
        ),
        _ => as_it_is(),
    }
}

/// Extracts `09:05:07` from `2026-07-28T09:05:07.089Z`; returns other texts unchanged.
fn time_in(at: &str) -> String {
    let time = at.split_once('T').map_or(at, |(_, time)| time);
    let time = time.split(['.', 'Z']).next().unwrap_or(time);
    plain(time).into_owned()
}

fn took(microseconds: u64) -> String {
    match microseconds {
        us if us < 1_000 => format!("{us} us"),
        us if us < 10_000_000 => format!("{} ms", us / 1_000),
        us => format!("{} s", us / 1_000_000),
    }
}
