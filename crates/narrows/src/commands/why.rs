//! `narrows tools --why NAME`: explains why a tool is offered or not.

#[cfg(test)]
mod tests;

use narrows_gateway::preset::{Denial, DenialReason, DenialSource};
use narrows_gateway::settings::Expose;
use narrows_gateway::{NEEDS_TASK, RECOVER_TOOL, ToolReport, UpstreamReport};
use narrows_wire::text::percent_encoded;
use serde_json::json;

use super::endpoint::{EndpointTools, allowed, exposure_name};
use super::{Exit, down_reason, rest_after, suggest};
use crate::config::LeftOut;
use crate::nearest::nearest_few;
use crate::terminal::{answer, plain};

/// The explanation for a name.
#[derive(Debug, Default, PartialEq, Eq)]
struct Verdict {
    there: bool,
    server: Option<String>,
    tool: Option<String>,
    published: Option<String>,
    /// The preset that hides the tool. The entry that does so is `rule`.
    preset: Option<String>,
    rule: Option<String>,
    reason: String,
    nearest: Vec<String>,
}

pub(super) fn why(
    name: &str,
    offered: &EndpointTools,
    left_out: &[LeftOut],
    json: bool,
) -> anyhow::Result<Exit> {
    let verdict = judge(name, offered, left_out);
    let text = if json {
        let verdict = json!({
            "name": name,
            "there": verdict.there,
            "server": verdict.server,
            "tool": verdict.tool,
            "published": verdict.published,
            "preset": verdict.preset,
            "rule": verdict.rule,
            "reason": verdict.reason,
            "nearest": verdict.nearest,
        });
        format!("{verdict:#}\n")
    } else {
        format!("{}: {}\n", plain(name), plain(&verdict.reason))
    };
    answer(&text)?;
    Ok(if verdict.there {
        Exit::Done
    } else {
        Exit::Failed
    })
}

fn judge(name: &str, offered: &EndpointTools, left_out: &[LeftOut]) -> Verdict {
    let tools = || {
        let of = |server| allowed_first(server).map(move |tool| (server, tool));
        offered.report.iter().flat_map(of)
    };
    if let Some((server, tool)) = tools().find(|(_, tool)| tool.published == name) {
        return of_tool(server, tool, name, offered);
    }
    let own = own_tool(name, offered);
    if let Some(own) = own.as_ref().filter(|own| own.there) {
        return there(own.reason.clone());
    }
    if let Some(verdict) = by_server(name, offered, left_out) {
        return verdict;
    }
    let bare = || tools().filter(|(_, tool)| tool.name == name);
    let usable: Vec<_> = bare().filter(|(_, tool)| tool.is_usable()).collect();
    if usable.len() > 1 {
        let published = usable.iter().map(|(_, tool)| tool.published.clone());
        let published: Vec<String> = published.collect();
        return Verdict {
            reason: format!("several servers have this tool: {}", published.join(", ")),
            nearest: published,
            ..Verdict::default()
        };
    }
    if let Some((server, tool)) = usable.first().copied().or_else(|| bare().next()) {
        return of_tool(server, tool, name, offered);
    }
    if let Some(own) = own {
        return Verdict {
            reason: own.reason,
            ..Verdict::default()
        };
    }
    let usable = offered.report.iter().flat_map(allowed);
    let published = usable.map(|tool| tool.published.as_str());
    Verdict {
        reason: format!("there is no such tool{}", suggest(name, published.clone())),
        nearest: nearest_few(name, published)
            .into_iter()
            .map(str::to_owned)
            .collect(),
        ..Verdict::default()
    }
}

/// Returns the tools of a server, hidden ones last.
fn allowed_first(server: &UpstreamReport) -> impl Iterator<Item = &ToolReport> {
    let hidden = server.tools.iter().filter(|tool| !tool.is_usable());
    allowed(server).chain(hidden)
}

/// Explains a tool that exists on its server.
fn of_tool(
    server: &UpstreamReport,
    tool: &ToolReport,
    name: &str,
    offered: &EndpointTools,
) -> Verdict {
    let (own, id, published) = (&tool.name, &server.id, &tool.published);
    let verdict = Verdict {
        server: Some(id.clone()),
        tool: Some(own.clone()),
        published: Some(published.clone()),
        ..Verdict::default()
    };
    if let Some(denial) = tool.denied.as_deref() {
        let (preset, rule) = preset_and_rule(denial);
        return Verdict {
            preset,
            rule,
            reason: format!("not offered: {denial}"),
            ..verdict
        };
    }
    if tool.needs_task {
        return Verdict {
            reason: format!(
                "not offered: it {NEEDS_TASK}; /servers/{}/mcp does",
                percent_encoded(id)
            ),
            ..verdict
        };
    }
    let reason = if offered.expose != Expose::All && !offered.lists(published) {
        let through = through(id, own);
        format!("tool '{own}' of server '{id}' is available {through}")
    } else if published == name {
        format!("available: tool '{own}' of server '{id}'")
    } else {
        format!("tool '{own}' of server '{id}' is available under the name {published}")
    };
    Verdict {
        there: true,
        reason,
        ..verdict
    }
}

