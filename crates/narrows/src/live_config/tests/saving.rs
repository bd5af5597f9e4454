//! Tests of changes that are saved to the file.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::super::disk::{self, WriteError};
use super::*;

#[tokio::test]
async fn save_edits_the_text_without_a_second_change() {
    let fixture = LiveConfigFixture::new(FILE);
    let entry = json!({ "command": "x", "env": { "A": "${TOKEN}" } });
    let changed = fixture
        .save(add_entry("more", entry))
        .await
        .expect("it fits");
    assert_eq!(changed.saved_to, Some(fixture.file()));
    let text = fixture.text();
    assert!(text.contains("// for trying"), "{text}");
    assert!(
        text.contains("${TOKEN}") && !text.contains("s3cr3t"),
        "{text}"
    );
    assert_eq!(fixture.servers().await, "demo more");
    assert_eq!(fixture.reload().await, Reloaded::Same);
    assert!(fixture.unsaved().is_empty());
}

#[tokio::test]
async fn save_keeps_concurrent_edits() {
    let fixture = LiveConfigFixture::new(FILE);
    let text = FILE.replace(
        "\"demo\":",
        "\"other\": { \"command\": \"y\" },\n    \"demo\":",
    );
    fixture.write(&text);
    fixture.save(add("more")).await.expect("it fits");
    assert_eq!(fixture.servers().await, "other demo more");
    assert!(fixture.text().contains("\"command\": \"y\""));
}

#[tokio::test]
async fn invalid_file_is_not_overwritten() {
    let fixture = LiveConfigFixture::new(FILE);
    fixture.write("{ \"mcpServers\": {");
    let saved = fixture.save(add("more")).await;
    assert!(matches!(saved, Err(Rejected::Invalid(_))), "{saved:?}");
    assert_eq!(fixture.text(), "{ \"mcpServers\": {");
    assert_eq!(fixture.servers().await, "demo");
}

#[tokio::test]
async fn invalid_change_is_not_saved() {
    let fixture = LiveConfigFixture::new(FILE);
    let saved = fixture.save(add_entry("x", json!({ "command": 5 }))).await;
    assert!(matches!(saved, Err(Rejected::Invalid(_))), "{saved:?}");
    let saved = fixture.save(remove_preset("few")).await;
    assert!(saved.is_ok());
    assert_eq!(fixture.save(remove("x")).await, Err(unknown("server", "x")));
    assert!(!fixture.text().contains("\"x\""));
}

#[tokio::test]
async fn save_includes_earlier_unsaved_changes() {
    let fixture = LiveConfigFixture::new(FILE);
    fixture.memory(add("more")).await.expect("it fits");
    let again = fixture.save(add("more")).await;
    assert!(matches!(again, Err(Rejected::Exists { .. })), "{again:?}");
    fixture
        .save(enable("more", false))
        .await
        .expect("it is saved with it");
    assert!(fixture.unsaved().is_empty());
    assert_eq!(fixture.servers().await, "demo -more");
    assert!(fixture.text().contains("\"more\""));

    fixture.memory(remove("demo")).await.expect("it fits");
    fixture.save(add("demo")).await.expect("it is new");
    assert!(fixture.unsaved().is_empty());
    assert_eq!(fixture.servers().await, "demo -more");

    fixture.memory(add("third")).await.expect("it fits");
    fixture
        .save(remove("third"))
        .await
        .expect("it was only here");
    assert!(fixture.unsaved().is_empty());
    fixture.memory(add("third")).await.expect("it fits");
    let entry = json!({ "type": "builtin", "name": "pruner" });
    fixture
        .save(replace("third", entry))
        .await
        .expect("it is saved");
    assert!(fixture.text().contains("\"third\"") && fixture.unsaved().is_empty());

    fixture.memory(remove("third")).await.expect("it fits");
    fixture
        .save(remove("third"))
        .await
        .expect("it is in the file");
    assert!(!fixture.text().contains("third") && fixture.unsaved().is_empty());
}

