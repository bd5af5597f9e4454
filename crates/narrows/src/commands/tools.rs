//! `narrows tools`: the tools that the gateway offers, their cost, and the savings from shaping.

mod savings;

use std::fmt::Write;
use std::io;

use narrows_gateway::preset::DenialSource;
use narrows_gateway::recovery_store::totals::read_totals;
use narrows_gateway::settings::Expose;
use narrows_gateway::{ToolReport, UpstreamReport};
use narrows_shape::estimate_tokens;
use narrows_upstream::State as UpstreamState;
use serde_json::{Value, json};

use super::endpoint::{EndpointTools, allowed, choose, exposure_name};
use super::own_tools::GatewayTools;
use super::why::why;
use super::{
    Exit, command_line, down_reason, in_order, load, only, refuse_server, state_word, suggest,
    warn_of_left_out, with_gateway,
};
use crate::cli::Tools;
use crate::config::{Environment, LeftOut};
use crate::terminal::{Palette, Tone, answer, counted, eprint_line, grouped, plain};
use savings::{SavedTotals, Savings};

/// The maximum number of listed facade tools to name.
const MAX_LISTED: usize = 9;

pub(crate) async fn run(options: Tools, environment: &Environment) -> anyhow::Result<Exit> {
    let mut config = match load(&options.config, environment) {
        Ok(config) => config,
        Err(exit) => return Ok(exit),
    };
    let refused = options
        .server
        .as_deref()
        .and_then(|id| refuse_server(&config, id));
    let preset = options.preset.as_deref();
    if let Err(exit) = choose(&mut config, &options.endpoint, preset, None) {
        return Ok(exit);
    }
    if let Some(exit) = refused {
        return Ok(exit);
    }
    warn_of_left_out(&config);
    let mut settings = config.checked.gateway.clone();
    let endpoint = settings.endpoints[0].clone();
    // This command calls no tools, so nothing needs to be stored.
    let totals = settings.recovery.path.take();
    let totals = totals.map(|folder| read_totals(&folder));
    let savings = Savings::of(&totals.unwrap_or_default());
    if let Some(id) = &options.server {
        only(&mut settings, std::slice::from_ref(id));
    }
    let chosen = settings.clone();
    let offered = with_gateway(settings, async |gateway| {
        let own = GatewayTools::of(gateway, &chosen);
        Ok((EndpointTools::by(gateway, &endpoint), own))
    });
    let Some((mut offered, own)) = offered.await? else {
        return Ok(Exit::Failed);
    };
    if let Some(id) = &options.server {
        offered.report.retain(|server| server.id == *id);
    }
    let left_out = match &options.server {
        Some(_) => &[][..],
        None => &config.checked.left_out,
    };
    if let Some(name) = &options.why {
        return why(name, &offered, left_out, options.json);
    }
    let palette = Palette::of(&io::stdout(), environment.no_color());
    match (&options.server, &options.tool) {
        (Some(_), Some(tool)) => show_one(tool, &offered.report, &savings, &options),
        _ => {
            let list = List {
                offered: &offered,
                left_out,
                savings: &savings,
                own: &own,
                server: options.server.as_deref(),
            };
            show_all(&list, &options, palette)
        }
    }
}

fn show_one(
    name: &str,
    report: &[UpstreamReport],
    savings: &Savings,
    options: &Tools,
) -> anyhow::Result<Exit> {
    let Some(server) = report.first() else {
        return Ok(Exit::Failed);
    };
    if let Some(reason) = down_reason(&server.state) {
        eprint_line(format_args!(
            "error: server '{}' is down: {reason}",
            plain(&server.id)
        ));
        let command = command_line("check", &options.config);
        eprint_line(format_args!("  help: {command} shows details"));
        return Ok(Exit::Failed);
    }
    let found = server
        .tools
        .iter()
        .find(|tool| tool.name == name || tool.published == name);
    if let Some(tool) = found
        && let Some(why) = tool.hidden_because()
    {
        let (id, own) = (plain(&server.id), plain(&tool.name));
        eprint_line(format_args!(
            "error: tool '{own}' of server '{id}' is hidden here: {}",
            plain(&why)
        ));
        return Ok(Exit::Failed);
    }
    let Some(tool) = found else {
        let names = allowed(server).map(|tool| tool.name.as_str());
        let (id, near) = (plain(&server.id), suggest(name, names));
        eprint_line(format_args!(
            "error: server '{id}' has no tool '{}'{near}",
            plain(name)
        ));
        return Ok(Exit::Failed);
    };
    let tokens = estimate_tokens(tool.raw.as_str());
    let saved = savings.of_tool(&server.id, &tool.name);
    let raw: Value = tool.raw.decode().unwrap_or_default();
    let text = if options.json {
        let whole = json!({
            "server": server.id,
            "name": tool.name,
            "published": tool.published,
            "tokens": tokens,
            "saved": saved,
            "tool": raw,
        });
        format!("{whole:#}\n")
    } else {
        let (name, tokens) = (plain(&tool.published), grouped(tokens));
        let mut text = format!("{name}  ~{tokens} tokens{}\n", after(saved));
        if let Some(description) = raw.get("description").and_then(Value::as_str) {
            let lines = description.lines().map(|line| format!("{}\n", plain(line)));
            text.push_str(&lines.collect::<String>());
        }
        // The other members as listed, including annotations and the output schema.
        let mut rest = raw;
        if let Some(rest) = rest.as_object_mut() {
            rest.shift_remove("name");
            rest.shift_remove("description");
        }
        let _ = writeln!(text, "{rest:#}");
        text
    };
    answer(&text)?;
    Ok(Exit::Done)
}

