//! The `narrows` program: command line, configuration, assembly and logs.
//!
//! [`main`] is the entry point, and each command is a module under `commands`. Only the answer of a
//! command goes to stdout; everything else goes to stderr. The exit codes are 0 (done), 1 (failed)
//! and 2 (wrong usage or configuration).

mod admin_client;
mod cli;
mod commands;
mod config;
mod exit;
mod live_config;
mod nearest;
mod runtime_file;
mod telemetry;
mod terminal;
mod token;
mod tokens;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command, LogLevel};
use crate::commands::{
    call, check, filter, presets, pruner, serve, servers, sessions, stdio, tools,
};
use crate::config::Environment;
use crate::exit::Exit;
use crate::telemetry::Telemetry;
use crate::terminal::eprint_line;

/// Long results are processed on different threads. glibc keeps freed memory per thread, which
/// tripled the memory in use (`bench/soak`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // A subreaper lives as long as its server, and its arguments are those of the server.
    let mut arguments = std::env::args_os().skip(1);
    if arguments
        .next()
        .is_some_and(|first| first == commands::SUBREAPER)
    {
        return narrows_upstream::subreaper::run(arguments);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and version are answers; anything else is wrong usage. A closed pipe is not a
        // failure.
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    // The guard lives as long as the gateway and needs no setup.
    if let Command::Guard = cli.command {
        return match narrows_upstream::guard::run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let environment = Environment::of_this_process();
    let usual = match cli.command {
        Command::Serve(_) | Command::Stdio(_) | Command::Pruner(_) => LogLevel::Info,
        // These commands print their own errors.
        _ => LogLevel::Error,
    };
    let telemetry = Telemetry::start(&cli.log, usual, &environment);
    let runtime = match start_runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprint_line(format_args!(
                "error: cannot start the async runtime: {error}"
            ));
            return ExitCode::FAILURE;
        }
    };
    let exit = runtime.block_on(run(cli.command, &environment, &telemetry));
    // A thread may still be waiting for stdin, and no other work is left.
    runtime.shutdown_background();
    drop(telemetry);
    match exit {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprint_line(format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Starts a multi-threaded runtime if there are several cores. On one core (a small container, a
/// pinned process), a single-threaded runtime avoids handing work between threads that can never
/// run in parallel.
fn start_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut builder = match cores {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    builder.enable_all().build()
}

async fn run(
    command: Command,
    environment: &Environment,
    telemetry: &Telemetry,
) -> anyhow::Result<Exit> {
    match command {
        Command::Serve(options) => serve::run(options, environment, telemetry).await,
        Command::Stdio(options) => stdio::run(options, environment).await,
        Command::Pruner(options) => pruner::run(options, environment, telemetry).await,
        Command::Check(options) => check::run(options, environment).await,
        Command::Tools(options) => tools::run(options, environment).await,
        Command::Call(options) => call::run(options, environment).await,
        Command::Servers(options) => servers::run(options, environment).await,
        Command::Presets(options) => presets::run(options, environment).await,
        Command::Sessions(options) => sessions::run(options, environment).await,
        Command::Token(options) => commands::token::run(&options),
        Command::Mask(options) => filter::mask(&options),
        Command::Toon(options) => filter::toon(&options),
        Command::Ts(options) => filter::ts(&options),
        Command::Prune(options) => filter::prune(&options).await,
        Command::Guard => unreachable!("the guard has been run before"),
    }
}
