//! Checks that no part of a token, right or wrong, appears in logs or responses.

use std::fs::File;
use std::process::Stdio;
use std::time::Duration;

use narrows_testkit::LIMIT;
use narrows_testkit::raw::{Http, Response, WebSocket};
use serde_json::json;

use super::{config, make};
use crate::program::{Folder, RunningProgram};

/// The longest part of a token that may appear.
const PART: usize = 8;

/// Invalid tokens of every kind. Each may be a mistyped secret.
const WRONG: [&str; 4] = [
    "Bearer nrw_Wr0ngT2mVq8ZkR4cY7wP1nLs6Jd3GfH5aUeB0oCiM",
    "Basic V3IwbmdUMm1WcThaa1I0Y1k3d1AxbkxzNkpk",
    "Wr0ngKq8ZkR4cY7wP1nLs6Jd3GfH5aUeB0oCiMTZ",
    "Digest username=Wr0ngMufasaJd3GfH5, response=Wr0ng6629fae49393a",
];

#[tokio::test]
async fn logs_and_responses_contain_no_part_of_a_token() {
    for format in ["json", "human"] {
        let folder = Folder::new();
        let (token, mut entry) = make(&folder, &["cursor"]);
        let (other, other_entry) = make(&folder, &["other"]);
        entry["clients"]["other"] = other_entry["clients"]["other"].clone();
        entry["clients"]["other"]["endpoints"] = json!(["lazy"]);
        entry["clients"]["cursor"]["rate"] = json!({ "per_minute": 1, "burst": 20 });
        folder.write("narrows.json", config(&entry["clients"]));
        let (running, port) = serve(&folder, format).await;
        let mut reported = Vec::new();
        let rights = [format!("Bearer {token}"), format!("Bearer {other}")];
        let all = rights.iter().map(String::as_str).chain(WRONG);
        for header in all {
            reported.extend(go_everywhere(port, header).await);
        }
        running.signal("TERM");
        running.wait();
        let log = folder.read("log").expect("a log");
        assert!(log.contains("a wrong token"), "the log is one:\n{log}");
        let secrets = [token.as_str(), other.as_str()].into_iter().chain(WRONG);
        for secret in secrets {
            let secret = secret.trim_start_matches("Bearer ").as_bytes();
            for part in secret.windows(PART + 1) {
                let part = std::str::from_utf8(part).expect("ASCII");
                let line = log.lines().find(|line| line.contains(part));
                // The beginning of every digest is not secret.
                let known = "username=, response=".contains(part);
                assert!(line.is_none() || known, "{part} is logged: {line:?}");
                let answer = reported.iter().find(|answer| answer.contains(part));
                assert!(answer.is_none(), "{part} is answered: {answer:?}");
            }
        }
    }
}

/// Starts a gateway that logs everything to the file `log`.
async fn serve(folder: &Folder, format: &str) -> (RunningProgram, u16) {
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--log-level", "trace"];
    let mut command = folder.command(&[&arguments[..], &["--log-format", format]].concat());
    // A pipe would fill up before it is read.
    let log = File::create(folder.path().join("log")).expect("a file");
    let child = command.stdout(Stdio::null()).stderr(log).spawn();
    let running = RunningProgram {
        child: child.expect("the program can be run"),
    };
    let port = || {
        let log = folder.read("log")?;
        let (_, rest) = log.split_once("http://127.0.0.1:")?;
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        rest[..end].parse().ok()
    };
    let found = async {
        loop {
            if let Some(port) = port() {
                return port;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let port = tokio::time::timeout(LIMIT, found).await;
    (running, port.expect("it listens"))
}

/// Sends requests on every transport and returns the responses with their headers.
async fn go_everywhere(port: u16, header: &str) -> Vec<String> {
    let address = format!("127.0.0.1:{port}");
    let with = [("authorization", header)];
    let client = json!({ "name": "x", "version": "1" });
    let params =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let mut reported = Vec::new();
    let mut record = |answer: &Response| {
        let body = String::from_utf8_lossy(&answer.body).into_owned();
        reported.push(format!("{:?} {body}", answer.headers));
    };
    for path in ["/mcp", "/mcp/lazy", "/servers/demo/mcp"] {
        let answer = Http::connect(&address)
            .await
            .post_mcp(path, &with, &hello)
            .await;
        record(&answer);
        let session = answer.header("mcp-session-id").unwrap_or("none").to_owned();
        let with = [("authorization", header), ("mcp-session-id", &session)];
        record(
            &Http::connect(&address)
                .await
                .post_mcp(path, &with, &list)
                .await,
        );
    }
    for path in [
        "/rpc",
        "/api/mcp-gateway/demo/rpc",
        "/messages?session_id=x",
    ] {
        record(
            &Http::connect(&address)
                .await
                .post_mcp(path, &with, &list)
                .await,
        );
    }
    for path in ["/", "/health"] {
        record(&Http::connect(&address).await.get(path, &with).await);
    }
    if let Err(refusal) = WebSocket::connect_with(&address, "/ws", &with).await {
        record(&refusal);
    }
    let mut stream = Http::connect(&address).await;
    stream.send("GET", "/sse", &with, b"").await;
    reported
}
