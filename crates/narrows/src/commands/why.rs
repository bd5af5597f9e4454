//! `narrows tools --why NAME`: why there is, or is not, a tool of that name.

use narrows_gateway::{ToolReport, UpstreamReport};
use serde_json::json;

use super::{Exit, rest_after, suggest, trouble};
use crate::config::LeftOut;
use crate::nearest::nearest_few;
use crate::terminal::{answer, plain};

/// What there is to say about a name.
#[derive(Debug, Default, PartialEq, Eq)]
struct Verdict {
    there: bool,
    server: Option<String>,
    tool: Option<String>,
    published: Option<String>,
    reason: String,
    nearest: Vec<String>,
}

pub(super) fn why(
    name: &str,
    report: &[UpstreamReport],
    left_out: &[LeftOut],
    json: bool,
) -> anyhow::Result<Exit> {
    let verdict = judge(name, report, left_out);
    let text = if json {
        let verdict = json!({
            "name": name,
            "there": verdict.there,
            "server": verdict.server,
            "tool": verdict.tool,
            "published": verdict.published,
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

fn judge(name: &str, report: &[UpstreamReport], left_out: &[LeftOut]) -> Verdict {
    let tools = || {
        report
            .iter()
            .flat_map(|server| server.tools.iter().map(move |tool| (server, tool)))
    };
    if let Some((server, tool)) = tools().find(|(_, tool)| tool.published == name) {
        return there(server, tool, name);
    }
    if let Some(verdict) = by_server(name, report, left_out) {
        return verdict;
    }
    let bare: Vec<_> = tools().filter(|(_, tool)| tool.name == name).collect();
    if let [(server, tool)] = bare[..] {
        return there(server, tool, name);
    }
    if !bare.is_empty() {
        let published: Vec<String> = bare
            .iter()
            .map(|(_, tool)| tool.published.clone())
            .collect();
        return Verdict {
            reason: format!("several servers have it: {}", published.join(", ")),
            nearest: published,
            ..Verdict::default()
        };
    }
    let published = || tools().map(|(_, tool)| tool.published.as_str());
    Verdict {
        reason: format!(
            "no server and tool of this name{}",
            suggest(name, published())
        ),
        nearest: nearest_few(name, published())
            .into_iter()
            .map(str::to_owned)
            .collect(),
        ..Verdict::default()
    }
}

fn there(server: &UpstreamReport, tool: &ToolReport, name: &str) -> Verdict {
    let reason = if tool.published == name {
        format!(
            "it is there: tool '{}' of server '{}'",
            tool.name, server.id
        )
    } else {
        let (own, id, published) = (&tool.name, &server.id, &tool.published);
        format!("tool '{own}' of server '{id}' is there, under the name {published}")
    };
    Verdict {
        there: true,
        server: Some(server.id.clone()),
        tool: Some(tool.name.clone()),
        published: Some(tool.published.clone()),
        reason,
        nearest: Vec::new(),
    }
}

/// Reads the name as a server's id or slug, something between, and a tool.
fn by_server(name: &str, report: &[UpstreamReport], left_out: &[LeftOut]) -> Option<Verdict> {
    for server in report {
        let readings = [
            rest_after(name, &server.id, "__"),
            rest_after(name, &server.slug, "__"),
        ];
        let Some(rest) = readings.into_iter().flatten().next() else {
            continue;
        };
        let found = server.tools.iter().find(|tool| tool.name == rest);
        if let Some(tool) = found {
            return Some(there(server, tool, name));
        }
        let own = || server.tools.iter().map(|tool| tool.name.as_str());
        let reason = match trouble(&server.state) {
            Some(reason) => format!("server '{}' is not up: {reason}", server.id),
            None => {
                let near = suggest(rest, own());
                format!(
                    "server '{}' is up and has no tool '{rest}'{near}",
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use narrows_gateway::settings::Transport;
    use narrows_gateway::{Failure, FailureKind, Found, ToolReport, UpstreamReport, UpstreamState};
    use narrows_wire::{Raw, Revision};

    use super::{LeftOut, judge};

    fn server(id: &str, tools: &[(&str, &str)], state: UpstreamState) -> UpstreamReport {
        let tool = |(name, published): &(&str, &str)| ToolReport {
            name: (*name).to_owned(),
            published: (*published).to_owned(),
            raw: Raw::empty_object(),
        };
        UpstreamReport {
            id: id.to_owned(),
            slug: id.replace('.', "_"),
            transport: Transport::Stdio,
            state,
            tools: tools.iter().map(tool).collect(),
            prompts: 0,
            resources: 0,
            templates: 0,
        }
    }

    #[track_caller]
    fn check(name: &str, expected: &str) {
        let up = || UpstreamState::Up {
            revision: Revision::LATEST_LEGACY,
            took: Duration::ZERO,
            server_info: Raw::empty_object(),
            found: Found {
                transport: Transport::Stdio,
                how: None,
            },
        };
        let failure = Failure::new(FailureKind::NotFound, "no such program");
        let down = UpstreamState::Down {
            failure: Arc::new(failure),
            attempts: 1,
        };
        let report = [
            server(
                "files",
                &[("read", "files__read"), ("list", "files__list")],
                up(),
            ),
            server(
                "io.x",
                &[("read", "io_x__read"), ("a b", "io_x__a_b")],
                up(),
            ),
            server("dead", &[], down),
            server("off", &[], UpstreamState::Disabled),
        ];
        let left_out = [LeftOut {
            id: "search".into(),
            place: 4,
            transport: Transport::Http,
            kind: "unset_variable",
            reason: "environment variable T is not set".into(),
        }];
        assert_eq!(judge(name, &report, &left_out).reason, expected);
    }

    #[test]
    fn why_a_tool_is_there_or_not() {
        check("files__read", "it is there: tool 'read' of server 'files'");
        check(
            "files/read",
            "tool 'read' of server 'files' is there, under the name files__read",
        );
        check(
            "io.x:a b",
            "tool 'a b' of server 'io.x' is there, under the name io_x__a_b",
        );
        check(
            "list",
            "tool 'list' of server 'files' is there, under the name files__list",
        );
        check("read", "several servers have it: files__read, io_x__read");
        check(
            "files__reed",
            "server 'files' is up and has no tool 'reed'; did you mean read?",
        );
        check("dead__x", "server 'dead' is not up: no such program");
        check(
            "off__x",
            "server 'off' is not up: disabled in the configuration",
        );
        check(
            "search__x",
            "server 'search' cannot be started: environment variable T is not set",
        );
        check(
            "file__read",
            "no server and tool of this name; did you mean files__read?",
        );
    }
}
