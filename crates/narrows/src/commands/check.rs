//! `narrows check`: what a user runs when something does not work.

use std::fmt::Write;
use std::io;
use std::path::Path;

use narrows_gateway::settings::{Settings, Transport, UpstreamSettings};
use narrows_gateway::{Failure, UpstreamReport, UpstreamState};
use narrows_shape::estimate_tokens;
use rustix::fs::Access;
use serde_json::{Value, json};

use super::hint::{hint, word};
use super::{Exit, in_order, state_word, tell, trouble, with_gateway};
use crate::cli::Check;
use crate::config::{self, Config, Environment, Place, Problem, Severity};
use crate::nearest::nearest_few;
use crate::terminal::{Palette, Tone, answer, counted, grouped, plain};

pub(crate) async fn run(options: Check, environment: &Environment) -> anyhow::Result<Exit> {
    let config = config::load(options.config.config.as_deref(), environment);
    let config = config.and_then(|config| match config.recursion() {
        Some(problem) => Err(vec![problem]),
        None => Ok(config),
    });
    let mut config = match config {
        Ok(config) => config,
        Err(problems) => {
            tell(&problems);
            if options.json {
                let file = problems.first().and_then(|problem| problem.place.as_ref());
                let file = file.map(|place| place.file.clone());
                answer(&render(&as_json(file, &problems, &[])))?;
            }
            return Ok(Exit::Usage);
        }
    };
    let mut settings = config.checked.gateway.clone();
    // Nothing is called here, so that there is nothing to keep.
    if let Some(folder) = settings.recovery.path.take() {
        let problem = trouble_with_folder(&folder, config.file.as_deref());
        config.problems.extend(problem);
    }
    tell(&config.problems);
    let servers = with_gateway(settings.clone(), async |gateway| Ok(gateway.report())).await?;
    let Some(report) = servers else {
        return Ok(Exit::Failed);
    };
    let mut idle = idle_entries(&config, &report);
    idle.extend(unknown_names(&config, &report));
    tell(&idle);
    config.problems.extend(idle);
    let servers = findings(&config, report, &settings);
    let text = if options.json {
        let file = config.file.as_ref().map(|file| file.display().to_string());
        render(&as_json(file, &config.problems, &servers))
    } else {
        for_people(
            &config,
            &servers,
            Palette::of(&io::stdout(), environment.no_color()),
        )
    };
    answer(&text)?;
    let wrong = config
        .problems
        .iter()
        .any(|problem| problem.severity == Severity::LeftOut);
    let failed = servers
        .iter()
        .any(|server| matches!(server.state, "down" | "starting"));
    Ok(match (wrong, failed) {
        (true, _) => Exit::Usage,
        (false, true) => Exit::Failed,
        (false, false) => Exit::Done,
    })
}

/// Entries of presets that fit no tool of their server: one that forbids and is
/// misspelt forbids nothing.
fn idle_entries(config: &Config, report: &[UpstreamReport]) -> Vec<Problem> {
    let is_up = |server: &&UpstreamReport| matches!(server.state, UpstreamState::Up { .. });
    let file = config.file.as_ref().map(|file| file.display().to_string());
    let mut idle = Vec::new();
    for preset in &config.checked.gateway.presets {
        for server in report.iter().filter(is_up) {
            let tools: Vec<&str> = server.tools.iter().map(|tool| tool.name.as_str()).collect();
            for entry in preset.idle_entries(&server.id, &server.slug, &tools) {
                let wanted = entry.rsplit('/').next().unwrap_or(entry);
                let near = nearest_few(wanted, tools.iter().copied());
                let help =
                    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")));
                idle.push(Problem {
                    severity: Severity::Warning,
                    place: file.clone().map(|file| Place {
                        file,
                        position: None,
                        path: format!("presets.{}", preset.id()),
                    }),
                    server: Some(server.id.clone()),
                    what: format!("`{entry}` fits none of its {} tools", tools.len()),
                    help,
                });
            }
        }
    }
    idle
}

