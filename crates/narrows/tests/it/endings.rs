//! Tests that no process started by the gateway survives it, however the gateway ends.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use narrows_testkit::scripted::{Grandchild, Installed, Script, Step};
use narrows_testkit::{LIMIT, processes, until};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use crate::gateway::{Gateway, StdioGateway, config, with};
use crate::program::{Folder, NARROWS};

/// The grace period of processes. The default of 5 s would make these tests slow.
const GRACE: Duration = Duration::from_secs(2);

/// Additional time for a busy machine. It is shorter than the grace period, so that a grace period
/// applied twice is detected.
const SLACK: Duration = Duration::from_millis(1_500);

/// Two servers that start further processes.
struct EndingServers {
    /// Ends as requested, but has started processes that do not.
    family: Installed,
    /// Ends only on SIGKILL and has started further processes.
    stubborn: Installed,
}

impl EndingServers {
    fn install() -> EndingServers {
        let script = |name: &str| {
            let grandchildren = [Grandchild::InGroup, Grandchild::OwnSession].map(Step::Spawn);
            let hold = [Step::Reach("held".into()), Step::Stall];
            let script = Script::new(name).plain_tool("hold").on_tool("hold", hold);
            script.at_start(grandchildren)
        };
        let stubborn = script("stubborn").with(|script| {
            script.ignore_sigterm = true;
            script.ignore_eof = true;
        });
        EndingServers {
            family: script("family").install(),
            stubborn: stubborn.install(),
        }
    }

    fn config(&self) -> Value {
        let servers = [
            ("family", self.family.config()),
            ("stubborn", self.stubborn.config()),
        ];
        // Signals do not wait for calls in flight here.
        let limits = json!({ "grace_s": GRACE.as_secs(), "shutdown_grace_s": 0 });
        let limits = json!({ "limits": limits });
        with(config(servers), limits)
    }

    /// Returns the ids of the servers and their child processes.
    fn all(&self) -> Vec<u32> {
        let all = [self.family.all_pids(), self.stubborn.all_pids()].concat();
        assert_eq!(all.len(), 6);
        assert!(all.iter().all(|pid| processes::is_alive(*pid)), "{all:?}");
        all
    }
}

/// Returns the children of the gateway that were started with this argument.
fn children_with(gateway: u32, word: &str) -> Vec<u32> {
    let mut children = processes::children(gateway);
    children.retain(|pid| processes::has_argument(*pid, word));
    children
}

fn guard_of(gateway: u32) -> u32 {
    let children = children_with(gateway, "__guard");
    let [guard] = children[..] else {
        panic!("no guard, or several: {children:?}")
    };
    guard
}

async fn signal(name: &str, pid: u32) {
    let name = format!("-{name}");
    let status = Command::new("kill").args([name, pid.to_string()]).status();
    assert!(status.await.expect("kill can be run").success());
}

/// Checks that all processes have ended, and within the time limit.
#[track_caller]
fn check_gone(all: &[u32], began: Instant) {
    let took = began.elapsed();
    let left: Vec<&u32> = all
        .iter()
        .filter(|pid| processes::is_alive(**pid))
        .collect();
    assert!(left.is_empty(), "{left:?} of {all:?} are left");
    assert!(took < GRACE + SLACK, "it took {took:?}");
}

/// Checks a stdio client that ends its session by `end`.
async fn check_stdio(end: impl AsyncFnOnce(&mut StdioGateway), code: Option<i32>) {
    let servers = EndingServers::install();
    let mut client = StdioGateway::open(&servers.config()).await;
    let list = client.call("tools/list", json!({})).await;
    assert_eq!(list["result"]["tools"].as_array().map(Vec::len), Some(2));
    let all = servers.all();
    let guard = guard_of(client.pid());
    let began = Instant::now();
    end(&mut client).await;
    let status = client.wait().await;
    assert_eq!(status.code(), code, "{}", client.stderr());
    check_gone(&all, began);
    processes::gone([guard]).await;
}

#[tokio::test]
async fn end_of_stdin_stops_all_processes() {
    check_stdio(async |client| client.close_stdin(), Some(0)).await;
}

#[tokio::test]
async fn shutdown_on_stdio_stops_all_processes() {
    let end = async |client: &mut StdioGateway| {
        let answer = client.call("shutdown", json!({})).await;
        assert_eq!(answer["result"], json!({}));
    };
    check_stdio(end, Some(0)).await;
}

#[tokio::test]
async fn sigterm_on_stdio_stops_all_processes() {
    check_stdio(async |client| signal("TERM", client.pid()).await, Some(0)).await;
}

