//! Tests of changes that are saved to the file.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::super::disk::{self, Unwritten};
use super::*;

#[tokio::test]
async fn the_text_is_edited_and_no_second_change_follows() {
    let desk = Desk::new(FILE);
    let entry = json!({ "command": "x", "env": { "A": "${TOKEN}" } });
    let changed = desk.save(add_entry("more", entry)).await.expect("it fits");
    assert_eq!(changed.saved_to, Some(desk.file()));
    let text = desk.text();
    assert!(text.contains("// for trying"), "{text}");
    assert!(
        text.contains("${TOKEN}") && !text.contains("s3cr3t"),
        "{text}"
    );
    assert_eq!(desk.servers().await, "demo more");
    assert_eq!(desk.reload().await, Reloaded::Same);
    assert!(desk.unsaved().is_empty());
}

#[tokio::test]
async fn what_somebody_saved_meanwhile_is_kept() {
    let desk = Desk::new(FILE);
    let text = FILE.replace(
        "\"demo\":",
        "\"other\": { \"command\": \"y\" },\n    \"demo\":",
    );
    desk.write(&text);
    desk.save(add("more")).await.expect("it fits");
    assert_eq!(desk.servers().await, "other demo more");
    assert!(desk.text().contains("\"command\": \"y\""));
}

#[tokio::test]
async fn a_file_that_is_broken_meanwhile_is_left_alone() {
    let desk = Desk::new(FILE);
    desk.write("{ \"mcpServers\": {");
    let saved = desk.save(add("more")).await;
    assert!(matches!(saved, Err(Rejected::Invalid(_))), "{saved:?}");
    assert_eq!(desk.text(), "{ \"mcpServers\": {");
    assert_eq!(desk.servers().await, "demo");
}

#[tokio::test]
async fn what_would_be_wrong_is_not_written() {
    let desk = Desk::new(FILE);
    let saved = desk.save(add_entry("x", json!({ "command": 5 }))).await;
    assert!(matches!(saved, Err(Rejected::Invalid(_))), "{saved:?}");
    let saved = desk.save(remove_preset("few")).await;
    assert!(saved.is_ok());
    assert_eq!(desk.save(remove("x")).await, Err(unknown("server", "x")));
    assert!(!desk.text().contains("\"x\""));
}

#[tokio::test]
async fn what_was_unsaved_of_the_same_thing_is_settled() {
    let desk = Desk::new(FILE);
    desk.memory(add("more")).await.expect("it fits");
    let again = desk.save(add("more")).await;
    assert!(matches!(again, Err(Rejected::Exists { .. })), "{again:?}");
    desk.save(enable("more", false))
        .await
        .expect("it is saved with it");
    assert!(desk.unsaved().is_empty());
    assert_eq!(desk.servers().await, "demo -more");
    assert!(desk.text().contains("\"more\""));

    desk.memory(remove("demo")).await.expect("it fits");
    desk.save(add("demo")).await.expect("it is new");
    assert!(desk.unsaved().is_empty());
    assert_eq!(desk.servers().await, "demo -more");

    desk.memory(add("third")).await.expect("it fits");
    desk.save(remove("third")).await.expect("it was only here");
    assert!(desk.unsaved().is_empty());
    desk.memory(add("third")).await.expect("it fits");
    let entry = json!({ "type": "builtin", "name": "pruner" });
    desk.save(replace("third", entry))
        .await
        .expect("it is saved");
    assert!(desk.text().contains("\"third\"") && desk.unsaved().is_empty());

    desk.memory(remove("third")).await.expect("it fits");
    desk.save(remove("third")).await.expect("it is in the file");
    assert!(!desk.text().contains("third") && desk.unsaved().is_empty());
}

#[tokio::test]
async fn links_and_rights_stay() {
    let desk = Desk::with(FILE, &[("real/config.json", FILE)]);
    let real = desk.folder.join("real/config.json");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("it is ours");
    fs::remove_file(desk.file()).expect("it was there");
    symlink("real/config.json", desk.file()).expect("a link can be made");
    let before = fs::metadata(&real).expect("it is there");
    desk.save(add("more")).await.expect("it fits");
    let link = fs::symlink_metadata(desk.file()).expect("it is there");
    assert!(link.is_symlink());
    let after = fs::metadata(&real).expect("it is there");
    assert_eq!(after.mode(), before.mode());
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    assert!(desk.text().contains("\"more\""));
    let left = fs::read_dir(desk.folder.join("real")).expect("it is there");
    assert_eq!(left.count(), 1, "nothing is left beside it");
}

/// A name of maximum length leaves no room for a temporary file. It stands for a full disk or a
/// folder without write permission, which tests as root cannot set up by permissions.
#[tokio::test]
async fn where_nothing_can_be_written_everything_stays() {
    let folder = folder();
    let path = folder.join("n".repeat(255));
    fs::write(&path, FILE).expect("it can be written");
    let keeper = keeper(Some(&path));
    let desk = Desk { keeper, folder };
    let saved = desk.save(add("more")).await;
    assert!(matches!(saved, Err(Rejected::Unwritable(_))), "{saved:?}");
    assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some(FILE));
    assert_eq!(desk.servers().await, "demo");
    let left = fs::read_dir(&desk.folder).expect("it is there");
    assert_eq!(left.count(), 1, "nothing is left beside it");
}

#[test]
fn what_changed_at_the_last_moment_is_not_written_over() {
    let folder = folder();
    let path = folder.join("narrows.json");
    fs::write(&path, "theirs").expect("it can be written");
    let replaced = disk::replace(&path, "before", "ours");
    assert!(matches!(replaced, Err(Unwritten::Changed)), "{replaced:?}");
    assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("theirs"));
    let left = fs::read_dir(&folder).expect("it is there");
    assert_eq!(left.count(), 1, "nothing is left beside it");
    fs::remove_dir_all(&folder).expect("it is ours");
}

#[tokio::test]
async fn presets_of_files_are_written_there() {
    let text = FILE.replace("\"presets\"", "\"preset_dir\": \"p\", \"presets\"");
    let own = "{\n  // mine\n  \"tools\": [\"demo/*\"]\n}\n";
    let desk = Desk::with(&text, &[("p/preset_own.json", own)]);
    let path = desk.folder.join("p/preset_own.json");
    let put = put_preset("own", json!({ "tools": ["demo/echo"] }));
    let changed = desk.save(put).await.expect("it fits");
    assert_eq!(changed.saved_to.as_deref(), Some(&*path));
    let written = fs::read_to_string(&path).expect("it is there");
    assert_eq!(written, "{\n  // mine\n  \"tools\": [\"demo/echo\"]\n}\n");
    assert_eq!(desk.text(), text);
    let bad = desk.save(put_preset("own", json!({ "tols": [] }))).await;
    assert!(matches!(bad, Err(Rejected::Invalid(_))), "{bad:?}");
    assert_eq!(fs::read_to_string(&path).ok(), Some(written));

    desk.save(switch("default", Some("own")))
        .await
        .expect("it is there");
    let used = desk.save(remove_preset("own")).await;
    assert!(matches!(used, Err(Rejected::Invalid(_))), "{used:?}");
    assert!(path.exists());
    desk.save(switch("default", None))
        .await
        .expect("it is there");
    desk.save(remove_preset("own"))
        .await
        .expect("no setting names it");
    assert!(!path.exists());
    // A new preset is added to the presets without files.
    desk.save(put_preset("new", json!({ "tools": [] })))
        .await
        .expect("it fits");
    assert!(desk.text().contains("\"new\""));
}