/// Names in the tool lists of servers that are none of their tools.
fn unknown_names(config: &Config, report: &[UpstreamReport]) -> Vec<Problem> {
    let file = config.file.as_ref().map(|file| file.display().to_string());
    let servers = report.iter().zip(&config.checked.gateway.upstreams);
    let up = servers.filter(|(server, _)| matches!(server.state, UpstreamState::Up { .. }));
    let mut unknown = Vec::new();
    for (server, settings) in up {
        let tools: Vec<&str> = server.tools.iter().map(|tool| tool.name.as_str()).collect();
        for (place, name) in settings.tool_filter.unknown_names(&tools) {
            let near = nearest_few(name, tools.iter().copied());
            unknown.push(Problem {
                severity: Severity::Warning,
                place: file.clone().map(|file| Place {
                    file,
                    position: None,
                    path: place.to_owned(),
                }),
                server: Some(server.id.clone()),
                what: format!("`{name}` is none of its {} tools", tools.len()),
                help: (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or "))),
            });
        }
    }
    unknown
}

/// What would keep a gateway from using a folder, which it makes if it is not there.
fn trouble_with_folder(folder: &Path, file: Option<&Path>) -> Option<Problem> {
    let there = folder.ancestors().find(|folder| folder.exists())?;
    let what = if !there.is_dir() {
        format!("'{}' is no folder", there.display())
    } else if rustix::fs::access(there, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        format!("the folder '{}' cannot be written to", there.display())
    } else {
        return None;
    };
    let place = Place {
        file: file?.display().to_string(),
        position: None,
        path: "recovery.path".to_owned(),
    };
    Some(Problem {
        severity: Severity::Warning,
        place: Some(place),
        server: None,
        what,
        help: Some("what is cut would be kept in memory".to_owned()),
    })
}

/// What was found out about one server.
struct Finding {
    id: String,
    /// What carries its messages, or would.
    transport: Transport,
    /// The type that the configuration gives it.
    said: Option<Transport>,
    state: &'static str,
    /// Why it was left out, in a word for programs.
    left_out: Option<&'static str>,
    /// Why it is not up, in one line.
    reason: Option<String>,
    tokens: usize,
    report: Option<UpstreamReport>,
    failure: Option<(Failure, Option<String>)>,
}

/// The servers that were tried and those that could not even be tried.
fn findings(config: &Config, report: Vec<UpstreamReport>, settings: &Settings) -> Vec<Finding> {
    let said = |id: &str| config.checked.said.get(id).copied();
    let tried = report.into_iter().zip(&settings.upstreams);
    let tried = tried.map(|(report, settings)| finding(said(&report.id), report, settings));
    in_order(tried.collect(), &config.checked.left_out, |out| Finding {
        id: out.id.clone(),
        transport: out.transport,
        said: said(&out.id),
        left_out: Some(out.kind),
        state: "left_out",
        reason: Some(out.reason.clone()),
        tokens: 0,
        report: None,
        failure: None,
    })
}

fn finding(
    said: Option<Transport>,
    report: UpstreamReport,
    settings: &UpstreamSettings,
) -> Finding {
    let failure = match &report.state {
        UpstreamState::Down { failure, .. } => {
            Some((Failure::clone(failure), hint(failure, settings)))
        }
        _ => None,
    };
    Finding {
        id: report.id.clone(),
        transport: report.transport,
        said,
        left_out: None,
        state: state_word(&report.state),
        reason: trouble(&report.state),
        tokens: report
            .tools
            .iter()
            .map(|tool| estimate_tokens(tool.raw.as_str()))
            .sum(),
        report: Some(report),
        failure,
    }
}

impl Finding {
    /// How it was found out what carries its messages, where that took a
    /// second try: one line for people.
    fn found(&self) -> Option<&str> {
        match &self.report.as_ref()?.state {
            UpstreamState::Up { found, .. } => found.how.as_deref(),
            _ => None,
        }
    }
}

fn for_people(config: &Config, servers: &[Finding], palette: Palette) -> String {
    let source = match &config.file {
        Some(file) => file.display().to_string(),
        None => "built-in default (there is no narrows.json)".to_owned(),
    };
    let mut text = format!("configuration  {}\n", plain(&source));
    let width = servers
        .iter()
        .map(|server| plain(&server.id).chars().count())
        .max()
        .unwrap_or(0);
    for server in servers {
        let (word, tone) = match server.state {
            "up" => ("up", Tone::Good),
            "disabled" => ("disabled", Tone::Faint),
            "left_out" => ("left out", Tone::Bad),
            other => (other, Tone::Bad),
        };
        let state = palette.paint(tone, &format!("{word:<8}"));
        let _ = write!(
            text,
            "{state}  {:<width$}  {:<7}",
            plain(&server.id),
            server.transport.word()
        );
        let _ = writeln!(text, "  {}", summary(server));
        if let Some(how) = server.found() {
            let (name, word) = (name(server.transport), server.transport.word());
            let how = plain(how);
            let _ = writeln!(
                text,
                "          found: {name}, since {how}; say \"type\": \"{word}\" to save the first try"
            );
        }
        if let Some((failure, hint)) = &server.failure {
            for line in &failure.stderr {
                let line = palette.paint(Tone::Faint, &plain(line));
                let _ = writeln!(text, "          | {line}");
            }
            if let Some(hint) = hint {
                let _ = writeln!(text, "          hint: {}", plain(hint));
            }
        }
    }
    let up = servers.iter().filter(|server| server.state == "up").count();
    let all = servers
        .iter()
        .filter(|server| server.state != "disabled")
        .count();
    let (tools, tokens) = totals(servers);
    let _ = writeln!(
        text,
        "{up} of {} up, {}, ~{} tokens",
        counted(all, "server"),
        counted(tools, "tool"),
        grouped(tokens)
    );
    text
}

fn summary(server: &Finding) -> String {
    if let Some(reason) = &server.reason {
        return reason.clone();
    }
    let Some(report) = &server.report else {
        return String::new();
    };
    let UpstreamState::Up { revision, took, .. } = &report.state else {
        return String::new();
    };
    let mut parts = vec![
        revision.to_string(),
        format!("{:.2} s", took.as_secs_f64()),
        counted(report.tools.len(), "tool"),
        format!("~{} tokens", grouped(server.tokens)),
    ];
    let others = [
        (report.prompts, "prompt"),
        (report.resources, "resource"),
        (report.templates, "template"),
    ];
    let others = others.into_iter().filter(|(number, _)| *number > 0);
    parts.extend(others.map(|(number, word)| counted(number, word)));
    parts.join(", ")
}

/// What a transport is called in MCP's documents.
fn name(transport: Transport) -> &'static str {
    match transport {
        Transport::Stdio => "stdio",
        Transport::Http => "Streamable HTTP",
        Transport::Sse => "HTTP+SSE",
        Transport::WebSocket => "WebSocket",
        Transport::Rpc => "plain JSON-RPC",
        Transport::Builtin => "built-in",
    }
}

