//! Tests of configuration changes at run time, seen by a session that stays open.

mod presets;
mod refusing;
mod saving;
mod stdio;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use narrows_testkit::scripted::{Installed, Script};
use narrows_testkit::{LIMIT, until};
use serde_json::{Value, json};

use crate::gateway::{Gateway, Session, config};
use crate::program::Folder;

/// Two servers with one tool each.
struct ReloadServers {
    one: Installed,
    two: Installed,
}

impl ReloadServers {
    fn install() -> ReloadServers {
        let server = |name: &str| Script::new(name).plain_tool("tool").install();
        ReloadServers {
            one: server("one"),
            two: server("two"),
        }
    }

    /// Returns a configuration with only the first server.
    fn alone(&self) -> String {
        config([("one", self.one.config())]).to_string()
    }

    fn both(&self) -> String {
        config([("one", self.one.config()), ("two", self.two.config())]).to_string()
    }
}

const ALONE: [&str; 1] = ["one__tool"];
const BOTH: [&str; 2] = ["one__tool", "two__tool"];

/// A gateway that follows its file, and a client.
struct Watched {
    servers: ReloadServers,
    gateway: Gateway,
    session: Session,
}

impl Watched {
    /// Starts with the first server in `narrows.json`.
    async fn start() -> Watched {
        let servers = ReloadServers::install();
        let folder = Folder::with(&servers.alone());
        Watched::start_in(servers, folder, &[]).await
    }

    async fn start_in(servers: ReloadServers, folder: Folder, more: &[&str]) -> Watched {
        let gateway = Gateway::serve_in(folder, more).await;
        let session = gateway.session("/mcp").await;
        let mut watched = Watched {
            servers,
            gateway,
            session,
        };
        watched.lists(&ALONE).await;
        watched
    }

    fn at(&self, name: &str) -> PathBuf {
        self.gateway.folder().path().join(name)
    }

    fn file(&self) -> PathBuf {
        self.at("narrows.json")
    }

    /// Waits until the session has exactly these tools.
    #[track_caller]
    fn lists(&mut self, expected: &[&str]) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let limit = Instant::now() + LIMIT;
            loop {
                let names = self.session.tool_names().await;
                if names == expected {
                    return;
                }
                assert!(
                    Instant::now() < limit,
                    "{caller}: {names:?}, not {expected:?}; {}",
                    self.log()
                );
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }

    /// Saves a configuration with both servers by `save`, and then one with a single server.
    async fn check(&mut self, save: impl Fn(&Watched, &str)) {
        let (both, alone) = (self.servers.both(), self.servers.alone());
        for _ in 0..2 {
            save(self, &both);
            self.lists(&BOTH).await;
            save(self, &alone);
            self.lists(&ALONE).await;
        }
        assert_eq!(self.servers.one.server_pids().len(), 1, "it goes on");
    }

    fn log(&self) -> String {
        self.gateway.program.stderr()
    }

    /// Returns the number of occurrences in the log.
    fn count_in_log(&self, what: &str) -> usize {
        self.log().matches(what).count()
    }

    async fn wait_for_log(&self, what: &str) {
        until(format_args!("it says {what}"), || {
            self.count_in_log(what) > 0
        })
        .await;
    }
}

fn write(path: PathBuf, text: impl AsRef<[u8]>) {
    fs::write(path, text).expect("it can be written");
}

fn rename(from: PathBuf, to: PathBuf) {
    fs::rename(from, to).expect("it can be moved");
}

/// The log message for an invalid file.
const REFUSED: &str = "configuration reload rejected, keeping the current one";

fn preset(tools: &[&str]) -> Value {
    json!({ "tools": tools })
}
