//! Tests of clients with tokens, from creating a token to using it.

mod serving;
mod token;
mod token_redaction;

use serde_json::{Value, json};

use crate::program::Folder;

/// Returns a token printed by `narrows token` and its configuration entry.
fn make(folder: &Folder, arguments: &[&str]) -> (String, Value) {
    let arguments = [&["token"], arguments].concat();
    let ran = folder.run(&arguments);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let token = ran.stdout.strip_suffix('\n').expect("one line").to_owned();
    let (_, entry) = ran.stderr.split_once(":\n").expect("an entry");
    let end = entry.rfind('}').expect("the end of it");
    let entry = serde_json::from_str(&entry[..=end]).expect("JSON");
    (token, entry)
}

/// Returns a configuration with the demo server and these clients.
fn config(clients: &Value) -> String {
    let demo = json!({ "demo": { "type": "builtin" } });
    json!({ "mcpServers": demo, "clients": clients }).to_string()
}
