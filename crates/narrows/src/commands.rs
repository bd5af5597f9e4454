//! Code shared by the commands: reads the configuration, runs the gateway for a single command and
//! shuts it down in order.

pub(crate) mod call;
mod change;
pub(crate) mod check;
mod client_file;
mod current;
mod endpoint;
mod entry;
pub(crate) mod filter;
mod hint;
mod own_tools;
pub(crate) mod presets;
pub(crate) mod pruner;
mod self_reference;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod sessions;
pub(crate) mod stdio;
mod table;
pub(crate) mod token;
pub(crate) mod tools;
mod why;

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::time::{Duration, Instant};

use narrows_gateway::settings::Settings;
use narrows_gateway::{Gateway, UpstreamReport};
use narrows_upstream::State as UpstreamState;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::ConfigOption;
use crate::config::{self, Config, Environment, LeftOut, Problem, Severity};
use crate::exit::Exit;
use crate::nearest::nearest_few;
use crate::terminal::{Status, counted, eprint_line, grouped, plain};

/// The first argument of the process that starts a server.
pub(crate) const SUBREAPER: &str = "__subreaper";

/// Reads the configuration for a command that starts servers, or prints its problems.
fn load(option: &ConfigOption, environment: &Environment) -> Result<Config, Exit> {
    let config = read(option, environment)?;
    match config.recursion() {
        Some(problem) => {
            print_problems(&[problem]);
            Err(Exit::Usage)
        }
        None => Ok(config),
    }
}

/// Reads the configuration, or prints its problems.
fn read(option: &ConfigOption, environment: &Environment) -> Result<Config, Exit> {
    config::load(option.config.as_deref(), environment).map_err(|problems| {
        print_problems(&problems);
        Exit::Usage
    })
}

/// Prints problems, followed by the number of errors.
fn print_problems(problems: &[Problem]) {
    for problem in problems {
        eprint_line(problem);
    }
    let is_error = |problem: &&Problem| problem.severity <= Severity::LeftOut;
    let errors = problems.iter().filter(is_error).count();
    if errors > 0 {
        eprint_line(format_args!(
            "The configuration has {}.",
            counted(errors, "error")
        ));
    }
}

/// Logs the problems that do not keep a gateway from running.
fn log_problems(config: &Config) {
    for problem in &config.problems {
        let message = problem.line();
        match problem.severity {
            Severity::Note => tracing::info!("{message}"),
            _ => tracing::warn!("{message}"),
        }
    }
    for out in &config.checked.left_out {
        let reason = &out.reason;
        tracing::warn!(server = out.id, "running without this server: {reason}");
    }
}

/// Warns the user of a short command about servers that cannot be started and required presets that
/// cannot be read.
fn warn_of_left_out(config: &Config) {
    let left_out = |problem: &&Problem| problem.severity == Severity::LeftOut;
    let problems = config.problems.iter().filter(left_out);
    for problem in problems.filter(|problem| problem.server.is_none()) {
        eprint_line(format_args!("warning: {}", problem.line()));
    }
    for out in &config.checked.left_out {
        let (id, reason) = (plain(&out.id), plain(&out.reason));
        eprint_line(format_args!(
            "warning: running without server '{id}': {reason}"
        ));
    }
}

/// Inserts items for left-out servers between the others, in the order of the file.
fn in_order<T>(tried: Vec<T>, left_out: &[LeftOut], show: impl Fn(&LeftOut) -> T) -> Vec<T> {
    let mut all = tried;
    for out in left_out {
        all.insert(out.place.min(all.len()), show(out));
    }
    all
}

/// Starts the gateway with this program as the guard of its child processes.
fn start(mut settings: Settings) -> Gateway {
    set_guard(&mut settings);
    Gateway::start(settings)
}

fn set_guard(settings: &mut Settings) {
    let program = std::env::current_exe().ok().map(OsString::from);
    let command = |word: &str| Some(vec![program.clone()?, OsString::from(word)]);
    settings.guard = command("__guard");
    // Subreapers exist only on Linux.
    if cfg!(target_os = "linux") {
        settings.subreaper = command(SUBREAPER);
    }
}

