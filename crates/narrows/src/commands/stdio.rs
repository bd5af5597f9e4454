//! `narrows stdio`: the gateway for the one client that started us.

use narrows_serve::StdioSettings;

use super::{Exit, Signals, load, log_problems, start, suggest};
use crate::cli::{Expose, Stdio};
use crate::config::{Config, Environment};
use crate::terminal::{plain, say};

pub(crate) async fn run(options: Stdio, environment: &Environment) -> anyhow::Result<Exit> {
    if let Some(exit) = refuse_unsupported(&options) {
        return Ok(exit);
    }
    let config = match load(&options.config, environment) {
        Ok(config) => config,
        Err(exit) => return Ok(exit),
    };
    if let Some(exit) = refuse_endpoint(&config, &options.endpoint) {
        return Ok(exit);
    }
    let mut signals = Signals::new()?;
    log_problems(&config);
    let limits = &config.checked.gateway.limits;
    let settings = StdioSettings {
        max_message_bytes: limits.max_message_bytes,
        max_calls: limits.calls_per_session,
        queue: limits.client_queue,
        ..StdioSettings::default()
    };
    let gateway = start(config.checked.gateway);
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let endpoint = &options.endpoint;
    let serving = narrows_serve::stdio(gateway.clone(), endpoint, input, output, settings);
    let served = tokio::select! {
        served = Box::pin(serving) => served,
        signal = signals.next() => {
            tracing::info!(signal, "ending; once more ends at once");
            Ok(())
        }
    };
    signals.exit_on_next();
    gateway.shutdown().await;
    match served {
        Ok(()) => Ok(Exit::Done),
        Err(error) => {
            say(format_args!(
                "error: the client cannot be read any more: {error}"
            ));
            Ok(Exit::Failed)
        }
    }
}

/// What the command line can say already and this version does not do yet.
fn refuse_unsupported(options: &Stdio) -> Option<Exit> {
    let flag = match (&options.preset, options.expose) {
        (Some(_), _) => "--preset",
        (None, Some(Expose::Lazy)) => "--expose lazy",
        (None, Some(Expose::Search)) => "--expose search",
        (None, Some(Expose::All) | None) => return None,
    };
    say(format_args!(
        "error: {flag} is not supported by this version yet"
    ));
    Some(Exit::Usage)
}

pub(super) fn refuse_endpoint(config: &Config, name: &str) -> Option<Exit> {
    let endpoints = &config.checked.gateway.endpoints;
    if endpoints.iter().any(|endpoint| endpoint.name == name) {
        return None;
    }
    let names = endpoints.iter().map(|endpoint| endpoint.name.as_str());
    let hints = suggest(name, names);
    say(format_args!(
        "error: there is no endpoint '{}'{hints}",
        plain(name)
    ));
    Some(Exit::Usage)
}
