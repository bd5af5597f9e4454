//! Tests that `narrows stdio` follows its file as well.

use std::fs;
use std::time::{Duration, Instant};

use narrows_testkit::{LIMIT, raw::Stdio};
use serde_json::json;
use tokio::process::Command;

use super::{ALONE, BOTH, ReloadServers, preset};
use crate::gateway::{REVISION, column};
use crate::program::Folder;

async fn lists(client: &mut Stdio, expected: &[&str]) {
    let limit = Instant::now() + LIMIT;
    loop {
        let list = client.call("tools/list", json!({})).await;
        let names = column(&list, "tools", "name");
        if names == expected {
            return;
        }
        assert!(Instant::now() < limit, "{names:?}; {}", client.stderr());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn saved_file_is_applied_on_stdio() {
    let servers = ReloadServers::install();
    let folder = Folder::with(&servers.alone());
    let mut client = Stdio::start(&mut Command::from(folder.command(&["stdio"])));
    client.initialize(REVISION, json!({})).await;
    lists(&mut client, &ALONE).await;
    folder.write("narrows.json", servers.both());
    lists(&mut client, &BOTH).await;
}

/// The settings of the command line still apply after a reload.
#[tokio::test]
async fn command_line_preset_survives_a_reload() {
    let servers = ReloadServers::install();
    let config = |tools: &[&str], listed: &[(&str, &narrows_testkit::scripted::Installed)]| {
        let listed = listed
            .iter()
            .map(|(id, server)| (id.to_string(), server.config()));
        let listed: serde_json::Map<_, _> = listed.collect();
        json!({ "mcpServers": listed, "shape": false, "presets": { "mine": preset(tools) } })
            .to_string()
    };
    let both = [("one", &servers.one), ("two", &servers.two)];
    let folder = Folder::with(&config(&["one/*"], &both));
    let arguments = ["stdio", "--preset", "mine"];
    let mut client = Stdio::start(&mut Command::from(folder.command(&arguments)));
    client.initialize(REVISION, json!({})).await;
    lists(&mut client, &ALONE).await;
    fs::write(
        folder.path().join("narrows.json"),
        config(&["two/*"], &both),
    )
    .expect("it can be written");
    lists(&mut client, &["two__tool"]).await;
}
