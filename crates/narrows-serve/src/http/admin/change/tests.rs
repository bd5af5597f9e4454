use serde_json::json;

use super::describe;
use crate::admin::Change;

#[test]
fn log_line_contains_names_but_no_entries() {
    let entry = || json!({"env": {"KEY": "SECRET"}, "headers": {"authorization": "SECRET"}});
    let id = || "a\nb".to_owned();
    let changes = [
        Change::AddServer {
            id: id(),
            entry: entry(),
        },
        Change::ReplaceServer {
            id: id(),
            entry: entry(),
        },
        Change::PutPreset {
            id: id(),
            entry: entry(),
        },
        Change::RemoveServer { id: id() },
        Change::SwitchPreset {
            endpoint: id(),
            preset: None,
        },
    ];
    for change in changes {
        let line = describe(&change);
        assert!(line.contains(r"a\nb"), "{line}");
        assert!(!line.contains("SECRET"), "{line}");
    }
}
