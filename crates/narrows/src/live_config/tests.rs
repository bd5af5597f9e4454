//! Tests of changes and reloads: the resulting settings and the content of the files.

mod overlays;
mod saving;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use narrows_gateway::Gateway;
use narrows_gateway::settings::Settings;
use narrows_serve::admin::{Change, Changed, Keep, Operations, Rejected};
use serde_json::{Value, json};

use super::{ErrorReporting, LiveConfig, Reloaded};
use crate::config::{self, Environment};

/// A live configuration for a file in its own folder, removed on drop.
struct LiveConfigFixture {
    live_config: Arc<LiveConfig>,
    folder: PathBuf,
}

const FILE: &str = r#"{
  "mcpServers": {
    // for trying
    "demo": { "type": "builtin" },
  },
  "presets": { "few": { "tools": ["demo/*"] } }
}
"#;

impl LiveConfigFixture {
    fn new(text: &str) -> LiveConfigFixture {
        LiveConfigFixture::with(text, &[])
    }

    /// Creates the folder with further files.
    fn with(text: &str, others: &[(&str, &str)]) -> LiveConfigFixture {
        let folder = folder();
        for (name, text) in others {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        }
        let path = folder.join("narrows.json");
        fs::write(&path, text).expect("it can be written");
        let live_config = live_config(Some(&path));
        LiveConfigFixture {
            live_config,
            folder,
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("narrows.json")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).expect("it is there")
    }

    fn write(&self, text: &str) {
        fs::write(self.file(), text).expect("it can be written");
    }

    async fn memory(&self, change: Change) -> Result<Changed, Rejected> {
        self.live_config.change(change, Keep::Memory).await
    }

    async fn save(&self, change: Change) -> Result<Changed, Rejected> {
        self.live_config.change(change, Keep::File).await
    }

    async fn reload(&self) -> Reloaded {
        self.live_config.reload(ErrorReporting::Now).await
    }

    /// Returns the servers in force. Disabled ones have a `-`.
    async fn servers(&self) -> String {
        servers(&self.settings().await)
    }

    async fn settings(&self) -> Settings {
        self.live_config.0.state.lock().await.settings.clone()
    }

    async fn preset_of(&self, endpoint: &str) -> Option<String> {
        let settings = self.settings().await;
        let mut endpoints = settings.endpoints.into_iter();
        endpoints.find(|found| found.name == endpoint)?.preset
    }

    fn unsaved(&self) -> Vec<String> {
        self.live_config.status().unsaved
    }

    fn problems(&self) -> Vec<String> {
        self.live_config.status().problems
    }
}

