//! Tests that an invalid file is ignored and reported once.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use narrows_testkit::until;

use super::{ALONE, BOTH, REFUSED, Watched, write};

/// Makes the file invalid, checks that the previous configuration stays in force, and repairs it.
async fn check(spoil: impl Fn(&Watched), reported: &str, repair: impl Fn(&Watched)) {
    let mut watched = Watched::start().await;
    spoil(&watched);
    watched.says(reported).await;
    assert_eq!(watched.session.tool_names().await, ALONE);
    repair(&watched);
    write(watched.file(), watched.servers.both());
    watched.lists(&BOTH).await;
    assert_eq!(watched.said(reported), 1, "{}", watched.log());
}

fn nothing(_: &Watched) {}

#[tokio::test]
async fn garbage() {
    let spoil = |it: &Watched| write(it.file(), b"{\n  \"mcpServers\": [\n\x00\x01");
    check(spoil, "narrows.json:3:1: this is not valid JSON", nothing).await;
}

#[tokio::test]
async fn an_empty_file() {
    let spoil = |it: &Watched| write(it.file(), "");
    check(spoil, "narrows.json:1:1: the file is empty", nothing).await;
}

#[tokio::test]
async fn a_large_file() {
    let spoil = |it: &Watched| write(it.file(), vec![b' '; 50_000_000]);
    check(spoil, "the file is larger than 16 MiB", nothing).await;
}

#[tokio::test]
async fn a_folder_in_its_place() {
    let spoil = |it: &Watched| {
        fs::remove_file(it.file()).expect("it was there");
        fs::create_dir(it.file()).expect("a folder can be made");
    };
    let repair = |it: &Watched| fs::remove_dir(it.file()).expect("it was there");
    check(spoil, "Is a directory", repair).await;
}

#[tokio::test]
async fn no_file() {
    let spoil = |it: &Watched| fs::remove_file(it.file()).expect("it was there");
    check(spoil, "narrows.json: the file is gone", nothing).await;
}

#[tokio::test]
async fn a_file_that_nobody_may_read() {
    let watched = Watched::start().await;
    let file = watched.file();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).expect("it is ours");
    if fs::read(&file).is_ok() {
        // Root can read every file, so the test is not possible.
        return;
    }
    watched.says("Permission denied").await;
}

#[tokio::test]
async fn the_same_mistake_is_told_once_and_another_one_again() {
    let mut watched = Watched::start().await;
    write(watched.file(), "{ \"mcpServers\": {} , \"listen\": 5 }");
    watched
        .says("narrows.json:1:32: expected a string, found a number")
        .await;
    write(watched.file(), "{ \"mcpServers\": {} , \"listen\": 5 } ");
    write(watched.file(), "{ \"mcpServers\": {} , \"listen\": \"x\" }");
    watched.says("`x` is not a listen address").await;
    assert_eq!(watched.said(REFUSED), 2, "{}", watched.log());
    write(watched.file(), watched.servers.alone());
    watched.says("matches the active configuration again").await;
    assert_eq!(watched.session.tool_names().await, ALONE);
}

#[tokio::test]
async fn a_signal_has_it_read_again() {
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
    until("it says so", || watched.said(REFUSED) == 1).await;
    watched.lists(&BOTH).await;
}
