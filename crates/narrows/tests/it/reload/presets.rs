//! Tests of presets and of the folder with preset files at run time.

use std::fs;

use serde_json::{Value, json};

use super::{ALONE, BOTH, ReloadServers, Watched, preset, write};
use crate::program::Folder;

/// Returns a configuration whose default endpoint has a preset from a file.
fn config(servers: &ReloadServers, folder: &str, id: &str) -> String {
    json!({
        "mcpServers": { "one": servers.one.config(), "two": servers.two.config() },
        "shape": false,
        "preset_dir": folder,
        "endpoints": { "default": { "preset": id } }
    })
    .to_string()
}

#[tokio::test]
async fn preset_file_changes_are_applied() {
    let servers = ReloadServers::install();
    let folder = Folder::with(&config(&servers, "p", "mine"));
    fs::create_dir(folder.path().join("p")).expect("a folder can be made");
    let one = preset(&["one/*"]).to_string();
    folder.write("p/preset_mine.json", &one);
    let mut watched = Watched::start_in(servers, folder, &[]).await;
    let all = preset(&["*/*"]).to_string();
    for _ in 0..2 {
        write(watched.at("p/preset_mine.json"), &all);
        watched.lists(&BOTH).await;
        write(watched.at("p/new"), &one);
        super::rename(watched.at("p/new"), watched.at("p/preset_mine.json"));
        watched.lists(&ALONE).await;
    }
    // A new folder, which was not watched before.
    fs::create_dir(watched.at("q")).expect("a folder can be made");
    write(watched.at("q/preset_mine.json"), &all);
    write(watched.file(), config(&watched.servers, "q", "mine"));
    watched.lists(&BOTH).await;
    write(watched.at("q/preset_mine.json"), &one);
    watched.lists(&ALONE).await;
    // An invalid preset allows nothing.
    write(watched.at("q/preset_mine.json"), "{");
    watched.lists(&[]).await;
    write(watched.at("q/preset_mine.json"), &all);
    watched.lists(&BOTH).await;
    // Without its folder the configuration is invalid, and the previous one stays in force.
    super::rename(watched.at("q"), watched.at("r"));
    watched.wait_for_log(super::REFUSED).await;
    watched.lists(&BOTH).await;
    super::rename(watched.at("r"), watched.at("q"));
    write(watched.at("q/preset_mine.json"), &one);
    watched.lists(&ALONE).await;
}

#[tokio::test]
async fn endpoint_preset_change_is_applied() {
    let mut watched = Watched::start().await;
    let config = |it: &Watched, tools: &[&str]| {
        json!({
            "mcpServers": { "one": it.servers.one.config(), "two": it.servers.two.config() },
            "shape": false,
            "presets": { "few": preset(tools) },
            "endpoints": { "default": { "preset": "few" } }
        })
        .to_string()
    };
    write(watched.file(), config(&watched, &["two/*"]));
    watched.lists(&["two__tool"]).await;
    write(watched.file(), config(&watched, &["*/*", "!two/*"]));
    watched.lists(&ALONE).await;
}

/// The connection stays open, and the session is notified.
#[tokio::test]
async fn disabled_tools_change_without_a_server_restart() {
    let mut watched = Watched::start().await;
    let text = |list: Value| {
        let mut entry = watched.servers.one.config();
        entry["disabledTools"] = list;
        crate::gateway::config([("one", entry)]).to_string()
    };
    let (without, with) = (text(json!(["tool"])), text(json!([])));
    for _ in 0..2 {
        write(watched.file(), &without);
        watched.lists(&[]).await;
        let answer = watched.session.call_tool("one__tool", json!({})).await;
        assert!(
            crate::gateway::error(&answer).contains("not_allowed"),
            "{answer}"
        );
        write(watched.file(), &with);
        watched.lists(&ALONE).await;
    }
    assert_eq!(watched.servers.one.server_pids().len(), 1, "it goes on");
}
