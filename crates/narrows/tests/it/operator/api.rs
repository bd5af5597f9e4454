//! An admin API by a script, written by hand so that it can also answer what
//! no server would.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::sync::{Arc, Mutex};

use expect_test::Expect;
use serde_json::{Value, json};

use crate::program::{Folder, Ran};

/// The token of the run; no output may hold it.
pub(crate) const TOKEN: &str = "nra_canary-of-the-run-0123456789";

/// What is answered to a request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Json(u16, Value),
    /// The very bytes, and then the end.
    Bytes(Vec<u8>),
    /// The very bytes, and then nothing for as long as the client waits.
    Held(Vec<u8>),
}

/// A gateway with a script: for each request line, such as `GET /servers`, the
/// answers in turn; the last one stays.
pub(crate) struct Api {
    pub(crate) folder: Folder,
    pub(crate) address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

type Script = Vec<(&'static str, Vec<Reply>)>;

impl Api {
    pub(crate) fn new(script: Vec<(&'static str, Vec<Reply>)>) -> Api {
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
        let api = Api {
            folder: Folder::new(),
            address,
            asked,
        };
        announce(&api.folder, &api.address, None);
        api
    }

    /// One request, one answer.
    pub(crate) fn json(request: &'static str, status: u16, body: Value) -> Api {
        Api::new(vec![(request, vec![Reply::Json(status, body)])])
    }

    /// Runs a command; the token of the run is in nothing that it prints.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.hidden(self.folder.run(arguments))
    }

    /// The same with something on stdin.
    #[track_caller]
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        self.hidden(self.folder.run_with_input(arguments, input))
    }

    /// The requests so far, with the addresses and the token by name.
    pub(crate) fn asked(&self) -> String {
        let asked = self.asked.lock().expect("nothing has panicked");
        let text = asked.concat();
        text.replace(TOKEN, "TOKEN")
            .replace(&self.address, "ADDRESS")
    }

    /// Runs a command and compares what was asked for, and what was told.
    #[track_caller]
    pub(crate) fn check(&self, arguments: &[&str], expected: Expect) {
        let ran = self.run(arguments);
        self.compare(&ran, expected);
    }

    #[track_caller]
    pub(crate) fn compare(&self, ran: &Ran, expected: Expect) {
        expected.assert_eq(&format!("{}{}", self.asked(), self.shown(ran)));
    }

    pub(crate) fn shown(&self, ran: &Ran) -> String {
        let folder = self.folder.path().display().to_string();
        let (_, port) = self.address.rsplit_once(':').expect("it has a port");
        ran.shown()
            .replace(&self.address, "ADDRESS")
            .replace(&folder, "HOME")
            .replace(&format!("{port}.json"), "PORT.json")
    }

    #[track_caller]
    fn hidden(&self, ran: Ran) -> Ran {
        let shown = ran.shown();
        assert!(!shown.contains(TOKEN), "the token is printed: {shown}");
        ran
    }
}

/// Writes the runtime file of a gateway, as this process.
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
            // Until the client goes away.
            let _ = stream.read(&mut [0]);
        }
    }
}

/// The request line without the version, and what else is of interest.
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

/// An error as the API tells it.
pub(crate) fn error(status: u16, code: &str, message: &str) -> Reply {
    Reply::Json(
        status,
        json!({ "error": { "code": code, "message": message } }),
    )
}

/// A change in which nothing has changed but `members`.
pub(crate) fn change(members: Value) -> Value {
    let mut change = json!({ "added": [], "removed": [], "enabled": [], "disabled": [], "restarted": [], "adjusted": [],
        "endpoints": [], "presets": [], "clients": [], "at_next_start": [],
        "saved_to": null, "created": false, "warnings": [] });
    for (key, value) in members.as_object().expect("members") {
        change[key] = value.clone();
    }
    change
}
