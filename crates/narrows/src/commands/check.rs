//! `narrows check`: diagnoses the configuration and its servers.

use std::fmt::Write;
use std::io;
use std::path::Path;
use std::time::Duration;

use narrows_gateway::settings::{Settings, Transport, UpstreamSettings};
use narrows_gateway::{Gateway, ToolReport, UpstreamReport};
use narrows_shape::estimate_tokens;
use narrows_upstream::{Failure, State as UpstreamState};
use narrows_wire::Revision;
use rustix::fs::Access;
use serde_json::{Value, json};

use super::hint::{failure_name, hint};
use super::own_tools::GatewayTools;
use super::self_reference::{disable_self_references, down};
use super::{
    Exit, down_reason, in_order, print_problems, state_word, up_of, wait_until_settled,
    with_starting_gateway,
};
use crate::cli::Check;
use crate::config::{self, Config, Environment, LeftOut, Problem, ProblemPlace, Severity};
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
            print_problems(&problems);
            if options.json {
                let file = problems.first().and_then(|problem| problem.place.as_ref());
                let file = file.map(|place| place.file.clone());
                answer(&render(&as_json(file, &problems, &[])))?;
            }
            return Ok(Exit::Usage);
        }
    };
    let mut settings = config.checked.gateway.clone();
    // This command calls no tools, so nothing needs to be stored.
    if let Some(folder) = settings.recovery.path.take() {
        let problem = trouble_with_folder(&folder, config.file.as_deref());
        config.problems.extend(problem);
    }
    let own = disable_self_references(&mut settings, config.checked.listen);
    print_problems(&config.problems);
    let lines = (!options.json).then(|| ServerLines::new(&config, &settings, environment));
    if let Some(lines) = &lines {
        answer(&lines.head(&config))?;
    }
    let found = with_starting_gateway(settings.clone(), async |gateway| {
        let servers = probe_servers(gateway, &config, &settings, &own, lines.as_ref()).await?;
        Ok((servers, GatewayTools::of(gateway, &settings)))
    });
    let Some((servers, gateway_tools)) = found.await? else {
        return Ok(Exit::Failed);
    };
    let report: Vec<&UpstreamReport> = servers.iter().filter_map(|it| it.report.as_ref()).collect();
    let mut idle = unmatched_rules(&config, &report);
    idle.extend(unknown_names(&config, &report));
    print_problems(&idle);
    config.problems.extend(idle);
    answer(&match options.json {
        true => {
            let file = config.file.as_ref().map(|file| file.display().to_string());
            render(&as_json(file, &config.problems, &servers))
        }
        false => totals_line(&servers, &gateway_tools),
    })?;
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

/// Returns preset entries that match no tool of their server. A misspelt entry that should deny a
/// tool denies nothing.
fn unmatched_rules(config: &Config, report: &[&UpstreamReport]) -> Vec<Problem> {
    let is_up = |server: &&&UpstreamReport| matches!(server.state, UpstreamState::Up { .. });
    let file = config.file.as_ref().map(|file| file.display().to_string());
    let mut idle = Vec::new();
    for preset in &config.checked.gateway.presets {
        for server in report.iter().filter(is_up) {
            let tools: Vec<&str> = server.tools.iter().map(|tool| tool.name.as_str()).collect();
            for entry in preset.unmatched_rules(&server.id, &server.slug, &tools) {
                let wanted = entry.rsplit('/').next().unwrap_or(entry);
                let near = nearest_few(wanted, tools.iter().copied());
                let help =
                    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")));
                idle.push(Problem {
                    severity: Severity::Warning,
                    place: file.clone().map(|file| ProblemPlace {
                        file,
                        position: None,
                        path: format!("presets.{}", preset.id()),
                    }),
                    server: Some(server.id.clone()),
                    what: format!("`{entry}` matches none of its {} tools", tools.len()),
                    help,
                });
            }
        }
    }
    idle
}

/// Returns names in tool lists of servers that match none of their tools.
fn unknown_names(config: &Config, report: &[&UpstreamReport]) -> Vec<Problem> {
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
                place: file.clone().map(|file| ProblemPlace {
                    file,
                    position: None,
                    path: place.to_owned(),
                }),
                server: Some(server.id.clone()),
                what: format!("`{name}` is not one of its {} tools", tools.len()),
                help: (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or "))),
            });
        }
    }
    unknown
}

/// Returns the problem that would keep a gateway from using the folder, which it creates if
/// necessary.
fn trouble_with_folder(folder: &Path, file: Option<&Path>) -> Option<Problem> {
    let there = folder.ancestors().find(|folder| folder.exists())?;
    let what = if !there.is_dir() {
        format!("'{}' is not a folder", there.display())
    } else if rustix::fs::access(there, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        format!("the folder '{}' cannot be written to", there.display())
    } else {
        return None;
    };
    let place = ProblemPlace {
        file: file?.display().to_string(),
        position: None,
        path: "recovery.path".to_owned(),
    };
    Some(Problem {
        severity: Severity::Warning,
        place: Some(place),
        server: None,
        what,
        help: Some("cut text would be kept in memory".to_owned()),
    })
}

