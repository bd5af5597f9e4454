//! Tests that a saved file is applied, however it is saved.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;

use super::{BOTH, ReloadServers, Watched, rename, write};
use crate::program::Folder;

#[tokio::test]
async fn in_place_write_is_applied() {
    let mut watched = Watched::start().await;
    watched.check(|it, text| write(it.file(), text)).await;
    watched
        .wait_for_log("configuration applied: added two")
        .await;
    watched
        .wait_for_log("configuration applied: removed two")
        .await;
}

#[tokio::test]
async fn stepwise_write_is_applied() {
    let mut watched = Watched::start().await;
    let save = |it: &Watched, text: &str| {
        let mut file = fs::File::create(it.file()).expect("it can be written");
        for part in text.as_bytes().chunks(text.len() / 3 + 1) {
            std::thread::sleep(std::time::Duration::from_millis(30));
            file.write_all(part).expect("it can be written");
        }
    };
    watched.check(save).await;
}

#[tokio::test]
async fn file_moved_over_the_old_one_is_applied() {
    let mut watched = Watched::start().await;
    let save = |it: &Watched, text: &str| {
        write(it.at("narrows.json.new"), text);
        rename(it.at("narrows.json.new"), it.file());
    };
    watched.check(save).await;
}

#[tokio::test]
async fn file_recreated_after_a_move_is_applied() {
    let mut watched = Watched::start().await;
    let save = |it: &Watched, text: &str| {
        rename(it.file(), it.at("narrows.json~"));
        write(it.file(), text);
        fs::remove_file(it.at("narrows.json~")).expect("it was there");
    };
    watched.check(save).await;
}

#[tokio::test]
async fn file_recreated_after_removal_is_applied() {
    let mut watched = Watched::start().await;
    let save = |it: &Watched, text: &str| {
        fs::remove_file(it.file()).expect("it was there");
        write(it.file(), text);
    };
    watched.check(save).await;
}

#[tokio::test]
async fn last_of_many_saves_is_applied() {
    let mut watched = Watched::start().await;
    let (both, alone) = (watched.servers.both(), watched.servers.alone());
    for _ in 0..100 {
        write(watched.file(), &alone);
        write(watched.file(), &both);
    }
    watched.lists(&BOTH).await;
}

/// An endless stream of changes does not keep the file from being applied.
#[tokio::test]
async fn endless_saving_does_not_prevent_a_reload() {
    let mut watched = Watched::start().await;
    let (both, file) = (watched.servers.both(), watched.file());
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn(move || {
        let mut file = OpenOptions::new()
            .write(true)
            .open(file)
            .expect("it is there");
        let more = format!("{both}{}", " ".repeat(1_000));
        file.write_all(more.as_bytes()).expect("it can be written");
        let wait = std::time::Duration::from_millis(20);
        while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = stopped.recv_timeout(wait) {
            file.write_all(b" ").expect("it can be written");
        }
    });
    watched.lists(&BOTH).await;
    drop(stop);
    writer.join().expect("it writes");
}

#[tokio::test]
async fn change_behind_a_link_is_applied() {
    let servers = ReloadServers::install();
    let folder = Folder::new();
    fs::create_dir(folder.path().join("real")).expect("a folder can be made");
    folder.write("real/first.json", servers.alone());
    symlink("real/first.json", folder.path().join("narrows.json")).expect("a link can be made");
    let mut watched = Watched::start_in(servers, folder, &[]).await;
    // The target of the link, written in place and replaced.
    watched
        .check(|it, text| write(it.at("real/first.json"), text))
        .await;
    let save = |it: &Watched, text: &str| {
        write(it.at("real/new"), text);
        rename(it.at("real/new"), it.at("real/first.json"));
    };
    watched.check(save).await;
    // The link itself is replaced.
    let save = |it: &Watched, text: &str| {
        let name = if it.at("real/a").exists() {
            "real/b"
        } else {
            "real/a"
        };
        let _ = fs::remove_file(it.at("real/a"));
        let _ = fs::remove_file(it.at("real/b"));
        write(it.at(name), text);
        symlink(name, it.at("link")).expect("a link can be made");
        rename(it.at("link"), it.file());
    };
    watched.check(save).await;
}

/// As in Kubernetes, the file is a link through a link to a folder, and that link is replaced.
#[tokio::test]
async fn swapped_folder_link_is_applied() {
    let servers = ReloadServers::install();
    let folder = Folder::new();
    let map = folder.path().join("map");
    fs::create_dir_all(map.join("..1")).expect("a folder can be made");
    folder.write("map/..1/narrows.json", servers.alone());
    symlink("..1", map.join("..data")).expect("a link can be made");
    symlink("..data/narrows.json", map.join("narrows.json")).expect("a link can be made");
    let more = ["--config", "map/narrows.json"];
    let mut watched = Watched::start_in(servers, folder, &more).await;
    let save = |it: &Watched, text: &str| {
        let old = fs::read_link(it.at("map/..data")).expect("it is a link");
        let old = old.to_str().expect("it is UTF-8");
        let number: usize = old.trim_matches('.').parse().expect("a number");
        let new = format!("..{}", number + 1);
        fs::create_dir(it.at("map").join(&new)).expect("a folder can be made");
        write(it.at("map").join(&new).join("narrows.json"), text);
        symlink(&new, it.at("map/..data_tmp")).expect("a link can be made");
        rename(it.at("map/..data_tmp"), it.at("map/..data"));
        fs::remove_dir_all(it.at("map").join(old)).expect("it was there");
    };
    watched.check(save).await;
}

#[tokio::test]
async fn recreated_folder_is_applied() {
    let servers = ReloadServers::install();
    let folder = Folder::new();
    fs::create_dir_all(folder.path().join("a/b")).expect("a folder can be made");
    folder.write("a/b/narrows.json", servers.alone());
    symlink("a", folder.path().join("link")).expect("a link can be made");
    let more = ["--config", "link/b/narrows.json"];
    let mut watched = Watched::start_in(servers, folder, &more).await;
    let save = |it: &Watched, text: &str| {
        fs::remove_dir_all(it.at("a")).expect("it was there");
        fs::create_dir_all(it.at("a/b")).expect("a folder can be made");
        write(it.at("a/b/narrows.json"), text);
    };
    watched.check(save).await;
    let save = |it: &Watched, text: &str| {
        rename(it.at("a"), it.at("old"));
        fs::create_dir_all(it.at("a/b")).expect("a folder can be made");
        write(it.at("a/b/narrows.json"), text);
        fs::remove_dir_all(it.at("old")).expect("it was there");
    };
    watched.check(save).await;
}