impl Drop for LiveConfigFixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn folder() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("narrows-live-config-{}-{count}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

fn live_config(file: Option<&Path>) -> Arc<LiveConfig> {
    keeper_in([("TOKEN", "s3cr3t")].into_iter().collect(), file)
}

fn keeper_in(environment: Environment, file: Option<&Path>) -> Arc<LiveConfig> {
    let config = config::load(file, &environment);
    let config = config.unwrap_or_else(|problems| panic!("{}", problems[0]));
    let gateway = Gateway::start(Settings::default());
    LiveConfig::new(gateway, config, environment, |settings| {
        settings.guard = Some(vec!["guard".into()]);
    })
}

fn servers(settings: &Settings) -> String {
    let ids = settings.upstreams.iter().map(|upstream| {
        let off = if upstream.upstream.enabled { "" } else { "-" };
        format!("{off}{}", upstream.upstream.id)
    });
    ids.collect::<Vec<_>>().join(" ")
}

fn add(id: &str) -> Change {
    let entry = json!({ "type": "builtin", "name": "demo" });
    add_entry(id, entry)
}

fn add_entry(id: &str, entry: Value) -> Change {
    let id = id.to_owned();
    Change::AddServer { id, entry }
}

fn replace(id: &str, entry: Value) -> Change {
    let id = id.to_owned();
    Change::ReplaceServer { id, entry }
}

fn remove(id: &str) -> Change {
    Change::RemoveServer { id: id.to_owned() }
}

fn enable(id: &str, enabled: bool) -> Change {
    let id = id.to_owned();
    Change::EnableServer { id, enabled }
}

fn put_preset(id: &str, entry: Value) -> Change {
    let id = id.to_owned();
    Change::PutPreset { id, entry }
}

fn remove_preset(id: &str) -> Change {
    Change::RemovePreset { id: id.to_owned() }
}

fn switch(endpoint: &str, preset: Option<&str>) -> Change {
    Change::SwitchPreset {
        endpoint: endpoint.to_owned(),
        preset: preset.map(str::to_owned),
    }
}

fn unknown(kind: &'static str, name: &str) -> Rejected {
    let name = name.to_owned();
    Rejected::Unknown { kind, name }
}

#[tokio::test]
async fn saved_file_is_applied_once() {
    let fixture = LiveConfigFixture::new(FILE);
    assert_eq!(fixture.reload().await, Reloaded::Same);
    fixture
        .write(r#"{ "mcpServers": { "pruner": { "type": "builtin" } }, "listen": "127.0.0.1:1" }"#);
    assert_eq!(fixture.reload().await, Reloaded::Applied);
    assert_eq!(fixture.servers().await, "pruner");
    assert_eq!(fixture.reload().await, Reloaded::Same);
    let guard = fixture.settings().await.guard;
    assert_eq!(
        guard,
        Some(vec!["guard".into()]),
        "the command line goes on counting"
    );
}

#[tokio::test]
async fn unusable_file_changes_nothing() {
    let fixture = LiveConfigFixture::new(FILE);
    for (text, event) in [
        ("", "the file is empty"),
        ("{ \"mcpServers\": {", "this is not valid JSON"),
        ("\0\0\0", "this is not valid JSON"),
        ("{ \"mcpServers\": [] }", "expected an object"),
        ("{}", "there are no servers"),
    ] {
        fixture.write(text);
        assert_eq!(fixture.reload().await, Reloaded::Refused, "{text}");
        let problems = fixture.problems().join("\n");
        assert!(problems.contains(event), "{problems}");
        assert!(problems.contains("narrows.json"), "{problems}");
        assert_eq!(fixture.servers().await, "demo");
    }
    fixture.write(FILE);
    assert_eq!(fixture.reload().await, Reloaded::Same);
    assert!(fixture.problems().is_empty());
}

#[tokio::test]
async fn unreadable_file_changes_nothing() {
    let fixture = LiveConfigFixture::new(FILE);
    let file = fixture.file();
    let large = vec![b' '; 17 * 1024 * 1024];
    fs::write(&file, large).expect("it can be written");
    assert_eq!(fixture.reload().await, Reloaded::Refused);
    assert!(fixture.problems()[0].ends_with("the file is larger than 16 MiB"));
    fs::write(&file, [0xff, 0xfe]).expect("it can be written");
    assert_eq!(fixture.reload().await, Reloaded::Refused);
    assert!(fixture.problems()[0].contains("the file is not UTF-8 text"));
    fs::remove_file(&file).expect("it was there");
    assert_eq!(fixture.reload().await, Reloaded::Refused);
    assert!(fixture.problems()[0].ends_with("the file is gone"));
    fs::create_dir(&file).expect("a folder can be made");
    assert_eq!(fixture.reload().await, Reloaded::Refused);
    assert!(fixture.problems()[0].contains("Is a directory"));
    fs::remove_dir(&file).expect("it was there");
    let made = std::process::Command::new("mkfifo").arg(&file).status();
    assert!(made.expect("mkfifo can be run").success());
    assert_eq!(fixture.reload().await, Reloaded::Refused);
    assert!(fixture.problems()[0].contains("not a regular file"));
    fs::remove_file(&file).expect("it was there");
    fixture.write(FILE);
    assert_eq!(fixture.reload().await, Reloaded::Same);
    assert_eq!(fixture.servers().await, "demo");
}

#[tokio::test]
async fn partial_file_is_not_reported_at_first() {
    let fixture = LiveConfigFixture::new(FILE);
    fixture.write("{");
    let reloaded = fixture.live_config.reload(ErrorReporting::NotYet).await;
    assert_eq!(reloaded, Reloaded::Refused);
    assert!(fixture.problems().is_empty());
    let mut events = fixture.live_config.0.gateway.listen();
    assert_eq!(fixture.reload().await, Reloaded::Refused);
    assert_eq!(fixture.problems().len(), 1);
    assert_eq!(fixture.reload().await, Reloaded::Refused);
    let event = events.try_recv().expect("an event");
    let event = serde_json::to_value(&*event).expect("it is JSON");
    assert_eq!(event["event"], "settings_refused");
    assert!(events.try_recv().is_err(), "once");
}

#[tokio::test]
async fn start_only_settings_are_reported() {
    let fixture = LiveConfigFixture::new(FILE);
    fixture
        .write(r#"{ "mcpServers": { "demo": { "type": "builtin" } }, "listen": "127.0.0.1:1" }"#);
    assert_eq!(fixture.reload().await, Reloaded::Applied);
    let changed = fixture.memory(add("more")).await.expect("it fits");
    assert_eq!(
        changed.applied.at_next_start, [""; 0],
        "it has been reported"
    );
    fixture.write(r#"{ "mcpServers": { "demo": { "type": "builtin" } }, "allowed_hosts": ["a"] }"#);
    assert_eq!(fixture.reload().await, Reloaded::Applied);
}

#[tokio::test]
async fn built_in_default_cannot_be_saved_without_a_home() {
    let environment = Environment::default();
    let built_in = config::load(None, &environment).expect("it is built in");
    assert_eq!(
        built_in.file, None,
        "there is none in the folder of this crate"
    );
    let fixture = LiveConfigFixture {
        live_config: live_config(None),
        folder: folder(),
    };
    assert_eq!(fixture.save(add("more")).await, Err(Rejected::NoFile));
    assert!(fixture.memory(add("more")).await.is_ok());
    assert_eq!(fixture.servers().await, "demo pruner more");
    let settings = fixture.settings().await;
    assert_eq!(settings.rpc_servers, built_in.checked.gateway.rpc_servers);
    assert!(fixture.memory(remove("more")).await.is_ok());
    let mut settings = fixture.settings().await;
    settings.guard = None;
    assert_eq!(settings, built_in.checked.gateway);
}

#[tokio::test]
async fn first_saved_change_creates_the_user_file() {
    let folder = folder();
    let home = folder.to_str().expect("it is UTF-8").to_owned();
    let environment: Environment = [("HOME", home.as_str())].into_iter().collect();
    let live_config = keeper_in(environment, None);
    let file = folder.join(".config/narrows/narrows.json");
    let fixture = LiveConfigFixture {
        live_config,
        folder,
    };
    assert!(fixture.memory(add("unsaved")).await.is_ok());
    let changed = fixture.save(add("more")).await.expect("it is saved");
    assert!(changed.created);
    assert_eq!(changed.saved_to.as_deref(), Some(&*file));
    assert_eq!(fixture.servers().await, "demo pruner more unsaved");
    let text = fs::read_to_string(&file).expect("it was created");
    assert!(text.contains("more") && !text.contains("unsaved"), "{text}");
    let mode = fs::metadata(&file).expect("it is there").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600, "entries may hold secrets");
    fixture.live_config.has_file().await;
    assert_eq!(fixture.live_config.files().0, Some(file.clone()));
    assert_eq!(fixture.live_config.status().file, Some(file.clone()));
    let changed = fixture.save(remove("more")).await.expect("it is saved");
    assert!(!changed.created);
    let others = fs::read_dir(file.parent().expect("a folder")).expect("it is there");
    assert_eq!(others.count(), 1, "nothing else is left");
}

#[tokio::test]
async fn removing_all_tokens_is_rejected_if_tokens_are_required() {
    let digest = format!("sha256:{}", "0".repeat(64));
    let clients = format!(r#", "clients": {{ "one": {{ "token": "{digest}" }} }}"#);
    let guarded = FILE.trim_end().trim_end_matches('}').to_owned() + &clients + "}";
    let fixture = LiveConfigFixture::new(&guarded);
    fixture.live_config.need_tokens();
    fixture.write(FILE);
    assert_eq!(fixture.reload().await, Reloaded::Refused);
    assert!(fixture.problems()[0].contains("no client has a token"));
    assert_eq!(
        fixture.settings().await.clients.len(),
        1,
        "the old ones count"
    );
    // An unrelated change must not put the file into force either.
    assert!(fixture.save(add("more")).await.is_err());
    fixture.write(&guarded);
    assert_eq!(fixture.reload().await, Reloaded::Same);
    assert!(fixture.save(add("more")).await.is_ok());
}

#[tokio::test]
async fn unstartable_server_is_not_added() {
    let fixture = LiveConfigFixture::new(FILE);
    let change = Change::AddServer {
        id: "ghost".to_owned(),
        entry: json!({ "command": "${NO_SUCH_VARIABLE}" }),
    };
    for keep in [Keep::Memory, Keep::File] {
        let refused = fixture.live_config.change(change.clone(), keep).await;
        let Err(Rejected::Invalid(lines)) = refused else {
            panic!("{refused:?}");
        };
        assert!(lines[0].contains("ghost"), "{lines:?}");
    }
    assert_eq!(fixture.text(), FILE);
    assert!(fixture.unsaved().is_empty());
}

#[tokio::test]
async fn stale_unsaved_change_does_not_block_others() {
    let fixture = LiveConfigFixture::new(FILE);
    fixture.memory(add("more")).await.expect("it fits");
    let off = Change::EnableServer {
        id: "demo".to_owned(),
        enabled: false,
    };
    fixture.memory(off).await.expect("it fits");
    fixture.write(r#"{ "mcpServers": { "pruner": { "type": "builtin" } } }"#);
    let saved = fixture.save(add("third")).await;
    assert!(saved.is_ok(), "{saved:?}");
    assert_eq!(fixture.unsaved().len(), 1, "{:?}", fixture.unsaved());
}
