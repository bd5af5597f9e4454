//! Tests of `narrows presets`.

use expect_test::expect;
use serde_json::{Value, json};

use super::api::{FakeAdminApi, Reply, change, error};

fn presets() -> Value {
    json!({ "presets": [
        { "id": "review", "endpoints": ["default", "lazy"], "sessions": 2,
          "tools": ["files/*", "!files/write_*"], "prompts": null, "resources": [] },
        { "id": "spare", "endpoints": [], "sessions": 0, "tools": ["*/*"], "prompts": null, "resources": null },
    ] })
}

#[test]
fn presets_are_listed_and_shown() {
    let api = || FakeAdminApi::json("GET /presets", 200, presets());
    api().check(
        &["presets"],
        expect![[r#"
            GET /api/v1/presets
              authorization: Bearer TOKEN
              host: ADDRESS
            exit 0
            --- stdout
            review  in force at default, lazy, in 2 sessions
            spare   not in force
            --- stderr
        "#]],
    );
    api().check(
        &["presets", "show", "review"],
        expect![[r#"
        GET /api/v1/presets
          authorization: Bearer TOKEN
          host: ADDRESS
        exit 0
        --- stdout
        review  in force at default, lazy, in 2 sessions
          tools      files/*, !files/write_*
          prompts    not restricted
          resources  none
        --- stderr
    "#]],
    );
    api().check(
        &["presets", "show", "revew"],
        expect![[r#"
        GET /api/v1/presets
          authorization: Bearer TOKEN
          host: ADDRESS
        exit 1
        --- stdout
        --- stderr
        error: there is no preset 'revew'; did you mean review?
    "#]],
    );
    for (arguments, expected) in [
        (&["presets", "--json"][..], presets()),
        (
            &["presets", "show", "spare", "--json"],
            presets()["presets"][1].clone(),
        ),
    ] {
        let ran = api().run(arguments);
        let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(printed, expected);
    }
    let api = FakeAdminApi::json("GET /presets", 200, json!({ "presets": [] }));
    assert_eq!(api.run(&["presets"]).stdout, "there are no presets\n");
}

#[test]
fn preset_is_put_from_a_file_or_stdin() {
    let changed = change(json!({ "presets": ["a/b"], "saved_to": "/x/narrows.json" }));
    let api = FakeAdminApi::json("PUT /presets/a%2Fb?save=true", 201, changed);
    api.folder
        .write("preset.json", "{ \"tools\": [\"files/*\"], // all\n }");
    api.check(
        &["presets", "put", "a/b", "preset.json", "--save"],
        expect![[r#"
            PUT /api/v1/presets/a%2Fb?save=true
              authorization: Bearer TOKEN
              host: ADDRESS
              {"tools":["files/*"]}
            exit 0
            --- stdout
            presets changed: a/b
            saved to /x/narrows.json
            --- stderr
        "#]],
    );
    let api = FakeAdminApi::json(
        "PUT /presets/p?save=false",
        200,
        change(json!({ "presets": ["p"] })),
    );
    let ran = api.run_with_input(&["presets", "put", "p", "-"], r#"{"tools": []}"#);
    api.compare(
        &ran,
        expect![[r#"
        PUT /api/v1/presets/p?save=false
          authorization: Bearer TOKEN
          host: ADDRESS
          {"tools":[]}
        exit 0
        --- stdout
        presets changed: p
        not saved: the change lasts until the gateway exits; use --save to keep it
        --- stderr
    "#]],
    );
    for (text, expected) in [
        ("{", "error: the preset is not valid JSON: see line 1\n"),
        (
            "{\n\"tools\": nra_x}",
            "error: the preset is not valid JSON: see line 2\n",
        ),
        ("[]", "error: the preset is not a JSON object\n"),
        ("", "error: the preset is not a JSON object\n"),
    ] {
        let ran = api.run_with_input(&["presets", "put", "p", "-"], text);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), expected));
    }
    let ran = api.run(&["presets", "put", "p", "nowhere.json"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

#[test]
fn preset_is_removed() {
    let changed =
        change(json!({ "presets": ["p"], "warnings": ["endpoint 'lazy' has no preset now"] }));
    let api = FakeAdminApi::json("DELETE /presets/p?save=false", 200, changed);
    api.check(
        &["presets", "delete", "p"],
        expect![[r#"
        DELETE /api/v1/presets/p?save=false
          authorization: Bearer TOKEN
          host: ADDRESS
        exit 0
        --- stdout
        presets changed: p
        not saved: the change lasts until the gateway exits; use --save to keep it
        --- stderr
        warning: endpoint 'lazy' has no preset now
    "#]],
    );
    let busy = "preset 'p' is in force at default";
    FakeAdminApi::new(vec![(
        "DELETE /presets/p?save=false",
        vec![error(422, "invalid", busy)],
    )])
    .check(
        &["presets", "delete", "p"],
        expect![[r#"
        DELETE /api/v1/presets/p?save=false
          authorization: Bearer TOKEN
          host: ADDRESS
        exit 2
        --- stdout
        --- stderr
        error: preset 'p' is in force at default
    "#]],
    );
}

#[test]
fn preset_is_assigned() {
    let changed = change(json!({ "endpoints": ["default"] }));
    FakeAdminApi::json(
        "PUT /endpoints/default/preset?save=false",
        200,
        changed.clone(),
    )
    .check(
        &["presets", "use", "review", "--endpoint", "default"],
        expect![[r#"
            PUT /api/v1/endpoints/default/preset?save=false
              authorization: Bearer TOKEN
              host: ADDRESS
              {"preset":"review"}
            exit 0
            --- stdout
            endpoints changed: default
            not saved: the change lasts until the gateway exits; use --save to keep it
            --- stderr
        "#]],
    );
    FakeAdminApi::json("PUT /endpoints/default/preset?save=true", 200, changed).check(
        &[
            "presets",
            "use",
            "--none",
            "--endpoint",
            "default",
            "--save",
        ],
        expect![[r#"
            PUT /api/v1/endpoints/default/preset?save=true
              authorization: Bearer TOKEN
              host: ADDRESS
              {"preset":null}
            exit 0
            --- stdout
            endpoints changed: default
            --- stderr
        "#]],
    );
    let session = json!({ "session": { "number": 12, "own_preset": "review" } });
    let api = || FakeAdminApi::json("PUT /sessions/12/preset", 200, session.clone());
    api().check(
        &["presets", "use", "review", "--session", "12"],
        expect![[r#"
            PUT /api/v1/sessions/12/preset
              authorization: Bearer TOKEN
              host: ADDRESS
              {"preset":"review"}
            exit 0
            --- stdout
            session 12 now has the preset 'review'
            --- stderr
        "#]],
    );
    api().check(
        &["presets", "use", "--none", "--session", "12"],
        expect![[r#"
            PUT /api/v1/sessions/12/preset
              authorization: Bearer TOKEN
              host: ADDRESS
              {"preset":null}
            exit 0
            --- stdout
            session 12 now has no preset of its own
            --- stderr
        "#]],
    );
    let ran = api().run(&["presets", "use", "review", "--session", "12", "--json"]);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(printed, session);
}

#[test]
fn usage_errors_are_reported_before_any_request() {
    let api = FakeAdminApi::new(vec![("GET /presets", vec![Reply::Json(200, presets())])]);
    let cases: &[&[&str]] = &[
        &["use"],
        &["use", "p"],
        &["use", "--endpoint", "default"],
        &["use", "p", "--none", "--endpoint", "default"],
        &["use", "p", "--endpoint", "default", "--session", "1"],
        &["use", "p", "--session", "1", "--save"],
        &["use", "p", "--session", "one"],
        &["put", "p"],
        &["drop", "p"],
        &["--json", "list"],
    ];
    for arguments in cases {
        let ran = api.run(&[&["presets"], *arguments].concat());
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.stderr);
    }
    assert_eq!(api.asked(), "");
}
