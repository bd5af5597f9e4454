//! `narrows stdio`: the gateway for the one client that started it.

use std::io::IsTerminal;
use std::time::Duration;

use narrows_gateway::settings::Settings;
use narrows_serve::StdioSettings;
use narrows_upstream::chain::Recursion;
use tokio_util::sync::CancellationToken;

use super::current::follow_changes;
use super::endpoint::{choose, choose_in};
use super::{Exit, Signals, drained, log_problems, print_problems, read, set_guard, start};
use crate::cli::Stdio;
use crate::config::{Config, Environment};
use crate::live_config::LiveConfig;
use crate::terminal::eprint_line;

pub(crate) async fn run(options: Stdio, environment: &Environment) -> anyhow::Result<Exit> {
    let mut config = match read(&options.config, environment) {
        Ok(config) => config,
        Err(exit) => return Ok(exit),
    };
    if let Some(recursion) = config.checked.gateway.ancestry.recursion() {
        return refuse(recursion, &config).await;
    }
    let (endpoint, preset) = (&options.endpoint, options.preset.as_deref());
    if let Err(exit) = choose(&mut config, endpoint, preset, options.expose) {
        return Ok(exit);
    }
    let signals = Signals::new()?;
    log_problems(&config);
    let stop = CancellationToken::new();
    let limits = &config.checked.gateway.limits;
    let settings = StdioSettings {
        max_message_bytes: limits.max_message_bytes,
        max_calls: limits.calls_per_session,
        queue: limits.client_queue,
        stop: stop.clone(),
        ..StdioSettings::default()
    };
    let gateway = start(config.checked.gateway.clone());
    let prepare = {
        let (endpoint, preset) = (endpoint.clone(), options.preset.clone());
        move |settings: &mut Settings| {
            set_guard(settings);
            choose_in(settings, &endpoint, preset.as_deref(), options.expose);
        }
    };
    let live_config = LiveConfig::new(gateway.clone(), config, environment.clone(), prepare);
    let current = follow_changes(live_config, !options.no_watch)?;
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let serving = narrows_serve::stdio(gateway.clone(), endpoint, input, output, settings);
    let mut serving = Box::pin(serving);
    let mut drained = Box::pin(drained(signals, &gateway));
    let ended = tokio::select! {
        served = &mut serving => Some(served),
        () = &mut drained => None,
    };
    drop(drained);
    let served = match ended {
        // The client is gone, so its calls need not finish.
        Some(served) => {
            Signals::new()?.exit_on_next();
            gateway.shutdown().await;
            served
        }
        None => {
            stop.cancel();
            // Concurrently, because they share one grace period.
            tokio::join!(serving, gateway.shutdown()).0
        }
    };
    drop(current);
    match served {
        Ok(()) => Ok(Exit::Done),
        Err(error) => {
            eprint_line(format_args!("error: cannot read from the client: {error}"));
            Ok(Exit::Failed)
        }
    }
}

/// The time limit for the first request of a gateway that started this process recursively.
const REFUSE_LIMIT: Duration = Duration::from_secs(10);

/// Refuses to serve a gateway that has started itself. A gateway reads the
/// reason in the response; it is printed to stderr only for a person at a
/// terminal, because a gateway would log it a second time.
async fn refuse(recursion: Recursion, config: &Config) -> anyhow::Result<Exit> {
    if std::io::stdin().is_terminal()
        && let Some(problem) = config.recursion()
    {
        print_problems(&[problem]);
        return Ok(Exit::Usage);
    }
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    narrows_serve::refuse(recursion, input, output, REFUSE_LIMIT).await?;
    Ok(Exit::Usage)
}