#[tokio::test]
async fn sigint_on_stdio_stops_all_processes() {
    check_stdio(async |client| signal("INT", client.pid()).await, Some(0)).await;
}

#[tokio::test]
async fn end_of_stdin_with_calls_in_flight_stops_all_processes() {
    let end = async |client: &mut StdioGateway| {
        client
            .request("tools/call", json!({ "name": "family__hold" }))
            .await;
        client
            .request("tools/call", json!({ "name": "stubborn__hold" }))
            .await;
        client.close_stdin();
    };
    check_stdio(end, Some(0)).await;
}

/// Checks a gateway over HTTP with a client, optionally with a call in flight.
async fn check_serve(name: &str, in_flight: bool) {
    let servers = EndingServers::install();
    let mut gateway = Gateway::serve(&servers.config()).await;
    let mut session = gateway.session("/mcp").await;
    let _news = session.listen(None).await;
    let mut calls = Vec::new();
    if in_flight {
        for tool in ["family__hold", "stubborn__hold"] {
            calls.push(session.begin_tool(tool, json!({})).await);
        }
        servers.family.reached("held").await;
        servers.stubborn.reached("held").await;
    }
    let all = servers.all();
    let guard = guard_of(gateway.program.pid());
    let began = Instant::now();
    signal(name, gateway.program.pid()).await;
    let status = gateway.program.wait().await;
    assert_eq!(status.code(), Some(0), "{}", gateway.program.stderr());
    check_gone(&all, began);
    processes::gone([guard]).await;
}

#[tokio::test]
async fn sigterm_on_http_stops_all_processes() {
    check_serve("TERM", false).await;
}

#[tokio::test]
async fn sigint_on_http_stops_all_processes() {
    check_serve("INT", false).await;
}

#[tokio::test]
async fn sigterm_on_http_with_calls_in_flight_stops_all_processes() {
    check_serve("TERM", true).await;
}

/// Only the guard is left to end the processes, and then exits.
#[tokio::test]
async fn sigkill_stops_all_processes() {
    let servers = EndingServers::install();
    let mut client = StdioGateway::open(&servers.config()).await;
    let mut all = servers.all();
    all.push(guard_of(client.pid()));
    let began = Instant::now();
    client.kill().await;
    processes::gone(all.clone()).await;
    check_gone(&all, began);
}

/// The gateway is killed before a client has sent `initialize`.
#[tokio::test]
async fn sigkill_during_startup_stops_all_processes() {
    let servers = EndingServers::install();
    let mut client = StdioGateway::start(&servers.config());
    let there = |server: &Installed| server.grandchild_pids().len() == 2;
    until("both servers are there", || {
        there(&servers.family) && there(&servers.stubborn)
    })
    .await;
    let all = servers.all();
    client.kill().await;
    processes::gone(all).await;
}

/// Links owned by a session end with it, including all processes started by them.
#[tokio::test]
async fn session_end_stops_the_processes_of_its_links() {
    let servers = EndingServers::install();
    let gateway = Gateway::serve(&servers.config()).await;
    gateway.session("/mcp").await;
    let shared = servers.all();
    let able = json!({ "roots": {} });
    let mut session = gateway.session_with("/mcp", "2025-06-18", able).await;
    let both = [&servers.family, &servers.stubborn];
    let pids = || both.map(Installed::all_pids).concat();
    until("links of its own are open", || pids().len() == 12).await;
    let mut own = pids();
    own.retain(|pid| !shared.contains(pid));
    session.delete().await;
    let began = Instant::now();
    processes::gone(own.clone()).await;
    check_gone(&own, began);
    assert!(shared.iter().all(|pid| processes::is_alive(*pid)));
    // The gateway keeps running, so it must reap its own children.
    let unreaped = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
        let parent = format!("PPid:\t{}\n", gateway.program.pid());
        status.is_ok_and(|status| status.contains(&parent))
    };
    until("none of them is a zombie of the gateway", || {
        !own.iter().any(unreaped)
    })
    .await;
}

/// A server with a detached daemon: the daemon has its own session, an empty environment and no
/// parent.
struct WithDaemon {
    server: Installed,
    folder: Folder,
}

impl WithDaemon {
    fn install() -> WithDaemon {
        let folder = Folder::new();
        let file = folder.path().join("daemon");
        let script = format!(
            "(setsid env -i /bin/sh -c 'echo $$ > {0}.tmp; mv {0}.tmp {0}; exec sleep 600' &)\n\
             exec \"$@\"\n",
            file.display()
        );
        folder.write(
            "start.sh",
            script
                .replace("mv ", "/bin/mv ")
                .replace("sleep", "/bin/sleep"),
        );
        let script = Script::new("s").plain_tool("hold");
        WithDaemon {
            server: script.install(),
            folder,
        }
    }

