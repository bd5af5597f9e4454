//! The programs of the benchmark: the server behind the gateway (`echo`), the client in front of it
//! (`load`), a minimal proxy to compare with (`floor`), and a token counter (`tokens`).
//!
//! `bench/run` and the scripts next to it combine them. Each program runs on one thread.

mod echo;
mod floor;
mod listen;
mod load;
mod tokens;

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use tokio::runtime::Builder;
use tokio::task::LocalSet;

/// An opaque error. Errors are only counted and shown, never matched.
type Fault = Box<dyn Error>;

#[derive(Parser)]
#[command(about = "Measures an MCP gateway by transport")]
enum Command {
    Echo(echo::Args),
    Floor(floor::Args),
    Load(load::Args),
    Tokens(tokens::Args),
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Echo(args) => match args.way() {
            echo::ClientSource::Stdio(offer) => echo::over_stdio(offer),
            echo::ClientSource::Listen(address, offer) => {
                wait_for(echo::over_network(address, offer))
            }
        },
        Command::Floor(args) => wait_for(floor::run(args)),
        Command::Load(args) => wait_for(load::run(args)),
        Command::Tokens(args) => tokens::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("narrows-bench: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn wait_for(task: impl Future<Output = Result<(), Fault>>) -> Result<(), Fault> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, task)
}
