//! Tests that data which the gateway need not change passes byte for byte, over every transport.
//!
//! This file tests results of tools; the modules below test other responses, lists and params.

mod answers;
mod lists;
mod params;

use std::fs;
use std::path::{Path, PathBuf};

use narrows_testkit::raw::{Http, Response};
use narrows_testkit::scripted::{Framing, Installed, Script, Served, Step};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::gateway::{Gateway, REVISION, Session, StdioGateway, config, with};

/// Results that a well-behaved server would not send: unknown members, unusual numbers and escapes,
/// repeated keys, unusual white space.
const ODD: &[&str] = &[
    r#"{"content":[],"isError":false,"zeta":{"unknown":[1,{"deep":null}]},"alpha":true,"_meta":{"x":1}}"#,
    r#"{"n":[123456789012345678901234567890,-99999999999999999999,18446744073709551616,1.0,1.10,1e400,-1E+400,-0,-0.0,0.1e-7],"content":[]}"#,
    r#"{"content":[{"type":"text","text":"\/ \u00e9 \u00E9 é \ud83d\ude00 😀 \ud800 \udfff\ud800 \u0000 \u001f \u007f \b\f"}]}"#,
    r#"{"content":[],"twice":1,"twice":2,"inner":{"a":1,"a":{"a":2,"a":3}},"":0,"":1}"#,
    "{ \"zz\" :\t1 , \"content\"  : [ {  \"text\":\"a\" ,\t\"annotations\" : { } , \"type\" : \"text\" } ] , \"aa\": [ ] }",
    r#"{"content":[{"type":"text","text":"  \u2028\u2029\r\n\u0085"}],"structuredContent":{"\u0061":1,"b\/":2,"__proto__":{}}}"#,
    r#"{"content":[{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},{"type":"later","x":1}]}"#,
];

/// The depth and the length of the extreme results.
const LEVELS: usize = 10_000;
const LENGTH: usize = 10_000_000;

fn nested() -> String {
    format!(
        r#"{{"content":[],"deep":{}{}{}}}"#,
        r#"{"a":["#.repeat(LEVELS / 2),
        1,
        "]}".repeat(LEVELS / 2)
    )
}

/// Returns the texts of a fixture folder with their names.
fn fixtures(folder: &str) -> Vec<(String, String)> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .join(folder);
    let mut files: Vec<(String, String)> = fs::read_dir(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .map(|file| file.expect("a folder that can be read").path())
        .map(|file| {
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            let text = fs::read_to_string(&file).expect("a text file");
            (name.into_owned(), text)
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", path.display());
    files
}

/// The same server over several transports: stdio in both framings, and HTTP with JSON responses
/// and with event streams.
struct FidelityServers {
    installed: [Installed; 4],
    posted: Served,
    streamed: Served,
}

const WAYS: [&str; 4] = ["piped", "framed", "posted", "streamed"];

impl FidelityServers {
    async fn start(script: &Script) -> FidelityServers {
        let framed = script.clone();
        let framed = framed.with(|script| script.framing = Framing::ContentLength);
        let streamed = script.clone();
        let streamed = streamed.with(|script| script.http.always_stream = true);
        let installed = [script, &framed, script, &streamed].map(Script::install);
        FidelityServers {
            posted: installed[2].serve_http().await,
            streamed: installed[3].serve_http().await,
            installed,
        }
    }

    fn config(&self) -> Value {
        let [piped, framed, ..] = &self.installed;
        let framed = with(framed.config(), json!({ "stdio_mode": "content-length" }));
        let others = [self.posted.config(), self.streamed.config()];
        let configs = [piped.config(), framed].into_iter().chain(others);
        config(WAYS.into_iter().zip(configs))
    }
}

/// Returns the text after `"result":` in a response.
#[track_caller]
fn result_of<'a>(message: &'a str, id: &str) -> &'a str {
    let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
    let rest = message.strip_prefix(head.as_str());
    let result = rest.and_then(|rest| rest.strip_suffix('}'));
    result.unwrap_or_else(|| panic!("not the answer {id}: {}", start_of(message)))
}

/// Shortens long texts for messages of failed tests.
fn start_of(text: &str) -> String {
    text.chars().take(300).collect()
}

#[track_caller]
fn same(what: &str, received: &str, sent: &str) {
    if received == sent {
        return;
    }
    let differs = received.bytes().zip(sent.bytes()).position(|(a, b)| a != b);
    let at = differs.unwrap_or(received.len().min(sent.len()));
    let around = |text: &str| {
        let bytes = &text.as_bytes()[at.saturating_sub(40)..text.len().min(at + 40)];
        String::from_utf8_lossy(bytes).into_owned()
    };
    panic!(
        "{what}: {} bytes came of {}, other from byte {at} on:\n{}\n{}",
        received.len(),
        sent.len(),
        around(received),
        around(sent)
    );
}

