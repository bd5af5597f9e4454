//! Tests that an invalid file is ignored and reported once.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use narrows_testkit::until;

use super::{ALONE, BOTH, REFUSED, Watched, write};

/// Makes the file invalid, checks that the previous configuration stays in force, and repairs it.
async fn check(spoil: impl Fn(&Watched), reported: &str, repair: impl Fn(&Watched)) {
    let mut watched = Watched::start().await;
    spoil(&watched);
    watched.wait_for_log(reported).await;
    assert_eq!(watched.session.tool_names().await, ALONE);
    repair(&watched);
    write(watched.file(), watched.servers.both());
    watched.lists(&BOTH).await;
    assert_eq!(watched.count_in_log(reported), 1, "{}", watched.log());
}

fn nothing(_: &Watched) {}

#[tokio::test]
async fn invalid_file_is_rejected() {
    let spoil = |it: &Watched| write(it.file(), b"{\n  \"mcpServers\": [\n\x00\x01");
    check(spoil, "narrows.json:3:1: this is not valid JSON", nothing).await;
}

#[tokio::test]
async fn empty_file_is_rejected() {
    let spoil = |it: &Watched| write(it.file(), "");
    check(spoil, "narrows.json:1:1: the file is empty", nothing).await;
}

#[tokio::test]
async fn oversized_file_is_rejected() {
    let spoil = |it: &Watched| write(it.file(), vec![b' '; 50_000_000]);
    check(spoil, "the file is larger than 16 MiB", nothing).await;
}

#[tokio::test]
async fn folder_in_place_of_the_file_is_rejected() {
    let spoil = |it: &Watched| {
        fs::remove_file(it.file()).expect("it was there");
        fs::create_dir(it.file()).expect("a folder can be made");
    };
    let repair = |it: &Watched| fs::remove_dir(it.file()).expect("it was there");
    check(spoil, "Is a directory", repair).await;
}

#[tokio::test]
async fn missing_file_is_rejected() {
    let spoil = |it: &Watched| fs::remove_file(it.file()).expect("it was there");
    check(spoil, "narrows.json: the file is gone", nothing).await;
}

#[tokio::test]
async fn unreadable_file_is_rejected() {
    let watched = Watched::start().await;
    let file = watched.file();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).expect("it is ours");
    if fs::read(&file).is_ok() {
        // Root can read every file, so the test is not possible.
        return;
    }
    watched.wait_for_log("Permission denied").await;
}

#[tokio::test]
async fn each_error_is_reported_once() {
    let mut watched = Watched::start().await;
    write(watched.file(), "{ \"mcpServers\": {} , \"listen\": 5 }");
    watched
        .wait_for_log("narrows.json:1:32: expected a string, found a number")
        .await;
    write(watched.file(), "{ \"mcpServers\": {} , \"listen\": 5 } ");
    write(watched.file(), "{ \"mcpServers\": {} , \"listen\": \"x\" }");
    watched.wait_for_log("`x` is not a listen address").await;
    assert_eq!(watched.count_in_log(REFUSED), 2, "{}", watched.log());
    write(watched.file(), watched.servers.alone());
    watched
        .wait_for_log("matches the active configuration again")
        .await;
    assert_eq!(watched.session.tool_names().await, ALONE);
}

#[tokio::test]
async fn sighup_reloads_the_file() {
    let servers = super::ReloadServers::install();
    let folder = crate::program::Folder::with(&servers.alone());
    let mut watched = Watched::start_in(servers, folder, &["--no-watch"]).await;
    let signal = |it: &Watched| {
        let pid = it.gateway.program.pid().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-HUP", &pid])
            .status();
        assert!(sent.expect("kill can be run").success());
    };
    write(watched.file(), watched.servers.both());
    signal(&watched);
    watched.lists(&BOTH).await;
    write(watched.file(), "{");
    signal(&watched);
    until("it says so", || watched.count_in_log(REFUSED) == 1).await;
    watched.lists(&BOTH).await;
}
