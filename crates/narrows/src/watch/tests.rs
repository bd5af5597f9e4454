//! Tests of watched paths and of recognising changes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use notify::event::{AccessKind, AccessMode, CreateKind, EventKind};

use super::is_change;
use super::watched_paths::WatchedPaths;

struct TestFolder(PathBuf);

impl TestFolder {
    fn new() -> TestFolder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("narrows-watch-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a folder can be made");
        TestFolder(fs::canonicalize(folder).expect("it is there"))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(&path, text).expect("it can be written");
        path
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_link_and_folder_of_the_path_is_watched() {
    let folder = TestFolder::new();
    folder.write("real/v1/narrows.json", "{}");
    symlink("v1", folder.at("real/..data")).expect("a link can be made");
    symlink("..data/narrows.json", folder.at("real/narrows.json")).expect("a link can be made");
    symlink(folder.at("real"), folder.at("link")).expect("a link can be made");
    let watched_paths = WatchedPaths::find(&folder.at("link/../link/narrows.json"), None);
    for name in [
        "link",
        "real",
        "real/..data",
        "real/narrows.json",
        "real/v1/narrows.json",
    ] {
        assert!(watched_paths.names.concern(&folder.at(name)), "{name}");
    }
    for name in ["other", "real/other", "real/v1/other", "v1"] {
        assert!(!watched_paths.names.concern(&folder.at(name)), "{name}");
    }
    let folders: Vec<&PathBuf> = watched_paths.names.folders().collect();
    assert!(folders.contains(&&folder.at("real/v1")));
    assert!(folders.contains(&&PathBuf::from("/")));
}

#[test]
fn link_cycles_terminate() {
    let folder = TestFolder::new();
    symlink("b", folder.at("a")).expect("a link can be made");
    symlink("a", folder.at("b")).expect("a link can be made");
    let watched_paths = WatchedPaths::find(&folder.at("a/narrows.json"), None);
    assert!(watched_paths.names.concern(&folder.at("a")));
}

#[test]
fn snapshots_differ_between_states() {
    let folder = TestFolder::new();
    let file = folder.write("c/narrows.json", "{}");
    folder.write("p/preset_a.json", "{}");
    let presets = folder.at("p");
    let watched_paths = WatchedPaths::find(&file, Some(&presets));
    let mut seen = vec![watched_paths.look()];
    assert_eq!(seen[0], watched_paths.look());
    let mut is_new = |what: &str| {
        let state = watched_paths.look();
        assert!(!seen.contains(&state), "{what}");
        seen.push(state);
    };
    folder.write("c/new.json", "{ }");
    fs::rename(folder.at("c/new.json"), &file).expect("it can be moved");
    is_new("another file");
    folder.write("p/preset_b.json", "{}");
    is_new("another preset");
    fs::remove_file(&file).expect("it was there");
    is_new("no file");
    fs::rename(folder.at("c"), folder.at("d")).expect("it can be moved");
    folder.write("c/narrows.json", "{}");
    is_new("another folder");
    assert!(!watched_paths.is_same_way(&WatchedPaths::find(&file, Some(&presets))));
}

#[test]
fn preset_files_are_watched_in_any_folder() {
    let folder = TestFolder::new();
    let file = folder.write("narrows.json", "{}");
    folder.write("p/preset_a.json", "{}");
    symlink("p", folder.at("q")).expect("a link can be made");
    let watched_paths = WatchedPaths::find(&file, Some(&folder.at("q")));
    assert!(watched_paths.names.concern(&folder.at("p/preset_new.json")));
    assert!(watched_paths.names.concern(&folder.at("q")));
    let watched_paths = WatchedPaths::find(&file, Some(&folder.at("nowhere/at/all")));
    assert!(watched_paths.names.concern(&folder.at("nowhere")));
}

#[test]
fn reading_is_not_a_change() {
    let read = AccessKind::Open(AccessMode::Read);
    assert!(!is_change(&EventKind::Access(read)));
    assert!(!is_change(&EventKind::Access(AccessKind::Close(
        AccessMode::Read
    ))));
    assert!(is_change(&EventKind::Access(AccessKind::Close(
        AccessMode::Write
    ))));
    assert!(is_change(&EventKind::Create(CreateKind::File)));
}

#[test]
fn pipe_is_not_opened() {
    let folder = TestFolder::new();
    let pipe = folder.at("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo can be run").success());
    assert!(!WatchedPaths::find(&pipe, None).is_lasting());
    assert!(WatchedPaths::find(Path::new("nowhere.json"), None).is_lasting());
}