/// Newline framing cannot contain line breaks between tokens.
fn on_one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Event streams do not distinguish kinds of line ends.
fn as_event_data(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

fn call_of(id: &str, name: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}"}}}}"#)
}

/// Returns the gateway's response over HTTP as text.
async fn over_http(session: &mut Session, body: &str) -> String {
    let response: Response = session.post(body).await;
    let kind = response.header("content-type");
    assert_eq!(kind, Some("application/json"), "{}", start_of(body));
    response.text()
}

/// Does the same for a client that accepts only events.
async fn as_events(gateway: &Gateway, session: &Session, body: &str) -> String {
    let http: Http = gateway.connect().await;
    let headers = [
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
        ("mcp-session-id", session.id.as_str()),
    ];
    let mut events = http.open("POST", "/mcp", &headers, body.as_bytes()).await;
    loop {
        let event = events.next().await.expect("the stream has an answer");
        if !event.data.is_empty() {
            return event.data;
        }
    }
}

async fn over_stdio(client: &mut StdioGateway, body: &str) -> String {
    client.send_text(body).await;
    client.next_text().await.expect("an answer")
}

/// Calls every tool over every transport and compares the results.
async fn check_results(results: &[(String, String)]) {
    let script = results
        .iter()
        .fold(Script::new("exact"), |script, (name, result)| {
            let steps = [Step::reply(result.as_str())];
            script.plain_tool(name).on_tool(name, steps)
        });
    let servers = FidelityServers::start(&script).await;
    let gateway = Gateway::serve(&servers.config()).await;
    let mut session = gateway.session("/mcp").await;
    let mut piped = StdioGateway::open(&servers.config()).await;
    let mut framed = StdioGateway::start_framed(&servers.config(), Framing::ContentLength);
    framed.initialize(REVISION, json!({})).await;
    for way in WAYS {
        for (name, result) in results {
            // A server with newline framing cannot send these.
            if way == "piped" && result.contains('\n') {
                continue;
            }
            let what = format!("{name} from {way}");
            let call = call_of("\"x\"", &format!("{way}__{name}"));
            let result = match way {
                "streamed" => &as_event_data(result),
                _ => result,
            };
            let answer = over_http(&mut session, &call).await;
            same(&what, result_of(&answer, "\"x\""), result);
            let answer = as_events(&gateway, &session, &call).await;
            same(&what, result_of(&answer, "\"x\""), &as_event_data(result));
            let answer = over_stdio(&mut framed, &call).await;
            same(&what, result_of(&answer, "\"x\""), result);
            let answer = over_stdio(&mut piped, &call).await;
            same(&what, result_of(&answer, "\"x\""), &on_one_line(result));
        }
    }
}

#[tokio::test]
async fn tool_results_are_byte_identical() {
    let result = |text: &str| -> String {
        #[derive(Deserialize)]
        struct ResultFile<'a> {
            #[serde(borrow)]
            result: &'a RawValue,
        }
        let file: ResultFile<'_> = serde_json::from_str(text).expect("JSON");
        file.result.get().to_owned()
    };
    let results: Vec<(String, String)> = fixtures("results")
        .iter()
        .map(|(name, text)| (name.clone(), result(text)))
        .collect();
    check_results(&results).await;
}

#[tokio::test]
async fn unusual_results_are_byte_identical() {
    let odd = ODD.iter().map(|text| (*text).to_owned());
    let broken = "{\n\t\"content\" :\n [\n\n] , \"a\"\n:1\n}".to_owned();
    let results = odd.chain([nested(), broken]).enumerate();
    let results: Vec<(String, String)> = results
        .map(|(number, result)| (format!("odd{number}"), result))
        .collect();
    check_results(&results).await;
}

#[tokio::test]
async fn long_result_is_byte_identical() {
    let script = Script::new("exact").plain_tool("long");
    let script = script.on_tool("long", [Step::ReplyLength(LENGTH)]);
    let servers = FidelityServers::start(&script).await;
    let gateway = Gateway::serve(&servers.config()).await;
    let mut session = gateway.session("/mcp").await;
    let mut piped = StdioGateway::open(&servers.config()).await;
    let text = "x".repeat(LENGTH);
    let result = format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#);
    for way in WAYS {
        let call = call_of("1.0", &format!("{way}__long"));
        let answer = over_http(&mut session, &call).await;
        same(way, result_of(&answer, "1.0"), &result);
        let answer = as_events(&gateway, &session, &call).await;
        same(way, result_of(&answer, "1.0"), &result);
        let answer = over_stdio(&mut piped, &call).await;
        same(way, result_of(&answer, "1.0"), &result);
    }
}