/// The signals that request a shutdown.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Returns the name of the next signal.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }

    /// Makes the next signal end the process at once, because a user who repeats the signal does
    /// not want to wait. The guard ends any remaining child processes.
    fn exit_on_next(mut self) {
        tokio::spawn(async move {
            // The exit code that a shell reports for a process ended by the signal.
            let code = match self.next().await {
                "SIGTERM" => 143,
                _ => 130,
            };
            std::process::exit(code);
        });
    }
}

/// Completes after a shutdown signal, once all calls in flight have finished. The next signal ends
/// the process at once.
async fn drained(mut signals: Signals, gateway: &Gateway) {
    let signal = signals.next().await;
    gateway.refuse_work();
    tracing::info!(signal, "shutting down; press Ctrl-C again to force");
    signals.exit_on_next();
    gateway.drain().await;
}

/// Runs `work` once every server is up or has failed, then shuts the gateway down in any case.
async fn with_gateway<T>(
    settings: Settings,
    work: impl AsyncFnOnce(&Gateway) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    let settled = async |gateway: &Gateway| {
        wait_until_settled(gateway, |_| Ok(())).await?;
        work(gateway).await
    };
    with_starting_gateway(settings, settled).await
}

/// Does the same without waiting for servers.
async fn with_starting_gateway<T>(
    settings: Settings,
    work: impl AsyncFnOnce(&Gateway) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    let mut signals = Signals::new()?;
    let gateway = start(settings);
    let result = tokio::select! {
        result = Box::pin(work(&gateway)) => result.map(Some),
        _ = signals.next() => Ok(None),
    };
    if let Ok(None) = result {
        let report = gateway.report();
        let is_starting = |server: &UpstreamReport| matches!(server.state, UpstreamState::Starting);
        match report.iter().any(is_starting) {
            true => eprint_line(format_args!(
                "interrupted while {}",
                plain(&awaited(&report))
            )),
            false => eprint_line("interrupted"),
        }
    }
    signals.exit_on_next();
    gateway.shutdown().await;
    result
}

/// Waits until every server is up or has failed, and shows which ones are pending. Passes each
/// server to `known` as soon as its result is available.
async fn wait_until_settled(
    gateway: &Gateway,
    mut known: impl FnMut(SettledServer) -> io::Result<()>,
) -> io::Result<()> {
    let began = Instant::now();
    let mut status = Status::new();
    let mut settled = std::pin::pin!(gateway.settled());
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    let mut seen = HashSet::new();
    loop {
        let is_over = tokio::select! {
            () = &mut settled => true,
            _ = tick.tick() => false,
        };
        let all = gateway.report();
        let awaited = awaited(&all);
        for (place, report) in all.into_iter().enumerate() {
            let is_starting = matches!(report.state, UpstreamState::Starting);
            if (is_over || !is_starting) && seen.insert(place) {
                status.clear();
                known(SettledServer {
                    place,
                    report,
                    elapsed: began.elapsed(),
                })?;
            }
        }
        if is_over {
            return Ok(());
        }
        status.show(&awaited);
    }
}

/// A server that is up or has failed.
struct SettledServer {
    /// The position in the configuration among the servers that were tried.
    place: usize,
    report: UpstreamReport,
    /// The time from the start until the result was seen.
    elapsed: Duration,
}

fn awaited(report: &[UpstreamReport]) -> String {
    let is_starting = |server: &&UpstreamReport| matches!(server.state, UpstreamState::Starting);
    let ids: Vec<&str> = report
        .iter()
        .filter(is_starting)
        .map(|server| server.id.as_str())
        .collect();
    let text = format!(
        "waiting for {}: {}",
        counted(ids.len(), "server"),
        ids.join(", ")
    );
    // A wrapped line could not be cleared.
    text.chars().take(78).collect()
}

