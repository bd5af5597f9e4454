//! A scripted admin API, implemented by hand so that it can also send responses that no real server
//! would send.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::sync::{Arc, Mutex};

use expect_test::Expect;
use serde_json::{Value, json};

use crate::program::{Folder, ProgramOutput};

/// The token of the runtime file, which no output may contain.
pub(crate) const TOKEN: &str = "nra_canary-of-the-run-0123456789";

/// The response to a request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Json(u16, Value),
    /// These bytes, followed by the end of the connection.
    Bytes(Vec<u8>),
    /// These bytes, followed by silence until the client disconnects.
    Held(Vec<u8>),
}

/// A scripted gateway. For each request line, such as `GET /servers`, it sends the given responses
/// in turn and repeats the last one.
pub(crate) struct FakeAdminApi {
    pub(crate) folder: Folder,
    pub(crate) address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

type Script = Vec<(&'static str, Vec<Reply>)>;

impl FakeAdminApi {
    pub(crate) fn new(script: Vec<(&'static str, Vec<Reply>)>) -> FakeAdminApi {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener
            .local_addr()
            .expect("it has an address")
            .to_string();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (script, seen) = (Arc::new(Mutex::new(script)), asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, seen) = (script.clone(), seen.clone());
                std::thread::spawn(move || serve(stream, &script, &seen));
            }
        });
        let api = FakeAdminApi {
            folder: Folder::new(),
            address,
            asked,
        };
        announce(&api.folder, &api.address, None);
        api
    }

    /// Creates a gateway for one request with one response.
    pub(crate) fn json(request: &'static str, status: u16, body: Value) -> FakeAdminApi {
        FakeAdminApi::new(vec![(request, vec![Reply::Json(status, body)])])
    }

    /// Runs a command and checks that its output does not contain the token.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> ProgramOutput {
        self.hidden(self.folder.run(arguments))
    }

    /// Does the same with text on stdin.
    #[track_caller]
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> ProgramOutput {
        self.hidden(self.folder.run_with_input(arguments, input))
    }

    /// Returns the requests so far, with the addresses and the token replaced by names.
    pub(crate) fn asked(&self) -> String {
        let asked = self.asked.lock().expect("nothing has panicked");
        let text = asked.concat();
        text.replace(TOKEN, "TOKEN")
            .replace(&self.address, "ADDRESS")
    }

    /// Runs a command and compares the requests and the output.
    #[track_caller]
    pub(crate) fn check(&self, arguments: &[&str], expected: Expect) {
        let ran = self.run(arguments);
        self.compare(&ran, expected);
    }

    #[track_caller]
    pub(crate) fn compare(&self, ran: &ProgramOutput, expected: Expect) {
        expected.assert_eq(&format!("{}{}", self.asked(), self.shown(ran)));
    }

    pub(crate) fn shown(&self, ran: &ProgramOutput) -> String {
        let folder = self.folder.path().display().to_string();
        let (_, port) = self.address.rsplit_once(':').expect("it has a port");
        ran.shown()
            .replace(&self.address, "ADDRESS")
            .replace(&folder, "HOME")
            .replace(&format!("{port}.json"), "PORT.json")
    }

    #[track_caller]
    fn hidden(&self, ran: ProgramOutput) -> ProgramOutput {
        let shown = ran.shown();
        assert!(!shown.contains(TOKEN), "the token is printed: {shown}");
        ran
    }
}

/// Writes a runtime file with the id of this process.
pub(crate) fn announce(folder: &Folder, address: &str, config: Option<&str>) {
    let run = folder.path().join(".local/state/narrows/run");
    let mut builder = std::fs::DirBuilder::new();
    let made = builder.mode(0o700).recursive(true).create(&run);
    made.expect("a folder can be made");
    let (_, port) = address.rsplit_once(':').expect("it has a port");
    let content = json!({
        "url": format!("http://{address}"),
        "token": TOKEN,
        "pid": std::process::id(),
        "config": config,
        "started_at": "2026-01-01T00:00:00Z",
    });
    let mut options = std::fs::OpenOptions::new();
    let file = options.mode(0o600).create(true).truncate(true).write(true);
    let file = file.open(run.join(format!("{port}.json")));
    let written = file.and_then(|mut file| file.write_all(content.to_string().as_bytes()));
    written.expect("a file can be written");
}

fn serve(mut stream: TcpStream, script: &Mutex<Script>, seen: &Mutex<Vec<String>>) {
    let Some((line, rest)) = read(&mut stream) else {
        return;
    };
    seen.lock()
        .expect("nothing has panicked")
        .push(format!("{line}{rest}"));
    let request = line.replacen("/api/v1", "", 1);
    let reply = {
        let mut script = script.lock().expect("nothing has panicked");
        let entry = script
            .iter_mut()
            .find(|(wanted, _)| *wanted == request.trim());
        match entry {
            Some((_, replies)) if replies.len() > 1 => replies.remove(0),
            Some((_, replies)) => replies[0].clone(),
            None => error(404, "not_found", "the script has no such request"),
        }
    };
    match reply {
        Reply::Json(status, body) => {
            let body = match body {
                Value::Null => String::new(),
                body => body.to_string(),
            };
            let _ = stream.write_all(&with_head(status, "application/json", &body));
        }
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes);
        }
        Reply::Held(bytes) => {
            let _ = stream.write_all(&bytes);
            // Waits until the client disconnects.
            let _ = stream.read(&mut [0]);
        }
    }
}

/// Returns the request line without the version, and the relevant headers and body.
fn read(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let line = format!("{}\n", line.rsplit_once(" HTTP/")?.0);
    let (mut rest, mut length) = (String::new(), 0);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "authorization" | "host" => rest.push_str(&format!("  {name}: {value}\n")),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    if length > 0 {
        rest.push_str(&format!("  {}\n", String::from_utf8_lossy(&body)));
    }
    Some((line, rest))
}

pub(crate) fn with_head(status: u16, kind: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Said\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    format!("{head}{body}").into_bytes()
}

/// Returns an error in the format of the API.
pub(crate) fn error(status: u16, code: &str, message: &str) -> Reply {
    Reply::Json(
        status,
        json!({ "error": { "code": code, "message": message } }),
    )
}

/// Returns an empty change with these members added.
pub(crate) fn change(members: Value) -> Value {
    let mut change = json!({ "added": [], "removed": [], "enabled": [], "disabled": [], "restarted": [], "adjusted": [],
        "endpoints": [], "presets": [], "clients": [], "at_next_start": [],
        "saved_to": null, "created": false, "warnings": [] });
    for (key, value) in members.as_object().expect("members") {
        change[key] = value.clone();
    }
    change
}
