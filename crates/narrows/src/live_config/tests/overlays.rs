//! Tests of changes that last until the process ends.

use super::*;

#[tokio::test]
async fn overlays_survive_a_new_file() {
    let fixture = LiveConfigFixture::new(FILE);
    let changed = fixture.memory(add("more")).await.expect("it fits");
    assert_eq!(changed.saved_to, None);
    fixture
        .memory(enable("demo", false))
        .await
        .expect("it fits");
    fixture
        .memory(switch("default", Some("few")))
        .await
        .expect("it fits");
    assert_eq!(fixture.text(), FILE);
    assert_eq!(fixture.servers().await, "-demo more");
    let text = FILE.replace("\"presets\"", "\"list_wait_s\": 1, \"presets\"");
    fixture.write(&text);
    fixture.reload().await;
    assert_eq!(fixture.servers().await, "-demo more");
    assert_eq!(fixture.preset_of("default").await.as_deref(), Some("few"));
    assert_eq!(fixture.preset_of("lazy").await.as_deref(), Some("few"));
    assert_eq!(
        fixture.unsaved(),
        [
            "server 'more' is added",
            "server 'demo' is disabled",
            "endpoint 'default' has preset 'few'",
        ]
    );
}

#[tokio::test]
async fn later_overlay_replaces_the_earlier() {
    let fixture = LiveConfigFixture::new(FILE);
    let pruner = json!({ "type": "builtin", "name": "pruner" });
    for change in [
        add("more"),
        enable("more", false),
        replace("more", pruner.clone()),
        remove("demo"),
        add_entry("demo", pruner.clone()),
        enable("demo", false),
        enable("demo", true),
        put_preset("p", json!({ "tools": [] })),
        put_preset("p", json!({ "tools": ["*/*"] })),
    ] {
        fixture.memory(change).await.expect("it fits");
    }
    assert_eq!(fixture.servers().await, "demo more");
    assert_eq!(
        fixture.unsaved(),
        [
            "server 'more' is added",
            "server 'demo' is replaced",
            "server 'demo' is enabled",
            "preset 'p' is set",
        ]
    );
    fixture.memory(remove("more")).await.expect("it fits");
    fixture.memory(remove_preset("p")).await.expect("it fits");
    fixture.memory(remove("demo")).await.expect("it fits");
    assert_eq!(fixture.servers().await, "");
    assert_eq!(fixture.unsaved(), ["server 'demo' is removed"]);
}

#[tokio::test]
async fn invalid_overlay_is_rejected() {
    let fixture = LiveConfigFixture::new(FILE);
    let exists = Rejected::Exists {
        kind: "server",
        name: "demo".into(),
    };
    assert_eq!(fixture.memory(add("demo")).await, Err(exists));
    assert_eq!(
        fixture.memory(remove("x")).await,
        Err(unknown("server", "x"))
    );
    let switched = fixture.memory(switch("nowhere", None)).await;
    assert_eq!(switched, Err(unknown("endpoint", "nowhere")));
    let removed = fixture.memory(remove_preset("x")).await;
    assert_eq!(removed, Err(unknown("preset", "x")));
    for change in [
        add_entry("x", json!({ "command": 5 })),
        switch("default", Some("nothing")),
        put_preset("x", json!({ "toools": [] })),
    ] {
        let Err(Rejected::Invalid(lines)) = fixture.memory(change).await else {
            panic!("it was taken up");
        };
        assert_eq!(lines.len(), 1, "{lines:?}");
    }
    assert!(fixture.unsaved().is_empty());
    assert_eq!(fixture.servers().await, "demo");
}

#[tokio::test]
async fn stale_overlays_are_dropped() {
    let fixture = LiveConfigFixture::new(FILE);
    fixture
        .memory(enable("demo", false))
        .await
        .expect("it fits");
    fixture
        .memory(switch("lazy", Some("few")))
        .await
        .expect("it fits");
    fixture.memory(add("more")).await.expect("it fits");
    // The new file contains neither the server nor the preset.
    fixture.write(r#"{ "mcpServers": { "pruner": { "type": "builtin" } } }"#);
    assert_eq!(fixture.reload().await, Reloaded::Applied);
    assert_eq!(fixture.servers().await, "pruner more");
    assert_eq!(fixture.unsaved(), ["server 'more' is added"]);
}

#[tokio::test]
async fn invalid_file_keeps_all_overlays() {
    let fixture = LiveConfigFixture::new(FILE);
    fixture.memory(add("more")).await.expect("it fits");
    fixture.write("{");
    assert_eq!(fixture.reload().await, Reloaded::Refused);
    assert_eq!(fixture.servers().await, "demo more");
    // The change applies on top of the settings in force, and the problem of the file remains.
    fixture.memory(add("other")).await.expect("it fits");
    assert_eq!(fixture.servers().await, "demo more other");
    assert_eq!(fixture.problems().len(), 1);
}

#[tokio::test]
async fn file_presets_can_be_hidden_and_overridden() {
    let text = FILE.replace("\"presets\"", "\"preset_dir\": \"p\", \"presets\"");
    let fixture = LiveConfigFixture::with(
        &text,
        &[("p/preset_own.json", r#"{ "tools": ["demo/*"] }"#)],
    );
    let ids = async || {
        let presets = fixture.settings().await.presets;
        let ids = presets.iter().map(|preset| preset.id().to_string());
        ids.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(ids().await, "few own");
    let put = put_preset("own", json!({ "tools": ["demo/echo"] }));
    let changed = fixture.memory(put).await.expect("it fits");
    assert!(changed.warnings.is_empty(), "{:?}", changed.warnings);
    fixture.memory(remove_preset("own")).await.expect("it fits");
    assert_eq!(ids().await, "few");
    let again = fixture.memory(remove_preset("own")).await;
    assert_eq!(again, Err(unknown("preset", "own")));
    fixture
        .memory(put_preset("own", json!({ "tools": [] })))
        .await
        .expect("it fits");
    fixture
        .memory(switch("default", Some("own")))
        .await
        .expect("it fits");
    let removed = fixture.memory(remove_preset("own")).await;
    let Err(Rejected::Invalid(lines)) = removed else {
        panic!("{removed:?}");
    };
    assert_eq!(
        lines,
        [
            "preset_own.json: preset `own` is used by endpoint 'default'",
            "preset_own.json: preset `own` is used by endpoint 'lazy'"
        ]
    );
    assert!(fixture.folder.join("p/preset_own.json").exists());
}
