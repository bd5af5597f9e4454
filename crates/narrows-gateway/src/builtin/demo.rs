//! The built-in server `demo`: an example of every MCP feature, for trying out the gateway before
//! other servers are configured.
//!
//! Its data is generated for each call and is always the same. The lists are in [`offer`], the
//! tools in [`tools`] and the sample data in [`samples`].

mod offer;
mod samples;
#[cfg(test)]
mod tests;
mod tools;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::future::BoxFuture;
use narrows_wire::Raw;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{BuiltinCall, BuiltinServer, RpcError, one_page};

const README: &str = "demo://readme";
const ROWS: &str = "demo://rows/";

/// The state of one connection.
#[derive(Default)]
pub(super) struct Demo {
    /// The lowest severity that is sent.
    log_level: Mutex<DemoLogLevel>,
    readme_subscribed: AtomicBool,
    readme_touched: AtomicU64,
}

impl BuiltinServer for Demo {
    fn info(&self) -> Raw {
        Raw::from_serialize(&json!({
            "name": "demo",
            "title": "Narrows demo",
            "version": env!("CARGO_PKG_VERSION"),
        }))
    }

    fn capabilities(&self) -> Raw {
        Raw::from_static(offer::CAPABILITIES)
    }

    fn instructions(&self) -> &str {
        offer::INSTRUCTIONS
    }

    fn answer<'a>(&'a self, call: &'a BuiltinCall) -> BoxFuture<'a, Result<Raw, RpcError>> {
        Box::pin(async move {
            match &*call.method {
                "tools/list" => list(call, offer::TOOLS),
                "tools/call" => tools::call(self, call).await,
                "prompts/list" => list(call, offer::PROMPTS),
                "prompts/get" => get_prompt(call),
                "resources/list" => list(call, offer::RESOURCES),
                "resources/templates/list" => list(call, offer::TEMPLATES),
                "resources/read" => self.read_resource(call),
                "resources/subscribe" => self.subscribe(call, true),
                "resources/unsubscribe" => self.subscribe(call, false),
                "completion/complete" => complete(call),
                "logging/setLevel" => self.set_log_level(call),
                method => Err(RpcError::unknown_method(method)),
            }
        })
    }
}

impl Demo {
    fn read_resource(&self, call: &BuiltinCall) -> Result<Raw, RpcError> {
        let uri = call.text("uri")?;
        let (kind, text) = if uri == README {
            (
                "text/markdown",
                offer::readme(self.readme_touched.load(Ordering::Relaxed)),
            )
        } else {
            let row = uri
                .strip_prefix(ROWS)
                .and_then(|number| number.parse().ok());
            let row = row.filter(|number| samples::ROWS.contains(number));
            let row = row.ok_or_else(|| RpcError::unknown_resource(&uri))?;
            ("application/json", samples::row(row))
        };
        Ok(Raw::from_serialize(&json!({
            "contents": [{ "uri": uri, "mimeType": kind, "text": text }],
        })))
    }

    fn subscribe(&self, call: &BuiltinCall, wanted: bool) -> Result<Raw, RpcError> {
        let uri = call.text("uri")?;
        if uri != README {
            return Err(RpcError::unknown_resource(uri));
        }
        self.readme_subscribed.store(wanted, Ordering::Relaxed);
        Ok(Raw::empty_object())
    }

    fn set_log_level(&self, call: &BuiltinCall) -> Result<Raw, RpcError> {
        let name = call.text("level")?;
        let level = DemoLogLevel::parse(&name);
        *self.log_level.lock() = level.ok_or_else(|| {
            let names = DemoLogLevel::NAMES.join(", ");
            RpcError::params(format!("Unknown level '{name}'. Use one of {names}"))
        })?;
        Ok(Raw::empty_object())
    }

    async fn log(&self, call: &BuiltinCall, level: DemoLogLevel, data: Value) {
        let wanted = *self.log_level.lock();
        if level >= wanted {
            let params = json!({ "level": level.name(), "logger": "demo", "data": data });
            call.peer.notify("notifications/message", &params).await;
        }
    }
}

/// Returns the response to a list method. Every list has one page.
fn list(call: &BuiltinCall, items: &'static str) -> Result<Raw, RpcError> {
    one_page(call, Raw::from_static(items))
}

fn get_prompt(call: &BuiltinCall) -> Result<Raw, RpcError> {
    let name = call.text("name")?;
    if name != "summarise" {
        return Err(RpcError::params(format!("Unknown prompt: {name}")));
    }
    let source = call
        .member("arguments")
        .and_then(|arguments| arguments.member("source"));
    let source = source.as_ref().and_then(Raw::as_text);
    let source = source.ok_or_else(|| RpcError::params("Missing required argument 'source'"))?;
    let known = offer::SOURCES.iter().find(|(name, _)| *name == source);
    let (_, task) = known.ok_or_else(|| {
        let names: Vec<_> = offer::SOURCES.iter().map(|(name, _)| *name).collect();
        RpcError::params(format!(
            "Unknown source '{source}'. Use one of {}",
            names.join(", ")
        ))
    })?;
    Ok(Raw::from_serialize(&json!({
        "description": format!("Summarise the sample {source}"),
        "messages": [{ "role": "user", "content": { "type": "text", "text": task } }],
    })))
}

fn complete(call: &BuiltinCall) -> Result<Raw, RpcError> {
    let member = |name: &str, of: &str| {
        let value = call.member(of).and_then(|whole| whole.member(name));
        value
            .as_ref()
            .and_then(Raw::as_text)
            .map(|text| text.into_owned())
    };
    let missing = |what| RpcError::params(format!("'{what}' must be a string"));
    let kind = member("type", "ref").ok_or_else(|| missing("ref.type"))?;
    let argument = member("name", "argument").ok_or_else(|| missing("argument.name"))?;
    let begun = member("value", "argument").ok_or_else(|| missing("argument.value"))?;
    let named = match &*kind {
        "ref/prompt" => member("name", "ref"),
        "ref/resource" => member("uri", "ref"),
        _ => None,
    };
    let candidates: Vec<String> = match (named.as_deref(), &*argument) {
        (Some("summarise"), "source") => offer::SOURCES
            .iter()
            .map(|(name, _)| (*name).into())
            .collect(),
        (Some("demo://rows/{n}"), "n") => {
            samples::ROWS.take(1_000).map(|n| n.to_string()).collect()
        }
        _ => return Err(RpcError::params("Unknown argument to complete")),
    };
    let mut values: Vec<String> = candidates
        .into_iter()
        .filter(|value| value.starts_with(&begun))
        .collect();
    let total = values.len();
    // MCP 2025-11-25, completion: at most a hundred values.
    values.truncate(100);
    Ok(Raw::from_serialize(&json!({
        "completion": { "hasMore": total > values.len(), "total": total, "values": values },
    })))
}

/// The log levels, in order of severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum DemoLogLevel {
    Debug,
    #[default]
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl DemoLogLevel {
    const ALL: [DemoLogLevel; 8] = [
        DemoLogLevel::Debug,
        DemoLogLevel::Info,
        DemoLogLevel::Notice,
        DemoLogLevel::Warning,
        DemoLogLevel::Error,
        DemoLogLevel::Critical,
        DemoLogLevel::Alert,
        DemoLogLevel::Emergency,
    ];
    const NAMES: [&'static str; 8] = [
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ];

    fn parse(name: &str) -> Option<DemoLogLevel> {
        DemoLogLevel::ALL
            .into_iter()
            .find(|level| level.name() == name)
    }

    fn name(self) -> &'static str {
        DemoLogLevel::NAMES[self as usize]
    }
}
