//! Tests of the facade with hand-written catalogues.

mod executing;
mod finding;
mod formatting;
mod inspecting;
mod listing;

use std::sync::Arc;

use narrows_policy::preset::{DenialReason, DenialSource};
use narrows_wire::Raw;

use super::*;
use crate::settings::Structured;
use crate::settings::{ListingDetail, ShapeChoice};
use crate::testing;
use narrows_upstream::ListKind;

fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned().into()).expect("a test's JSON")
}

/// Returns a result format with this budget, for an unknown client.
fn form(room: usize) -> ResultForm {
    ResultForm {
        room,
        structured: Structured::Auto,
        reads_structured: false,
    }
}

/// Returns a server with these tools, each as its server lists it.
fn server_tools(id: &str, instructions: &str, tools: &[&str]) -> ServerTools {
    let item = |text: &&str| Item::read(ListKind::Tools, raw(text)).expect("a test's tool");
    let upstream = upstream(id, &id.replace(['.', '/', ' ', '\n'], "_"));
    let shown = |item: Item| VisibleTool {
        published: format!("{id}__{}", item.key).into(),
        target: Target {
            upstream: upstream.clone(),
            name: item.place.clone(),
            denied: None,
            is_judged: false,
            policy: None,
            is_repeatable: false,
            has_app: false,
            needs_task: false,
        },
        item,
    };
    ServerTools {
        server_info: raw(r#"{"name":"own"}"#),
        instructions: Some(instructions.to_owned()).filter(|text| !text.is_empty()),
        denied: None,
        tools: tools.iter().map(item).map(shown).collect(),
        hidden: Vec::new(),
        task_only: Vec::new(),
        upstream,
    }
}

fn upstream(id: &str, slug: &str) -> Arc<Upstream> {
    testing::upstream(0, id, slug)
}

fn hidden(id: &str, name: &str) -> HiddenTool {
    HiddenTool {
        name: name.into(),
        published: format!("{id}__{name}").into(),
        denial: denial(DenialReason::Forbidden(format!("!{id}/{name}").into())),
    }
}

fn denial(why: DenialReason) -> Arc<Denial> {
    Arc::new(Denial {
        source: DenialSource::Preset("careful".into()),
        why,
    })
}

/// Returns servers in unsorted order. Two have usable tools, one of them only some. Two have none:
/// `secret` is denied by the preset, and `empty` has no tools.
fn tools_by_server() -> Vec<ServerTools> {
    let mut files = server_tools(
        "io.files/x",
        "File operations for\n  reading and writing files",
        &[
            r#"{"name":"read_file","title":"Read","description":"Read the complete\tcontents of a file.\nSecond line.","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"File path"},"lines":{"type":"integer"}},"required":["path"]}}"#,
            r#"{"name":"stat","inputSchema":{"type":"object"}}"#,
        ],
    );
    files.hidden.push(hidden("io.files/x", "delete_file"));
    let clock = server_tools(
        "clock",
        "",
        &[
            r#"{"name":"now","description":"The time","inputSchema":{"type":"object","properties":{"zone":{"enum":["utc","local"]}}}}"#,
        ],
    );
    let mut secret = server_tools("secret", "Hidden things", &[]);
    secret.hidden.push(hidden("secret", "open"));
    secret.hidden.push(hidden("secret", "close"));
    vec![
        files,
        clock,
        secret,
        server_tools("empty", "Nothing here", &[]),
    ]
}

fn lazy(tools_by_server: Vec<ServerTools>) -> Facade {
    facade(FacadeMode::Lazy, |_| {}, tools_by_server, 80_000)
}

fn within(max_chars: usize) -> Policies {
    let choice = ShapeChoice {
        max_chars: Some(max_chars),
        ..ShapeChoice::default()
    };
    Policies::joined(choice, ShapeChoice::default(), std::iter::empty())
}

fn facade(
    mode: FacadeMode,
    set: impl FnOnce(&mut FacadeSettings),
    tools_by_server: Vec<ServerTools>,
    max_chars: usize,
) -> Facade {
    let mut settings = FacadeSettings::default();
    set(&mut settings);
    let down = vec![server_tools("dead", "", &[]).upstream];
    Facade::new(
        mode,
        settings,
        tools_by_server,
        down,
        &within(max_chars),
        true,
    )
}

/// Returns the texts of a result with its other members.
fn result_text(answer: &Result<Raw, Error>) -> String {
    let result = match answer {
        Ok(result) => result,
        Err(error) => return format!("refused: {error}"),
    };
    let mut said = texts(result).join("\n--\n");
    if let Some(structured) = result.member("structuredContent") {
        said = format!("{said}\n== {}", structured.as_str());
    }
    if result.member("isError").and_then(|is| is.as_bool()) == Some(true) {
        said = format!("error: {said}");
    }
    said
}

fn texts(result: &Raw) -> Vec<String> {
    let content = result.member("content").expect("a result has content");
    let text = |item: Raw| item.member("text")?.as_text().map(Into::into);
    content.elements().filter_map(text).collect()
}
