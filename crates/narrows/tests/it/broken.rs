//! Tests of servers that do not start, and of their log messages.

use narrows_testkit::until;
use serde_json::{Value, json};

use crate::gateway::{Gateway, config};
use crate::program::Folder;

/// A script that records its start and fails.
const FAIL: &str = "echo $1 >> starts\n\
    echo 'Traceback (most recent call last):' >&2\n\
    echo \"  File $$ in main\" >&2\n\
    echo 'KeyError: KEY' >&2\n\
    exit 1\n";

fn failing(folder: &Folder, id: &str) -> Value {
    json!({ "command": "sh", "args": ["fail.sh", id], "cwd": folder.path() })
}

#[tokio::test]
async fn repeated_failure_is_logged_once() {
    let folder = Folder::new();
    folder.write("fail.sh", FAIL);
    let ids: Vec<String> = (0..10).map(|number| format!("s{number}")).collect();
    let servers = ids.iter().map(|id| (id.as_str(), failing(&folder, id)));
    folder.write("narrows.json", config(servers).to_string());
    let gateway = Gateway::serve_in(folder, &["--no-watch"]).await;
    until("each was started three times", || {
        let starts = gateway.folder().read("starts").unwrap_or_default();
        let count = |id: &String| starts.lines().filter(|line| line == id).count();
        ids.iter().all(|id| count(id) >= 3)
    })
    .await;
    let log = gateway.program.stderr();
    let count = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    assert_eq!(count("server is down: exited with status 1"), 10, "{log}");
    assert_eq!(count(r#""level":"warn""#), 10, "{log}");
    assert_eq!(count("Traceback"), 10, "{log}");
    assert_eq!(count("in main"), 10, "{log}");
}

#[tokio::test]
async fn end_of_stderr_is_shown_for_one_server() {
    let folder = Folder::new();
    folder.write("fail.sh", FAIL);
    let mut broken = failing(&folder, "s");
    broken["env"] = json!({ "API_TOKEN": "abcdef-123456" });
    broken["args"] = json!(["-c", "echo using $API_TOKEN >&2; sh fail.sh s"]);
    folder.write("narrows.json", config([("s", broken)]).to_string());
    let gateway = Gateway::serve_in(folder, &["--no-watch"]).await;
    until("it is down", || {
        gateway.program.stderr().contains("server is down")
    })
    .await;
    let ran = gateway.folder().run(&["servers", "show", "s"]);
    assert!(ran.stdout.contains("  | KeyError: KEY\n"), "{ran:?}");
    assert!(ran.stdout.contains("  | using ***\n"), "{ran:?}");
    let ran = gateway.folder().run(&["check"]);
    assert!(ran.stdout.contains("| KeyError: KEY\n"), "{ran:?}");
}

#[test]
fn non_json_stdout_is_quoted_with_the_reason() {
    let folder = Folder::new();
    let script = "echo 'Listening on port 3000'; echo 'no config' >&2; exec sleep 60";
    let server = json!({ "command": "sh", "args": ["-c", script], "startup_timeout_s": 1 });
    folder.write("narrows.json", config([("s", server)]).to_string());
    let ran = folder.run(&["check"]);
    let expected =
        r#"it wrote "Listening on port 3000" on stdout, which is reserved for MCP messages"#;
    assert!(ran.stdout.contains(expected), "{ran:?}");
    assert!(ran.stdout.contains("| no config\n"), "{ran:?}");
}