/// The contents of the list.
struct List<'a> {
    offered: &'a EndpointTools,
    left_out: &'a [LeftOut],
    savings: &'a Savings,
    own: &'a GatewayTools,
    /// The only server to show, if the user named one.
    server: Option<&'a str>,
}

impl List<'_> {
    /// Returns the counts of hidden tools by reason, as text.
    fn hidden<'a>(&self, servers: impl IntoIterator<Item = &'a UpstreamReport>) -> String {
        let (mut by_preset, mut by_list, mut as_tasks) = (0, 0, 0);
        for tool in servers.into_iter().flat_map(|server| &server.tools) {
            match tool.denied.as_deref().map(|denial| &denial.source) {
                Some(DenialSource::Preset(_)) => by_preset += 1,
                Some(DenialSource::ToolList(_)) => by_list += 1,
                None => as_tasks += usize::from(tool.needs_task),
            }
        }
        let mut text = String::new();
        if let (1.., Some(preset)) = (by_preset, &self.offered.preset) {
            let (number, preset) = (grouped(by_preset), plain(preset));
            let _ = write!(text, ", {number} hidden by preset '{preset}'");
        }
        if by_list > 0 {
            let number = grouped(by_list);
            let _ = write!(text, ", {number} hidden by tool lists");
        }
        if as_tasks > 0 {
            let number = grouped(as_tasks);
            let _ = write!(text, ", {number} hidden because they run only as tasks");
        }
        text
    }

    /// Describes the tools listed instead of the servers' tools, whose cost is `tokens`. Returns
    /// `None` for a single server, because its list would differ from that of clients.
    fn listed_at_start(&self, tokens: usize) -> Option<String> {
        if self.server.is_some() || self.offered.expose == Expose::All {
            return None;
        }
        let listed = &self.offered.listed;
        let names = listed.iter().map(|(name, _)| plain(name));
        let mut names = names.take(MAX_LISTED).collect::<Vec<_>>().join(", ");
        if listed.len() > MAX_LISTED {
            names.push_str(&format!(" and {} more", listed.len() - MAX_LISTED));
        }
        let (own, tokens) = (grouped(self.listed_tokens()), grouped(tokens));
        Some(format!(
            "listed at start: {names}: ~{own} tokens instead of ~{tokens}"
        ))
    }

    fn listed_as_json(&self) -> Value {
        if self.server.is_some() {
            return Value::Null;
        }
        let names: Vec<&String> = self.offered.listed.iter().map(|(name, _)| name).collect();
        json!({ "tools": names, "tokens": self.listed_tokens() })
    }

    fn listed_tokens(&self) -> usize {
        let listed = self.offered.listed.iter();
        listed.map(|(_, tool)| estimate_tokens(tool.as_str())).sum()
    }
}

fn show_all(list: &List<'_>, options: &Tools, palette: Palette) -> anyhow::Result<Exit> {
    let report = &list.offered.report;
    let text = if options.json {
        format!("{:#}\n", as_json(list))
    } else {
        for_people(list, palette)
    };
    answer(&text)?;
    let down = report.iter().filter(|server| is_down(server)).count();
    if down > 0 && !options.json {
        let (servers, are) = (
            counted(down, "server"),
            if down == 1 { "is" } else { "are" },
        );
        let command = command_line("check", &options.config);
        eprint_line(format_args!(
            "{servers} {are} down; {command} shows details"
        ));
    }
    let asked_for_is_down = list.server.is_some()
        && report
            .iter()
            .any(|server| down_reason(&server.state).is_some());
    Ok(if asked_for_is_down {
        Exit::Failed
    } else {
        Exit::Done
    })
}

