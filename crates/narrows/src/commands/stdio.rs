//! `narrows stdio`: the gateway for the one client that started us.

use narrows_gateway::settings::Settings;
use narrows_serve::StdioSettings;

use super::current::keep_current;
use super::endpoint::{choose, choose_in};
use super::{Exit, Signals, load, log_problems, set_guard, start};
use crate::cli::Stdio;
use crate::config::Environment;
use crate::keeper::Keeper;
use crate::terminal::say;

pub(crate) async fn run(options: Stdio, environment: &Environment) -> anyhow::Result<Exit> {
    let mut config = match load(&options.config, environment) {
        Ok(config) => config,
        Err(exit) => return Ok(exit),
    };
    let (endpoint, preset) = (&options.endpoint, options.preset.as_deref());
    if let Err(exit) = choose(&mut config, endpoint, preset, options.expose) {
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
    let gateway = start(config.checked.gateway.clone());
    let prepare = {
        let (endpoint, preset) = (endpoint.clone(), options.preset.clone());
        move |settings: &mut Settings| {
            set_guard(settings);
            choose_in(settings, &endpoint, preset.as_deref(), options.expose);
        }
    };
    let keeper = Keeper::new(gateway.clone(), config, environment.clone(), prepare);
    let current = keep_current(keeper, !options.no_watch)?;
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let serving = narrows_serve::stdio(gateway.clone(), endpoint, input, output, settings);
    let served = tokio::select! {
        served = Box::pin(serving) => served,
        signal = signals.next() => {
            tracing::info!(signal, "ending; once more ends at once");
            Ok(())
        }
    };
    drop(current);
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
