//! Tests of `serve` and `stdio` as processes: their addresses and their ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::program::{Folder, NARROWS, RunningProgram};

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
    "\n"
);

fn get(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn serve(folder: &Folder, more: &[&str]) -> RunningProgram {
    let arguments = [&["serve", "--listen", "127.0.0.1:0"], more].concat();
    RunningProgram::start(folder.command(&arguments))
}

#[test]
fn serve_without_a_configuration_runs_until_a_signal() {
    for signal in ["TERM", "INT"] {
        let folder = Folder::new();
        let mut running = serve(&folder, &["--no-watch"]);
        let port = running.port();
        let health = get(port, "/health");
        assert!(health.starts_with("HTTP/1.1 200"), "{health}");
        assert!(health.contains("\"status\":\"healthy\""), "{health}");
        running.signal(signal);
        let ran = running.wait();
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), ""),
            "{}",
            ran.stderr
        );
        assert!(
            TcpStream::connect(("127.0.0.1", port)).is_err(),
            "the port is still open"
        );
    }
}

#[test]
fn serve_prints_client_setup_commands() {
    let folder = Folder::new();
    let mut running = serve(&folder, &["--log-format", "human"]);
    let port = running.port();
    running.signal("TERM");
    let rest = running.wait().stderr;
    for line in [
        format!("claude mcp add --scope user --transport http narrows http://127.0.0.1:{port}/mcp"),
        format!(r#"{{"mcpServers":{{"narrows":{{"url":"http://127.0.0.1:{port}/mcp"}}}}}}"#),
        format!("inspector --cli http://127.0.0.1:{port}/mcp --transport http --method tools/list"),
    ] {
        assert!(rest.contains(&line), "{line} is not in {rest}");
    }
}

/// An entry for the gateway in the file that it reads would replace every server and lead back to
/// the gateway.
#[test]
fn serve_prints_no_setup_for_the_file_it_reads() {
    let folder = Folder::new();
    for (name, client) in [
        (".cursor/mcp.json", "Cursor"),
        (".mcp.json", "Claude Code"),
        ("mcp_config.json", "Windsurf"),
        ("link.json", "Cursor"),
    ] {
        std::fs::create_dir_all(folder.path().join(".cursor")).expect("a folder can be made");
        if name == "link.json" {
            std::os::unix::fs::symlink(".cursor/mcp.json", folder.path().join(name))
                .expect("a link can be made");
        }
        folder.write(name, r#"{"mcpServers": {"demo": {"type": "builtin"}}}"#);
        let options = ["--log-format", "human", "--config", name];
        let mut running = serve(&folder, &options);
        running.port();
        running.signal("TERM");
        let text = running.wait().stderr;
        assert!(!text.contains("mcpServers"), "{text}");
        assert_eq!(
            text.contains("claude mcp add"),
            client != "Claude Code",
            "{text}"
        );
        let target = folder.path().join(".config/narrows/narrows.json");
        for line in [
            format!("To connect {client}, stop the gateway"),
            format!("&& mv {name} {}", target.display()),
            format!("narrows serve --config {}", target.display()),
        ] {
            assert!(text.contains(&line), "{line} is not in {text}");
        }
    }
    // An existing file of the user does not prevent the advice.
    std::fs::create_dir_all(folder.path().join(".config/narrows")).expect("a folder can be made");
    folder.write(".config/narrows/narrows.json", "{}");
    let mut running = serve(&folder, &["--log-format", "human", "--config", ".mcp.json"]);
    running.port();
    running.signal("TERM");
    let text = running.wait().stderr;
    assert!(!text.contains(" mv "), "{text}");
    assert!(
        text.contains("move the entries of .mcp.json into "),
        "{text}"
    );
}

#[test]
fn serve_lists_additional_endpoints() {
    let folder = Folder::with(
        r#"{"mcpServers": {"demo": {"type": "builtin"}},
            "endpoints": {"facade": {"separator": ":"}, "default": {}, "proxy": {"uris": "wrapped"}}}"#,
    );
    let mut running = serve(&folder, &["--log-format", "human"]);
    let port = running.port();
    running.signal("TERM");
    let rest = running.wait().stderr;
    for name in ["facade", "proxy", "lazy"] {
        let line = format!("  also at        http://127.0.0.1:{port}/mcp/{name}\n");
        assert!(rest.contains(&line), "{line} is not in {rest}");
    }
    // Without problems, the announcement is the first line.
    let mut running = serve(&folder, &["--log-format", "json"]);
    let mut stderr = BufReader::new(running.child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
    let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    let base = line["payload"]["mcp"].as_str().unwrap();
    let expected = ["facade", "proxy", "lazy"].map(|name| format!("{base}/{name}"));
    assert_eq!(line["payload"]["endpoints"], serde_json::json!(expected));
}

#[test]
fn log_is_json_if_stderr_is_not_a_terminal() {
    let folder = Folder::with(r#"{"mcpServers": {"dead": {"command": "./nowhere"}}, "wibble": 1}"#);
    let running = serve(&folder, &[]);
    std::thread::sleep(Duration::from_millis(300));
    running.signal("TERM");
    let ran = running.wait();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    let mut events = Vec::new();
    for line in ran.stderr.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect(line);
        let keys: Vec<&String> = line.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["timestamp", "event", "payload"]);
        events.push(line["event"].as_str().unwrap().to_owned());
    }
    assert!(events.contains(&"listening".to_owned()), "{events:?}");
    assert!(
        ran.stderr.contains("unknown key `wibble`"),
        "{}",
        ran.stderr
    );
}

#[test]
fn port_in_use_is_reported_with_a_hint() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = Folder::new().run(&["serve", "--listen", &address]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(
        ran.stderr.contains(&address) && ran.stderr.contains("help:"),
        "{}",
        ran.stderr
    );
}

#[test]
fn listening_on_other_interfaces_requires_a_flag() {
    let folder = Folder::with(r#"{"mcpServers": {}, "listen": "0.0.0.0:0"}"#);
    for arguments in [&["serve"][..], &["serve", "--listen", "[::]:0"]] {
        let ran = folder.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
        assert!(ran.stderr.contains("--insecure"), "{}", ran.stderr);
    }
    let mut running = RunningProgram::start(folder.command(&["serve", "--insecure"]));
    assert_ne!(running.port(), 0);
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
}

#[test]
fn serve_skips_a_server_with_an_unset_variable() {
    let folder = Folder::with(
        r#"{"mcpServers": {"demo": {"type": "builtin"}, "a": {"command": "x", "env": {"K": "${NOT_SET}"}}}}"#,
    );
    let mut running = serve(&folder, &[]);
    let port = running.port();
    assert!(get(port, "/health").starts_with("HTTP/1.1 200"));
    running.signal("TERM");
    let ran = running.wait();
    assert_eq!(ran.code, Some(0));
    let ran = folder.run(&["stdio"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert!(
        ran.stderr.contains("NOT_SET") && ran.stderr.contains("'a'"),
        "{}",
        ran.stderr
    );
}

#[test]
fn serve_and_stdio_skip_unsupported_servers() {
    let folder = Folder::with(
        r#"{"servers": {"demo": {"type": "builtin"},
            "asks": {"command": "x", "env": {"K": "${input:key}"}}}}"#,
    );
    let mut running = serve(&folder, &[]);
    assert!(get(running.port(), "/health").starts_with("HTTP/1.1 200"));
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
    let ran = folder.run(&["stdio"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    let part = "running without this server: cannot prompt for ${input:...}";
    assert!(ran.stderr.contains(part), "{part} is not in {}", ran.stderr);
}

#[test]
fn stdio_responds_and_ends_with_its_input() {
    let folder = Folder::new();
    let mut command = folder.command(&["stdio"]);
    command.stdin(Stdio::piped());
    let mut running = RunningProgram::start(command);
    let mut stdin = running.child.stdin.take().unwrap();
    stdin.write_all(HELLO.as_bytes()).unwrap();
    let mut stdout = BufReader::new(running.child.stdout.take().unwrap());
    let mut answers = String::new();
    while !answers.contains("\"id\":2") {
        assert_ne!(stdout.read_line(&mut answers).unwrap(), 0, "{answers}");
    }
    drop(stdin);
    stdout.read_to_string(&mut answers).unwrap();
    let ran = running.wait();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        answers.lines().all(|line| line.starts_with('{')),
        "{answers}"
    );
    assert!(
        answers.contains("\"protocolVersion\":\"2025-06-18\""),
        "{answers}"
    );
    assert!(answers.contains("\"demo__echo\""), "{answers}");
}

#[test]
fn stdio_stops_on_a_signal_while_the_client_is_idle() {
    let folder = Folder::new();
    let mut command = folder.command(&["stdio"]);
    command.stdin(Stdio::piped());
    let mut running = RunningProgram::start(command);
    let stdin = running.child.stdin.take();
    std::thread::sleep(Duration::from_millis(300));
    running.signal("TERM");
    let started = Instant::now();
    let ran = running.wait();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(started.elapsed() < Duration::from_secs(5));
    drop(stdin);
}

#[test]
fn unread_stderr_does_not_block_the_gateway() {
    let folder = Folder::new();
    let mut command = folder.command(&["stdio", "--log-level", "trace"]);
    command.stdin(Stdio::piped());
    let mut running = RunningProgram::start(command);
    let mut stdin = running.child.stdin.take().unwrap();
    let mut stdout = BufReader::new(running.child.stdout.take().unwrap());
    stdin.write_all(HELLO.as_bytes()).unwrap();
    // Several times the capacity of a pipe, because every call logs its arguments.
    let text = "x".repeat(1500);
    for id in 10..300 {
        let call = serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": "demo__echo", "arguments": { "text": text } } });
        writeln!(stdin, "{call}").unwrap();
    }
    let mut line = String::new();
    while !line.contains("\"id\":299") {
        line.clear();
        assert_ne!(stdout.read_line(&mut line).unwrap(), 0);
    }
    drop(stdin);
    let status = running.child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn nested_gateway_stops_with_its_parent() {
    let config = serde_json::json!({ "mcpServers": { "inner": {
        "command": NARROWS, "args": ["stdio", "--config", "inner.json"], "cwd": "." } } });
    let folder = Folder::with(&config.to_string());
    folder.write(
        "inner.json",
        r#"{"mcpServers": {"demo": {"type": "builtin"}}}"#,
    );
    let ran = folder.run(&["tools", "inner"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stdout.contains("inner__demo__"), "{}", ran.stdout);
}

/// A server that never answers, and a process that it has started. Both ignore requests to end; the
/// id of the process is in the file `pid`.
const STUBBORN: &str = r#"{"limits": {"grace_s": 1}, "mcpServers": {"stubborn": {"command": "sh", "args": ["-c",
    "trap '' TERM HUP INT; sleep 1000 & echo $! > pid.new; mv pid.new pid; while :; do sleep 1; done"], "cwd": "."}}}"#;

/// Waits for the file `pid` and returns the process id in it.
fn started(folder: &Folder) -> String {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        match folder.read("pid") {
            Some(pid) => return pid.trim().to_owned(),
            None => assert!(Instant::now() < deadline, "the server does not start"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns false for zombie processes as well.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

#[test]
fn no_process_is_left_after_any_exit() {
    for signal in ["TERM", "KILL"] {
        let folder = Folder::with(STUBBORN);
        let running = serve(&folder, &[]);
        let pid = started(&folder);
        assert!(is_alive(&pid));
        running.signal(signal);
        let ran = running.wait();
        assert_eq!(ran.code, (signal == "TERM").then_some(0), "{}", ran.stderr);
        let deadline = Instant::now() + Duration::from_secs(10);
        while is_alive(&pid) {
            assert!(
                Instant::now() < deadline,
                "{pid} outlives the gateway after SIG{signal}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn second_interrupt_exits_at_once() {
    // A server that is up and ignores requests to end.
    let script = format!("trap '' TERM; {NARROWS} stdio; while :; do sleep 1; done");
    let config = serde_json::json!({
        "limits": { "grace_s": 30 },
        "mcpServers": { "stubborn": { "command": "sh", "args": ["-c", script], "cwd": "/" } },
    });
    let folder = Folder::with(&config.to_string());
    let mut running = serve(&folder, &[]);
    let port = running.port();
    while !get(port, "/health").contains("\"up\":1") {
        std::thread::sleep(Duration::from_millis(50));
    }
    running.signal("INT");
    std::thread::sleep(Duration::from_millis(300));
    running.signal("INT");
    let asked = Instant::now();
    assert_eq!(running.wait().code, Some(130));
    assert!(asked.elapsed() < Duration::from_secs(10));
}