/// The result of checking one server.
struct Finding {
    id: String,
    /// The configured or detected transport.
    transport: Transport,
    /// The transport given in the configuration.
    declared: Option<Transport>,
    state: &'static str,
    /// The reason for leaving the server out, as a stable identifier.
    left_out: Option<&'static str>,
    /// The reason why the server is not up, in one line.
    reason: Option<String>,
    tokens: usize,
    report: Option<UpstreamReport>,
    failure: Option<(Failure, Option<String>)>,
    /// The time until the result was known, if the server was tried.
    elapsed: Option<Duration>,
}

/// Tries all servers and prints a line for each as soon as its result is known. Returns the results
/// in the order of the file.
async fn probe_servers(
    gateway: &Gateway,
    config: &Config,
    settings: &Settings,
    own: &[(usize, Failure)],
    lines: Option<&ServerLines>,
) -> anyhow::Result<Vec<Finding>> {
    let declared = |id: &str| config.checked.declared.get(id).copied();
    let left_out = |out: &LeftOut| Finding {
        id: out.id.clone(),
        transport: out.transport,
        declared: declared(&out.id),
        left_out: Some(out.kind),
        state: "left_out",
        reason: Some(out.reason.clone()),
        tokens: 0,
        report: None,
        failure: None,
        elapsed: None,
    };
    let print_problems = |finding: &Finding| match lines {
        Some(lines) => answer(&lines.of(finding)),
        None => Ok(()),
    };
    for out in &config.checked.left_out {
        print_problems(&left_out(out))?;
    }
    let mut tried = Vec::new();
    wait_until_settled(gateway, |server| {
        let settings = &settings.upstreams[server.place];
        let mut report = server.report;
        if let Some((_, failure)) = own.iter().find(|(place, _)| *place == server.place) {
            report.state = down(failure.clone());
        }
        let finding = finding(
            declared(&settings.upstream.id),
            report,
            &settings.upstream,
            server.elapsed,
        );
        print_problems(&finding)?;
        tried.push((server.place, finding));
        Ok(())
    })
    .await?;
    tried.sort_by_key(|(place, _)| *place);
    let tried = tried.into_iter().map(|(_, finding)| finding).collect();
    Ok(in_order(tried, &config.checked.left_out, left_out))
}

fn finding(
    declared: Option<Transport>,
    report: UpstreamReport,
    settings: &UpstreamSettings,
    elapsed: Duration,
) -> Finding {
    let failure = match &report.state {
        UpstreamState::Down { failure, .. } => {
            Some((Failure::clone(failure), hint(failure, settings)))
        }
        _ => None,
    };
    let elapsed = match &report.state {
        UpstreamState::Up { took, .. } => Some(*took),
        UpstreamState::Disabled => None,
        _ => Some(elapsed),
    };
    Finding {
        id: report.id.clone(),
        transport: report.transport,
        declared,
        left_out: None,
        state: state_word(&report.state),
        reason: down_reason(&report.state),
        tokens: offered(&report)
            .map(|tool| estimate_tokens(tool.raw.as_str()))
            .sum(),
        report: Some(report),
        failure,
        elapsed,
    }
}

impl Finding {
    /// Returns how the transport was detected, in one line, if that took a second attempt.
    fn found(&self) -> Option<&str> {
        match &self.report.as_ref()?.state {
            UpstreamState::Up { found, .. } => found.how.as_deref(),
            _ => None,
        }
    }

    /// Returns how the era was detected, in one line. `None` if it was configured, or if the
    /// transport has one era only.
    fn era_found(&self) -> Option<&str> {
        match &self.report.as_ref()?.state {
            UpstreamState::Up { found, .. } => found.era.as_deref(),
            _ => None,
        }
    }

    fn is_modern(&self) -> bool {
        let state = self.report.as_ref().map(|report| &report.state);
        matches!(state, Some(UpstreamState::Up { revision, .. }) if !revision.is_legacy())
    }
}

/// Prints one line per server, followed by its details.
struct ServerLines {
    palette: Palette,
    /// The length of the longest id.
    width: usize,
}

impl ServerLines {
    fn new(config: &Config, settings: &Settings, environment: &Environment) -> ServerLines {
        let tried = settings.upstreams.iter().map(|server| &server.upstream.id);
        let ids = tried.chain(config.checked.left_out.iter().map(|out| &out.id));
        let width = ids.map(|id| plain(id).chars().count()).max();
        ServerLines {
            palette: Palette::of(&io::stdout(), environment.no_color()),
            width: width.unwrap_or(0),
        }
    }

    fn head(&self, config: &Config) -> String {
        let source = match &config.file {
            Some(file) => file.display().to_string(),
            None => "built-in default (there is no narrows.json)".to_owned(),
        };
        format!("configuration  {}\n", plain(&source))
    }