#[tokio::test]
async fn save_keeps_links_and_permissions() {
    let fixture = LiveConfigFixture::with(FILE, &[("real/config.json", FILE)]);
    let real = fixture.folder.join("real/config.json");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("it is ours");
    fs::remove_file(fixture.file()).expect("it was there");
    symlink("real/config.json", fixture.file()).expect("a link can be made");
    let before = fs::metadata(&real).expect("it is there");
    fixture.save(add("more")).await.expect("it fits");
    let link = fs::symlink_metadata(fixture.file()).expect("it is there");
    assert!(link.is_symlink());
    let after = fs::metadata(&real).expect("it is there");
    assert_eq!(after.mode(), before.mode());
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    assert!(fixture.text().contains("\"more\""));
    let left = fs::read_dir(fixture.folder.join("real")).expect("it is there");
    assert_eq!(left.count(), 1, "nothing is left beside it");
}

/// A name of maximum length leaves no room for a temporary file. It stands for a full disk or a
/// folder without write permission, which tests as root cannot set up by permissions.
#[tokio::test]
async fn failed_write_changes_nothing() {
    let folder = folder();
    let path = folder.join("n".repeat(255));
    fs::write(&path, FILE).expect("it can be written");
    let live_config = live_config(Some(&path));
    let fixture = LiveConfigFixture {
        live_config,
        folder,
    };
    let saved = fixture.save(add("more")).await;
    assert!(matches!(saved, Err(Rejected::Unwritable(_))), "{saved:?}");
    assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some(FILE));
    assert_eq!(fixture.servers().await, "demo");
    let left = fs::read_dir(&fixture.folder).expect("it is there");
    assert_eq!(left.count(), 1, "nothing is left beside it");
}

#[test]
fn file_changed_at_the_last_moment_is_not_overwritten() {
    let folder = folder();
    let path = folder.join("narrows.json");
    fs::write(&path, "theirs").expect("it can be written");
    let replaced = disk::replace(&path, "before", "ours");
    assert!(matches!(replaced, Err(WriteError::Changed)), "{replaced:?}");
    assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("theirs"));
    let left = fs::read_dir(&folder).expect("it is there");
    assert_eq!(left.count(), 1, "nothing is left beside it");
    fs::remove_dir_all(&folder).expect("it is ours");
}

#[tokio::test]
async fn file_presets_are_saved_to_their_file() {
    let text = FILE.replace("\"presets\"", "\"preset_dir\": \"p\", \"presets\"");
    let own = "{\n  // mine\n  \"tools\": [\"demo/*\"]\n}\n";
    let fixture = LiveConfigFixture::with(&text, &[("p/preset_own.json", own)]);
    let path = fixture.folder.join("p/preset_own.json");
    let put = put_preset("own", json!({ "tools": ["demo/echo"] }));
    let changed = fixture.save(put).await.expect("it fits");
    assert_eq!(changed.saved_to.as_deref(), Some(&*path));
    let written = fs::read_to_string(&path).expect("it is there");
    assert_eq!(written, "{\n  // mine\n  \"tools\": [\"demo/echo\"]\n}\n");
    assert_eq!(fixture.text(), text);
    let bad = fixture.save(put_preset("own", json!({ "tols": [] }))).await;
    assert!(matches!(bad, Err(Rejected::Invalid(_))), "{bad:?}");
    assert_eq!(fs::read_to_string(&path).ok(), Some(written));

    fixture
        .save(switch("default", Some("own")))
        .await
        .expect("it is there");
    let used = fixture.save(remove_preset("own")).await;
    assert!(matches!(used, Err(Rejected::Invalid(_))), "{used:?}");
    assert!(path.exists());
    fixture
        .save(switch("default", None))
        .await
        .expect("it is there");
    fixture
        .save(remove_preset("own"))
        .await
        .expect("no setting names it");
    assert!(!path.exists());
    // A new preset is added to the presets without files.
    fixture
        .save(put_preset("new", json!({ "tools": [] })))
        .await
        .expect("it fits");
    assert!(fixture.text().contains("\"new\""));
}
