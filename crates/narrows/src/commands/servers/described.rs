//! Servers as described by a gateway, formatted for users.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Duration;

use serde::Deserialize;

use crate::commands::up_of;
use crate::terminal::{Palette, Tone, counted, grouped, plain};

#[derive(Debug, Deserialize)]
pub(super) struct ServerList {
    servers: Vec<ServerRow>,
}

/// One server. Unknown properties, such as the tools of a server that is down, may be absent.
#[derive(Debug, Deserialize)]
pub(super) struct ServerRow {
    id: String,
    transport: Option<String>,
    state: String,
    reason: Option<String>,
    next_try_s: Option<f64>,
    attempts: Option<u64>,
    revision: Option<String>,
    took_ms: Option<u64>,
    tools: Option<usize>,
    hidden: Option<usize>,
    /// Present only in the description of a single server.
    #[serde(default)]
    tool_list: Vec<Tool>,
    /// Present only in the description of a single server.
    #[serde(default)]
    stderr: Vec<String>,
    prompts: Option<usize>,
    resources: Option<usize>,
    templates: Option<usize>,
    tokens: Option<usize>,
}

#[derive(Debug, Deserialize)]
struct Tool {
    name: String,
    /// Empty if the tool is not published.
    published: String,
    tokens: usize,
    /// The reason why the tool is hidden.
    denied: Option<String>,
}

impl Tool {
    fn shown_name(&self) -> Cow<'_, str> {
        match self.published.is_empty() {
            true => plain(&self.name),
            false => plain(&self.published),
        }
    }
}

impl ServerList {
    pub(super) fn for_people(&self, palette: Palette) -> String {
        let width = self.servers.iter().map(ServerRow::width).max();
        let width = width.unwrap_or(0);
        let mut text = String::new();
        for server in &self.servers {
            text.push_str(&server.line_of_width(width, palette));
        }
        let up = self.servers.iter().filter(|server| server.state == "up");
        let disabled = self.servers.iter().filter(|server| server.is_disabled());
        let disabled = disabled.count();
        let tools = self
            .servers
            .iter()
            .map(|server| server.tools.unwrap_or(0))
            .sum();
        let tokens = self.servers.iter().filter_map(|server| server.tokens).sum();
        let up = up_of(up.count(), self.servers.len() - disabled, disabled);
        let tools = counted(tools, "tool");
        let _ = writeln!(text, "{up}, {tools}, ~{} tokens", grouped(tokens));
        text
    }
}

impl ServerRow {
    pub(super) fn is_starting(&self) -> bool {
        self.state == "starting"
    }

    /// Returns true if the server cannot be started as configured.
    pub(super) fn is_left_out(&self) -> bool {
        self.state == "left_out"
    }

    /// Returns true if the server failed and is not retried.
    pub(super) fn is_given_up(&self) -> bool {
        self.state == "down" && self.next_try_s.is_none()
    }

    pub(super) fn is_disabled(&self) -> bool {
        self.state == "disabled"
    }

    /// Returns true if the server is in the state that its configuration asks for.
    pub(super) fn is_fine(&self) -> bool {
        self.state == "up" || self.is_disabled()
    }

    /// Formats the server in one line, as `narrows check` does.
    pub(super) fn line(&self, palette: Palette) -> String {
        self.line_of_width(self.width(), palette)
    }

    /// Formats the server with one line per tool.
    pub(super) fn with_tools(&self, palette: Palette) -> String {
        let mut text = self.line(palette);
        let tools = self.tool_list.iter();
        let widths = tools.map(|tool| tool.shown_name().chars().count());
        let width = widths.max().unwrap_or(0);
        for tool in &self.tool_list {
            let name = tool.shown_name();
            let tokens = format!("~{}", grouped(tool.tokens));
            let denied = tool.denied.as_deref().map(plain);
            let denied = denied.map(|why| format!("  hidden: {why}"));
            let denied = denied.unwrap_or_default();
            let _ = writeln!(text, "  {name:<width$}  {tokens:>7}{denied}");
        }
        if !self.stderr.is_empty() {
            text.push_str("  last lines of its stderr:\n");
        }
        for line in &self.stderr {
            let line = palette.paint(Tone::Faint, &plain(line));
            let _ = writeln!(text, "  | {line}");
        }
        text
    }

    fn line_of_width(&self, width: usize, palette: Palette) -> String {
        let tone = match self.state.as_str() {
            "up" => Tone::Good,
            "disabled" => Tone::Faint,
            "starting" => Tone::Uncertain,
            _ => Tone::Bad,
        };
        let word = match self.is_left_out() {
            true => "left out".into(),
            false => plain(&self.state),
        };
        let state = palette.paint(tone, &format!("{word:<8}"));
        let (id, transport) = (plain(&self.id), self.transport.as_deref());
        let transport = plain(transport.unwrap_or_default());
        let line = format!("{state}  {id:<width$}  {transport:<7}  {}", self.summary());
        format!("{}\n", line.trim_end())
    }

    fn summary(&self) -> String {
        if self.state != "up" {
            let mut parts = Vec::new();
            parts.extend(self.reason.as_deref().map(|why| plain(why).into_owned()));
            if let Some(attempts) = self.attempts.filter(|attempts| *attempts > 1) {
                parts.push(format!("tried {attempts} times"));
            }
            parts.extend(self.next_try_s.map(|s| format!("next attempt in {s:.0} s")));
            return parts.join("; ");
        }
        let mut parts = Vec::new();
        let revision = self.revision.as_deref();
        parts.extend(revision.map(|revision| plain(revision).into_owned()));
        let seconds = |ms| Duration::from_millis(ms).as_secs_f64();
        parts.extend(self.took_ms.map(|ms| format!("{:.2} s", seconds(ms))));
        parts.push(counted(self.tools.unwrap_or(0), "tool"));
        let hidden = self.hidden.filter(|hidden| *hidden > 0);
        parts.extend(hidden.map(|hidden| format!("{} hidden", grouped(hidden))));
        let tokens = self.tokens;
        parts.extend(tokens.map(|tokens| format!("~{} tokens", grouped(tokens))));
        let others = [
            (self.prompts, "prompt"),
            (self.resources, "resource"),
            (self.templates, "template"),
        ];
        for (number, word) in others {
            let number = number.filter(|number| *number > 0);
            parts.extend(number.map(|number| counted(number, word)));
        }
        parts.join(", ")
    }

    fn width(&self) -> usize {
        plain(&self.id).chars().count()
    }
}