fn there(reason: String) -> Verdict {
    Verdict {
        there: true,
        reason,
        ..Verdict::default()
    }
}

/// Returns the preset that hides a tool and the responsible entry. Without a preset, returns the
/// path of the tool list in the server's entry.
fn preset_and_rule(denial: &Denial) -> (Option<String>, Option<String>) {
    let rule = match &denial.why {
        DenialReason::Forbidden(rule) | DenialReason::ForbiddenWithoutHints(rule, _) => {
            Some(rule.to_string())
        }
        _ => None,
    };
    match &denial.source {
        DenialSource::Preset(id) => (Some(id.to_string()), rule),
        DenialSource::ToolList(path) => (None, Some(path.to_string())),
    }
}

/// A gateway tool that stands for all tools that are not listed. The endpoint's list shows whether
/// it is present.
struct FacadeTool {
    name: &'static str,
    does: &'static str,
    /// The values of `expose` that include the tool.
    with: &'static [Expose],
}

const EXEC: &str = "exec";

const FACADE_TOOLS: [FacadeTool; 3] = [
    FacadeTool {
        name: "inspect",
        does: "describes the others",
        with: &[Expose::Lazy, Expose::Search],
    },
    FacadeTool {
        name: EXEC,
        does: "calls the others",
        with: &[Expose::Lazy, Expose::Search],
    },
    FacadeTool {
        name: "search_tools",
        does: "finds the others",
        with: &[Expose::Search],
    },
];

/// The explanation for one of the gateway's own tools.
struct OwnTool {
    there: bool,
    reason: String,
}

fn own_tool(name: &str, offered: &EndpointTools) -> Option<OwnTool> {
    let Some(standin) = FACADE_TOOLS.iter().find(|standin| standin.name == name) else {
        return recover_tool(name, offered);
    };
    let there = offered.lists(name);
    let reason = if there {
        format!("available: the gateway's own tool that {}", standin.does)
    } else {
        let (endpoint, has) = (&offered.endpoint, exposure_name(offered.expose));
        let with = standin
            .with
            .iter()
            .map(|expose| format!("{:?}", exposure_name(*expose)));
        let with = with.collect::<Vec<_>>().join(" or ");
        format!(
            "not offered: it is the gateway's own tool on endpoints with \"expose\": {with}, \
             but endpoint '{endpoint}' has \"{has}\""
        )
    };
    Some(OwnTool { there, reason })
}

fn recover_tool(name: &str, offered: &EndpointTools) -> Option<OwnTool> {
    let here = offered.recover.as_deref();
    if name != RECOVER_TOOL && Some(name) != here {
        return None;
    }
    let does = "the gateway's own tool that recovers text cut from results";
    let reason = match here {
        None => format!("not offered: it is {does}, but this endpoint cuts nothing (`shape`)"),
        Some(here) if !offered.lists(here) => {
            format!("{does} is available {}", through("narrows", here))
        }
        Some(here) if here != name => format!("{does} is available under the name {here}"),
        Some(_) => format!("available: {does}"),
    };
    let there = here.is_some();
    Some(OwnTool { there, reason })
}

/// Describes how to call a tool that is not listed.
fn through(server: &str, tool: &str) -> String {
    format!("through {EXEC}(server_name: {server:?}, tool_name: {tool:?})")
}

/// Interprets the name as a server's id or slug, a separator and a tool name.
fn by_server(name: &str, offered: &EndpointTools, left_out: &[LeftOut]) -> Option<Verdict> {
    for server in &offered.report {
        let readings = [
            rest_after(name, &server.id, "__"),
            rest_after(name, &server.slug, "__"),
        ];
        let Some(rest) = readings.into_iter().flatten().next() else {
            continue;
        };
        let found = server.tools.iter().find(|tool| tool.name == rest);
        if let Some(tool) = found {
            return Some(of_tool(server, tool, name, offered));
        }
        let own = || allowed(server).map(|tool| tool.name.as_str());
        let reason = match down_reason(&server.state) {
            Some(reason) => format!("server '{}' is not up: {reason}", server.id),
            None => {
                let near = suggest(rest, own());
                format!(
                    "server '{}' is up, but has no tool '{rest}'{near}",
                    server.id
                )
            }
        };
        return Some(Verdict {
            server: Some(server.id.clone()),
            reason,
            nearest: nearest_few(rest, own())
                .into_iter()
                .map(str::to_owned)
                .collect(),
            ..Verdict::default()
        });
    }
    let out = left_out
        .iter()
        .find(|out| rest_after(name, &out.id, "__").is_some())?;
    Some(Verdict {
        server: Some(out.id.clone()),
        reason: format!("server '{}' cannot be started: {}", out.id, out.reason),
        ..Verdict::default()
    })
}