/// Formats the number of servers that are up, for the last line of a list.
fn up_of(up: usize, wanted: usize, disabled: usize) -> String {
    let mut text = match (wanted, disabled) {
        (0, 0) => "no servers are configured".to_owned(),
        _ => format!("{up} of {} up", counted(wanted, "server")),
    };
    if disabled > 0 {
        text.push_str(&format!(", {} disabled", grouped(disabled)));
    }
    text
}

/// Disables all other servers. They stay in the settings, because published names depend on all
/// servers.
fn only(settings: &mut Settings, ids: &[String]) {
    for upstream in &mut settings.upstreams {
        upstream.upstream.enabled &= ids.contains(&upstream.upstream.id);
    }
}

/// Prints an error if `id` cannot be used.
fn refuse_server(config: &Config, id: &str) -> Option<Exit> {
    let id_shown = plain(id);
    if let Some(out) = config.checked.left_out.iter().find(|out| out.id == id) {
        eprint_line(format_args!(
            "error: server '{id_shown}' cannot be started: {}",
            out.reason
        ));
        return Some(Exit::Failed);
    }
    let upstreams = &config.checked.gateway.upstreams;
    match upstreams.iter().find(|upstream| upstream.upstream.id == id) {
        Some(upstream) if upstream.upstream.enabled => None,
        Some(_) => {
            eprint_line(format_args!(
                "error: server '{id_shown}' is disabled in the configuration"
            ));
            Some(Exit::Failed)
        }
        None => {
            let ids = upstreams
                .iter()
                .map(|upstream| upstream.upstream.id.as_str());
            eprint_line(format_args!(
                "error: there is no server '{id_shown}'{}",
                suggest(id, ids)
            ));
            Some(Exit::Failed)
        }
    }
}

/// Returns the text after the server's name and a separator: the given one or any that calls
/// accept.
fn rest_after<'a>(name: &'a str, server: &str, separator: &str) -> Option<&'a str> {
    let rest = name.strip_prefix(server)?;
    [separator, "__", "::", ":", "/"]
        .into_iter()
        .find_map(|separator| rest.strip_prefix(separator))
}

/// Returns `; did you mean a or b?`, all candidates if they are few, or an empty text.
fn suggest<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = nearest_few(wanted, candidates.clone());
    if !near.is_empty() {
        return format!("; did you mean {}?", plain(&near.join(" or ")));
    }
    let all: Vec<&str> = candidates.take(9).collect();
    match all.len() {
        0 | 9 => String::new(),
        _ => format!("; available: {}", plain(&all.join(", "))),
    }
}

/// Formats a command for the user to run next, with the same configuration.
fn command_line(words: &str, option: &ConfigOption) -> String {
    match &option.config {
        Some(file) => format!(
            "narrows {words} --config {}",
            shell_word(&file.to_string_lossy())
        ),
        None => format!("narrows {words}"),
    }
}

/// Quotes a word for a shell, without control characters.
fn shell_word(word: &str) -> String {
    let fits = |c: char| c.is_alphanumeric() || "/._-+,:@%=".contains(c);
    let word = plain(word);
    match !word.is_empty() && word.chars().all(fits) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Returns the stable identifier of a state. A server that was left out has the state `left_out`.
fn state_word(state: &UpstreamState) -> &'static str {
    match state {
        UpstreamState::Up { .. } => "up",
        UpstreamState::Starting => "starting",
        UpstreamState::Down { .. } => "down",
        UpstreamState::Disabled => "disabled",
    }
}

/// Returns the reason why a server is not up, in one line, or `None` if it is up.
fn down_reason(state: &UpstreamState) -> Option<String> {
    match state {
        UpstreamState::Up { .. } => None,
        UpstreamState::Disabled => Some("disabled in the configuration".to_owned()),
        UpstreamState::Starting => Some("still starting".to_owned()),
        UpstreamState::Down { failure, .. } => Some(plain(&failure.detail).into_owned()),
    }
}
