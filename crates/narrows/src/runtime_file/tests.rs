//! Tests of the runtime file in real folders.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{RuntimeFile, found};
use crate::config::Environment;

const URL: &str = "http://127.0.0.1:7420";

/// An empty folder, removed on drop.
struct TestHome(PathBuf);

impl TestHome {
    fn new() -> TestHome {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("narrows-runtime-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder can be made");
        TestHome(path)
    }

    fn environment(&self) -> Environment {
        [("HOME", self.0.as_os_str())].into_iter().collect()
    }

    fn run(&self) -> PathBuf {
        self.0.join(".local/state/narrows/run")
    }

    /// Writes a file with this mode.
    fn put(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        fs::create_dir_all(self.run()).expect("a folder can be made");
        set_mode(&self.run(), 0o700);
        let path = self.run().join(name);
        fs::write(&path, text).expect("a file can be written");
        set_mode(&path, mode);
        path
    }

    /// Returns the addresses found, and the warnings without the folder's path.
    fn found(&self) -> (Vec<String>, Vec<String>) {
        let found = found(&self.environment());
        let folder = format!("{}", self.run().display());
        let warnings = found.warnings.iter();
        let warnings = warnings.map(|warning| warning.replace(&folder, "RUN"));
        let urls = found.running.into_iter().map(|running| running.url);
        (urls.collect(), warnings.collect())
    }
}

impl Drop for TestHome {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path)
        .expect("it is there")
        .permissions()
        .mode()
        & 0o777
}

fn text(pid: u32) -> String {
    format!(r#"{{"url": "{URL}", "token": "nra_x", "pid": {pid}, "config": null}}"#)
}

#[test]
fn runtime_file_is_private_and_removed_on_exit() {
    let home = TestHome::new();
    let config = Some(Path::new("/x/narrows.json"));
    let file = RuntimeFile::write(&home.environment(), URL, "nra_x", config).expect("written");
    let path = home.run().join("7420.json");
    assert_eq!((mode(&home.run()), mode(&path)), (0o700, 0o600));
    let found = found(&home.environment());
    assert!(found.warnings.is_empty());
    let running = found.running.first().expect("it is found");
    assert_eq!(
        (running.url.as_str(), running.token.as_str()),
        (URL, "nra_x")
    );
    assert_eq!(running.config.as_deref(), Some("/x/narrows.json"));
    assert_eq!(running.pid, super::own_pid());
    drop(file);
    assert!(
        fs::read_dir(home.run())
            .expect("it is there")
            .next()
            .is_none()
    );
}

#[test]
fn loose_folder_permissions_are_tightened() {
    let home = TestHome::new();
    fs::create_dir_all(home.run()).expect("a folder can be made");
    set_mode(&home.run(), 0o777);
    assert_eq!(
        home.found().1,
        ["RUN is ignored: other users can write to it"]
    );
    let _file = RuntimeFile::write(&home.environment(), URL, "nra_x", None).expect("written");
    assert_eq!(mode(&home.run()), 0o700);
    assert_eq!(home.found().0, [URL]);
}

#[test]
fn file_of_a_newer_gateway_is_kept() {
    let home = TestHome::new();
    let environment = home.environment();
    let first = RuntimeFile::write(&environment, URL, "nra_1", None).expect("written");
    let _next = RuntimeFile::write(&environment, URL, "nra_2", None).expect("written");
    drop(first);
    assert_eq!(found(&environment).running[0].token, "nra_2");
}

#[test]
fn files_of_exited_processes_are_removed() {
    let home = TestHome::new();
    let mut child = std::process::Command::new("true").spawn().expect("it runs");
    child.wait().expect("it ends");
    let stale = home.put("1.json", &text(child.id()), 0o600);
    let none = home.put("2.json", &text(0), 0o600);
    assert_eq!(home.found(), (vec![], vec![]));
    assert!(!stale.exists() && !none.exists());
}

#[test]
fn insecure_files_are_ignored() {
    let home = TestHome::new();
    let own = text(std::process::id());
    let loose = home.put("1.json", &own, 0o640);
    home.put("2.json", &own, 0o602);
    home.put("3.json", "nra_secret", 0o600);
    home.put("5.json", &own, 0o600);
    symlink(home.run().join("5.json"), home.run().join("4.json")).expect("a link");
    let mut fifo = std::process::Command::new("mkfifo");
    let made = fifo.arg(home.run().join("6.json")).status();
    assert!(made.expect("it runs").success());
    fs::create_dir(home.run().join("7.json")).expect("a folder can be made");
    let (urls, mut warnings) = home.found();
    warnings.sort();
    assert_eq!(urls, [URL]);
    let expected = [
        "RUN/1.json is ignored: other users can read or write it",
        "RUN/2.json is ignored: other users can read or write it",
        "RUN/3.json is ignored: it is not a runtime file",
    ];
    assert_eq!(warnings[..3], expected);
    assert!(
        warnings[3].starts_with("RUN/4.json is ignored: "),
        "{warnings:?}"
    );
    assert!(
        warnings[4..]
            .iter()
            .all(|warning| warning.ends_with("it is not a regular file"))
    );
    assert!(loose.exists());
}

#[test]
fn symlinked_folder_is_not_followed() {
    let home = TestHome::new();
    let elsewhere = home.0.join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder can be made");
    fs::create_dir_all(home.run().parent().expect("it has one")).expect("a folder can be made");
    symlink(&elsewhere, home.run()).expect("a link");
    assert!(RuntimeFile::write(&home.environment(), URL, "nra_x", None).is_err());
    assert!(
        fs::read_dir(&elsewhere)
            .expect("it is there")
            .next()
            .is_none()
    );
    assert_eq!(home.found().1.len(), 1);
}

#[test]
fn xdg_runtime_folder_is_preferred_and_not_created() {
    let home = TestHome::new();
    let login = home.0.join("login");
    let variables = [
        ("HOME", home.0.as_os_str()),
        ("XDG_RUNTIME_DIR", login.as_os_str()),
    ];
    let environment: Environment = variables.into_iter().collect();
    let fallen_back = RuntimeFile::write(&environment, URL, "nra_x", None).expect("written");
    assert!(!login.exists() && home.run().join("7420.json").exists());
    drop(fallen_back);
    fs::create_dir(&login).expect("a folder can be made");
    let _file = RuntimeFile::write(&environment, URL, "nra_x", None).expect("written");
    assert!(login.join("narrows/7420.json").exists());
    assert_eq!(found(&environment).running.len(), 1);
}

#[test]
fn without_a_folder_no_file_or_gateway_is_found() {
    let environment = Environment::default();
    assert!(RuntimeFile::write(&environment, URL, "nra_x", None).is_err());
    let found = found(&environment);
    assert!(found.running.is_empty() && found.warnings.is_empty());
}

#[test]
fn file_of_another_user_is_ignored() {
    let home = TestHome::new();
    let file = home.put("1.json", &text(std::process::id()), 0o600);
    // Only root can change the owner of a file; other users cannot test this.
    if std::os::unix::fs::chown(&file, Some(65_534), None).is_ok() {
        let warning = "RUN/1.json is ignored: it belongs to another user";
        assert_eq!(home.found(), (vec![], vec![warning.to_owned()]));
    }
}