fn totals(servers: &[Finding]) -> (usize, usize) {
    let tools = servers.iter().filter_map(|server| server.report.as_ref());
    let tools = tools.map(|report| report.tools.len()).sum();
    (tools, servers.iter().map(|server| server.tokens).sum())
}

fn as_json(file: Option<String>, problems: &[Problem], servers: &[Finding]) -> Value {
    let is_error = |problem: &Problem| problem.severity <= Severity::LeftOut;
    let fine = |server: &Finding| matches!(server.state, "up" | "disabled");
    let (tools, tokens) = totals(servers);
    json!({
        "ok": !problems.iter().any(is_error) && servers.iter().all(fine),
        "config": file,
        "problems": problems.iter().map(problem_as_json).collect::<Vec<_>>(),
        "servers": servers.iter().map(server_as_json).collect::<Vec<_>>(),
        "tools": tools,
        "tokens": tokens,
    })
}

fn problem_as_json(problem: &Problem) -> Value {
    let place = problem.place.as_ref();
    let position = place.and_then(|place| place.position);
    json!({
        "severity": problem.severity.word(),
        "file": place.map(|place| &place.file),
        "line": position.map(|(line, _)| line),
        "column": position.map(|(_, column)| column),
        "path": place.map(|place| &place.path).filter(|path| !path.is_empty()),
        "server": problem.server,
        "message": problem.what,
        "help": problem.help,
    })
}

fn server_as_json(server: &Finding) -> Value {
    let report = server.report.as_ref();
    let up = report.and_then(|report| match &report.state {
        UpstreamState::Up {
            revision,
            took,
            server_info,
            ..
        } => Some((revision, took, server_info)),
        _ => None,
    });
    let failure = match (&server.failure, &server.reason) {
        (Some((failure, hint)), _) => json!({
            "kind": word(failure.kind),
            "message": failure.detail,
            "hint": hint,
            "speaks": failure.speaks.map(Transport::word),
            "stderr": failure.stderr,
        }),
        (None, Some(reason)) => match server.left_out {
            Some(kind) => json!({
                "kind": kind,
                "message": reason,
                "hint": null,
                "speaks": null,
                "stderr": [],
            }),
            None => Value::Null,
        },
        (None, None) => Value::Null,
    };
    json!({
        "id": server.id,
        "transport": server.transport.word(),
        "configured": server.said.map(Transport::word),
        "found": server.found(),
        "state": server.state,
        "revision": up.map(|(revision, _, _)| revision.as_str()),
        "took_ms": up.map(|(_, took, _)| took.as_millis() as u64),
        "tools": report.map_or(0, |report| report.tools.len()),
        "prompts": report.map_or(0, |report| report.prompts),
        "resources": report.map_or(0, |report| report.resources),
        "templates": report.map_or(0, |report| report.templates),
        "tokens": server.tokens,
        "server_info": up.and_then(|(_, _, info)| info.decode::<Value>().ok()),
        "failure": failure,
    })
}

fn render(value: &Value) -> String {
    format!("{value:#}\n")
}