fn for_people(list: &List<'_>, palette: Palette) -> String {
    let (report, savings) = (&list.offered.report, list.savings);
    let tools = || report.iter().flat_map(allowed);
    let width = tools()
        .map(|tool| plain(&tool.published).chars().count())
        .max()
        .unwrap_or(0);
    let server = |server: &UpstreamReport| {
        let mut text = String::new();
        let id = palette.paint(Tone::Strong, &plain(&server.id));
        match down_reason(&server.state) {
            Some(reason) => {
                let mark = if is_down(server) { "down: " } else { "" };
                let reason = palette.paint(Tone::Bad, &format!("{mark}{reason}"));
                let _ = writeln!(text, "{id}  {reason}");
            }
            None => {
                let (number, tokens) = (allowed(server).count(), cost(server));
                let (number, tokens) = (counted(number, "tool"), grouped(tokens));
                let hidden = list.hidden([server]);
                let saved = after(savings.of_server(&server.id));
                let _ = writeln!(text, "{id}  {number}, ~{tokens} tokens{hidden}{saved}");
            }
        }
        for tool in allowed(server) {
            let tokens = format!("~{}", grouped(estimate_tokens(tool.raw.as_str())));
            let name = plain(&tool.published);
            let line = format!("  {name:<width$}  {tokens:>7}  {}", first_line(tool));
            let _ = writeln!(text, "{}", line.trim_end());
            if let Some(saved) = savings.of_tool(&server.id, &tool.name) {
                let saved = palette.paint(Tone::Good, &saved.short());
                let _ = writeln!(text, "  {:width$}           {saved}", "");
            }
        }
        text
    };
    let servers = in_order(report.iter().map(server).collect(), list.left_out, |out| {
        let id = palette.paint(Tone::Strong, &plain(&out.id));
        let reason = format!("left out: {}", out.reason);
        format!("{id}  {}\n", palette.paint(Tone::Bad, &reason))
    });
    let mut text = servers.concat();
    let tokens: usize = report.iter().map(cost).sum();
    let (number, grouped_tokens) = (counted(tools().count(), "tool"), grouped(tokens));
    let hidden = list.hidden(report);
    let own = match list.server {
        Some(_) => String::new(),
        None => list.own.behind_totals(),
    };
    let _ = writeln!(
        text,
        "total: {number}, ~{grouped_tokens} tokens{hidden}{own}"
    );
    if let Some(listed) = list.listed_at_start(tokens) {
        let _ = writeln!(text, "{listed}");
    }
    if let Some(saved) = savings.last_line(list.server) {
        let _ = writeln!(text, "{saved}");
    }
    text
}

fn is_down(server: &UpstreamReport) -> bool {
    matches!(server.state, UpstreamState::Down { .. })
}

/// Formats the savings as a suffix.
fn after(saved: Option<SavedTotals>) -> String {
    saved.map_or_else(String::new, |saved| format!("; {}", saved.short()))
}

fn as_json(list: &List<'_>) -> Value {
    let (offered, savings) = (list.offered, list.savings);
    let report = &offered.report;
    let tool = |server: &str, tool: &ToolReport| {
        json!({
            "name": tool.name,
            "published": tool.published,
            "description": description(tool),
            "tokens": estimate_tokens(tool.raw.as_str()),
            "saved": savings.of_tool(server, &tool.name),
        })
    };
    let server = |server: &UpstreamReport| {
        let tools = allowed(server).map(|known| tool(&server.id, known));
        let hidden = server.tools.iter().filter_map(|tool| {
            let reason = tool.hidden_because()?;
            Some(json!({ "name": tool.name, "published": tool.published, "reason": reason }))
        });
        json!({
            "id": server.id,
            "state": state_word(&server.state),
            "reason": down_reason(&server.state),
            "tokens": cost(server),
            "saved": savings.of_server(&server.id),
            "tools": tools.collect::<Vec<_>>(),
            "hidden": hidden.collect::<Vec<_>>(),
        })
    };
    let servers = in_order(report.iter().map(server).collect(), list.left_out, |out| {
        let saved = savings.of_server(&out.id);
        json!({ "id": out.id, "state": "left_out", "reason": out.reason, "tokens": 0,
                    "saved": saved, "tools": [], "hidden": [] })
    });
    json!({
        "endpoint": offered.endpoint,
        "expose": exposure_name(offered.expose),
        "preset": offered.preset,
        "servers": servers,
        "tools": report.iter().flat_map(allowed).count(),
        "tokens": report.iter().map(cost).sum::<usize>(),
        "listed": list.listed_as_json(),
        "saved": savings.all_as_json(list.server),
    })
}

/// Returns the token cost of the usable tools of a server.
fn cost(server: &UpstreamReport) -> usize {
    allowed(server)
        .map(|tool| estimate_tokens(tool.raw.as_str()))
        .sum()
}

fn description(tool: &ToolReport) -> Option<String> {
    let description = tool.raw.member("description")?;
    description.as_text().map(|text| text.into_owned())
}

/// Returns the first line of the description, cut to 80 characters.
fn first_line(tool: &ToolReport) -> String {
    let description = description(tool).unwrap_or_default();
    let line = description
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty());
    let line = plain(line.unwrap_or_default());
    match line.char_indices().nth(80) {
        Some(_) => format!("{}...", line.chars().take(77).collect::<String>()),
        None => line.into_owned(),
    }
}