    fn config(&self) -> Value {
        let start = self.folder.path().join("start.sh");
        let mut args = vec![start.display().to_string(), self.server.command()];
        args.extend(self.server.args());
        let limits = json!({ "limits": { "grace_s": GRACE.as_secs() } });
        with(
            config([("s", json!({ "command": "sh", "args": args }))]),
            limits,
        )
    }

    async fn daemon(&self) -> u32 {
        let pid = || self.folder.read("daemon")?.trim().parse().ok();
        until("the daemon runs", || pid().is_some()).await;
        pid().expect("it was just there")
    }

    async fn serve(&self) -> (Gateway, u32) {
        let gateway = Gateway::serve(&self.config()).await;
        let mut session = gateway.session("/mcp").await;
        assert_eq!(session.tool_names().await, ["s__hold"]);
        (gateway, self.daemon().await)
    }
}

#[tokio::test]
async fn daemon_without_environment_ends_with_the_gateway() {
    let with = WithDaemon::install();
    let (gateway, daemon) = with.serve().await;
    signal("TERM", gateway.program.pid()).await;
    processes::gone([daemon, gateway.program.pid()]).await;
}

#[tokio::test]
async fn daemon_without_environment_ends_with_its_server() {
    let with = WithDaemon::install();
    let (_gateway, daemon) = with.serve().await;
    processes::kill(with.server.server_pids()[0]);
    processes::gone([daemon]).await;
}

#[tokio::test]
async fn daemon_without_environment_ends_if_gateway_is_killed() {
    let with = WithDaemon::install();
    let (gateway, daemon) = with.serve().await;
    processes::kill(gateway.program.pid());
    processes::gone([daemon]).await;
}

#[tokio::test]
async fn daemon_without_environment_ends_if_guard_is_killed_too() {
    let with = WithDaemon::install();
    let (gateway, daemon) = with.serve().await;
    processes::kill(guard_of(gateway.program.pid()));
    processes::kill(gateway.program.pid());
    processes::gone([daemon]).await;
}

#[tokio::test]
async fn daemon_without_environment_ends_if_subreaper_is_killed() {
    let with = WithDaemon::install();
    let (gateway, daemon) = with.serve().await;
    let subreapers = children_with(gateway.program.pid(), "__subreaper");
    assert_eq!(subreapers.len(), 1);
    processes::kill(subreapers[0]);
    processes::gone([daemon]).await;
}

#[tokio::test]
async fn killed_guard_is_replaced() {
    let servers = EndingServers::install();
    let gateway = Gateway::serve(&servers.config()).await;
    let mut session = gateway.session("/mcp").await;
    assert_eq!(session.tool_names().await.len(), 2);
    let all = servers.all();
    let pid = gateway.program.pid();
    let guard = guard_of(pid);
    processes::kill(guard);
    // The gateway logs this once the new guard knows the processes to watch.
    until("another guard runs", || {
        let log = gateway.program.stderr();
        log.contains("a new guard process watches the servers")
    })
    .await;
    let guards = children_with(pid, "__guard");
    assert!(guards.iter().any(|next| *next != guard), "{guards:?}");
    // The subreapers are killed while the gateway cannot react, so only the guard can end the
    // servers. (Subreapers that are only stopped get a SIGCONT from the kernel when the gateway
    // ends.)
    let subreapers = children_with(pid, "__subreaper");
    assert_eq!(subreapers.len(), 2);
    signal("STOP", pid).await;
    for subreaper in subreapers {
        processes::kill(subreaper);
    }
    processes::kill(pid);
    processes::gone(all).await;
}

#[tokio::test]
async fn closed_server_pipes_are_detected_through_a_subreaper() {
    let own = std::process::id().to_string();
    let mut subreaper = Command::new(NARROWS)
        .args([
            "__subreaper",
            &own,
            "sh",
            "-c",
            "exec <&- >&-; exec sleep 600",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdout = subreaper.stdout.take().expect("it is piped");
    let read = tokio::time::timeout(LIMIT, stdout.read(&mut [0; 8])).await;
    assert_eq!(read.expect("the output ends").expect("it can be read"), 0);
    let mut stdin = subreaper.stdin.take().expect("it is piped");
    let write = tokio::time::timeout(LIMIT, async {
        while stdin.write_all(b"{}\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    write.await.expect("the input is refused");
    let pid = subreaper.id().expect("it runs");
    for server in processes::children(pid) {
        processes::kill(server);
    }
    let status = subreaper.wait().await.expect("it ends");
    assert_eq!(status.signal(), Some(9), "as its server was");
}
