//! Tests of `narrows token`.

use expect_test::expect;

use super::{config, make};
use crate::program::Folder;

#[test]
fn printed_token_entry_is_accepted() {
    let folder = Folder::new();
    let (token, entry) = make(&folder, &["cursor"]);
    assert_eq!(token.len(), 47, "{token}");
    assert!(token.starts_with("nrw_"), "{token}");
    let is_base64url = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    assert!(token.chars().all(is_base64url), "{token}");
    assert!(!entry.to_string().contains(&token[4..]), "{entry}");
    folder.write("narrows.json", config(&entry["clients"]));
    let ran = folder.run(&["check"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let (another, _) = make(&folder, &["cursor"]);
    assert_ne!(token, another);
    let (unnamed, entry) = make(&folder, &[]);
    assert!(unnamed.starts_with("nrw_"), "{unnamed}");
    assert!(entry["clients"]["NAME"]["token"].is_string(), "{entry}");
}

#[test]
fn admin_tokens_have_another_prefix() {
    let folder = Folder::new();
    let (token, entry) = make(&folder, &["--admin"]);
    assert!(token.starts_with("nra_") && token.len() == 47, "{token}");
    let mut file = serde_json::json!({ "mcpServers": { "demo": { "type": "builtin" } } });
    file["admin"] = entry["admin"].clone();
    folder.write("narrows.json", file.to_string());
    let ran = folder.run(&["check"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
}

#[test]
fn printed_digest_matches_the_token() {
    let folder = Folder::new();
    let (token, entry) = make(&folder, &["cursor"]);
    for input in [token.clone(), format!("{token}\n"), format!("{token}\r\n")] {
        let ran = folder.run_with_input(&["token", "--hash"], &input);
        let digest = entry["clients"]["cursor"]["token"].as_str().unwrap();
        assert_eq!(ran.stdout, format!("{digest}\n"), "{}", ran.shown());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    }
    let ran = folder.run_with_input(&["token", "--hash"], "abc");
    expect![[r#"
        exit 0
        --- stdout
        sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
        --- stderr
    "#]]
    .assert_eq(&ran.shown());
}

#[test]
fn invalid_token_is_rejected_and_not_repeated() {
    let folder = Folder::new();
    let long = "x".repeat(513);
    let cases = ["", "\n", "two words", "two\nlines", "grüße-to-you", &long];
    for input in cases {
        let ran = folder.run_with_input(&["token", "--hash"], input);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{input}");
        let repeats = input.trim().len() > 8 && ran.stderr.contains(input.trim());
        assert!(!repeats, "{}", ran.stderr);
    }
    let longest = "x".repeat(512);
    let ran = folder.run_with_input(&["token", "--hash"], &format!("{longest}\r\n"));
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
}

#[test]
fn wrong_usage_is_rejected() {
    let folder = Folder::new();
    let long = "x".repeat(65);
    let cases: [&[&str]; 7] = [
        &["a b"],
        &[""],
        &["anonymous"],
        &[&long],
        &["x", "--admin"],
        &["x", "--hash"],
        &["--admin", "--hash"],
    ];
    for arguments in cases {
        let ran = folder.run(&[&["token"], arguments].concat());
        let outcome = (ran.code, ran.stdout.as_str());
        assert_eq!(outcome, (Some(2), ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("error: "), "{}", ran.stderr);
    }
}