    fn of(&self, server: &Finding) -> String {
        let ServerLines { palette, width } = *self;
        let mut text = String::new();
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
            server.transport.as_str()
        );
        let _ = writeln!(text, "  {}", summary(server));
        if let Some(how) = server.found() {
            let (name, word) = (name(server.transport), server.transport.as_str());
            let how = plain(how);
            let _ = writeln!(
                text,
                "          found: {name}, because {how}; set \"type\": \"{word}\" to skip the first attempt"
            );
        }
        if let Some(how) = server.era_found().filter(|_| server.is_modern()) {
            let _ = writeln!(text, "          era: modern, because {}", plain(how));
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
        text
    }
}

/// Returns the last line, with the totals.
fn totals_line(servers: &[Finding], own: &GatewayTools) -> String {
    let count = |state: &str| {
        servers
            .iter()
            .filter(|server| server.state == state)
            .count()
    };
    let (up, disabled) = (count("up"), count("disabled"));
    let (tools, tokens) = totals(servers);
    format!(
        "{}, {}, ~{} tokens{}\n",
        up_of(up, servers.len() - disabled, disabled),
        counted(tools, "tool"),
        grouped(tokens),
        own.behind_totals()
    )
}

fn summary(server: &Finding) -> String {
    if let Some(reason) = &server.reason {
        return match server.elapsed {
            Some(elapsed) => format!("{:.2} s, {reason}", elapsed.as_secs_f64()),
            None => reason.clone(),
        };
    }
    let Some(report) = &server.report else {
        return String::new();
    };
    let UpstreamState::Up { revision, took, .. } = &report.state else {
        return String::new();
    };
    let mut parts = vec![
        format!("{revision} ({})", era(*revision)),
        format!("{:.2} s", took.as_secs_f64()),
        counted(offered(report).count(), "tool"),
    ];
    let hidden = report.tools.len() - offered(report).count();
    if hidden > 0 {
        parts.push(format!("{} hidden", grouped(hidden)));
    }
    parts.push(format!("~{} tokens", grouped(server.tokens)));
    let others = [
        (report.prompts, "prompt"),
        (report.resources, "resource"),
        (report.templates, "template"),
    ];
    let others = others.into_iter().filter(|(number, _)| *number > 0);
    parts.extend(others.map(|(number, word)| counted(number, word)));
    parts.join(", ")
}

/// Returns the name of a transport as the MCP specification writes it.
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

/// Returns the tools of a server that the default endpoint offers.
fn offered(report: &UpstreamReport) -> impl Iterator<Item = &ToolReport> {
    report.tools.iter().filter(|tool| tool.is_usable())
}

fn totals(servers: &[Finding]) -> (usize, usize) {
    let tools = servers.iter().filter_map(|server| server.report.as_ref());
    let tools = tools.map(|report| offered(report).count()).sum();
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
        "severity": problem.severity.as_str(),
        "file": place.map(|place| &place.file),
        "line": position.map(|(line, _)| line),
        "column": position.map(|(_, column)| column),
        "path": place.map(|place| &place.path).filter(|path| !path.is_empty()),
        "server": problem.server,
        "message": problem.what,
        "help": problem.help,
    })
}

fn era(revision: Revision) -> &'static str {
    match revision.is_legacy() {
        true => "legacy",
        false => "modern",
    }
}

fn server_as_json(server: &Finding) -> Value {
    let report = server.report.as_ref();
    let up = report.and_then(|report| match &report.state {
        UpstreamState::Up {
            revision,
            server_info,
            ..
        } => Some((revision, server_info)),
        _ => None,
    });
    let failure = match (&server.failure, &server.reason) {
        (Some((failure, hint)), _) => json!({
            "kind": failure_name(failure.kind),
            "message": failure.detail,
            "hint": hint,
            "speaks": failure.speaks.map(Transport::as_str),
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
        "transport": server.transport.as_str(),
        "configured": server.declared.map(Transport::as_str),
        "found": server.found(),
        "state": server.state,
        "revision": up.map(|(revision, _)| revision.as_str()),
        "era": up.map(|(revision, _)| era(*revision)),
        "era_found": server.era_found(),
        "took_ms": server.elapsed.map(|elapsed| elapsed.as_millis() as u64),
        "tools": report.map_or(0, |report| offered(report).count()),
        "hidden": report.map_or(0, |report| report.tools.len() - offered(report).count()),
        "prompts": report.map_or(0, |report| report.prompts),
        "resources": report.map_or(0, |report| report.resources),
        "templates": report.map_or(0, |report| report.templates),
        "tokens": server.tokens,
        "server_info": up.and_then(|(_, info)| info.decode::<Value>().ok()),
        "failure": failure,
    })
}

fn render(value: &Value) -> String {
    format!("{value:#}\n")
}
