//! Digests of tool definitions, used to detect servers that change them.
//!
//! A client or its user may have approved a tool because of its description. Digests are kept until
//! the gateway exits or the server is removed from the configuration, including over restarts and
//! reconnects of the server. Added and removed tools do not count as changes.

use std::collections::HashMap;
use std::time::Duration;

use narrows_wire::text::hex;
use narrows_wire::{Kind, Raw};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::Upstream;
use crate::exchange::Asks;
use crate::hooks::ToolChange;
use crate::offer::{Item, Offer};

/// The maximum number of remembered tools of all servers. Further tools are not compared.
const MAX_TOOLS: usize = 50_000;

/// The maximum number of reported changes per server within [`WINDOW`]. Further changes are only
/// counted.
const MAX_REPORTS: u32 = 20;
const WINDOW: Duration = Duration::from_secs(60);

/// Values nested deeper than this are compared byte by byte.
const MAX_DEPTH: usize = 64;

/// The members whose changes are reported by name. All others are reported as `other`.
const MEMBERS: [&str; 8] = [
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "execution",
    "icons",
    "_meta",
];
const OTHER: &str = "other";

type Digest = [u8; 32];

/// The definitions of all servers' tools.
#[derive(Default)]
pub struct Definitions(Mutex<SeenDefinitions>);

#[derive(Default)]
struct SeenDefinitions {
    /// Definitions by server number and client capabilities, because servers may offer different
    /// tools to different clients.
    servers: HashMap<(usize, Asks), HashMap<Box<str>, ToolDigests>>,
    tools: usize,
    /// True once the log reports that there are too many tools.
    is_full: bool,
    reports: HashMap<usize, ReportWindow>,
}

/// The digests of one tool definition.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ToolDigests {
    whole: Digest,
    /// One digest for each of [`MEMBERS`], and one for all other members together. `None` if the
    /// tool has no such member.
    members: Box<[Option<Digest>; MEMBERS.len() + 1]>,
}

/// Counts the reports about one server in the current time window.
struct ReportWindow {
    since: Instant,
    count: u32,
    left_out: u64,
}

/// A tool whose definition has changed.
#[derive(Debug, PartialEq, Eq)]
struct DefinitionChange {
    tool: Box<str>,
    old: Digest,
    new: Digest,
    members: Vec<&'static str>,
}

impl Upstream {
    /// Compares tools with their last known definitions, and reports changes.
    pub fn report_changed_definitions(&self, asks: Asks, offer: &Offer) {
        let definitions = &self.context.definitions;
        for change in definitions.compare((self.index, asks), &offer.tools) {
            match definitions.may_report(self.index) {
                Some(left_out) => self.report(change, left_out),
                None => self.observer.tool_changed(None),
            }
        }
    }

    fn report(&self, change: DefinitionChange, left_out: u64) {
        let DefinitionChange {
            tool,
            old,
            new,
            members,
        } = change;
        let tool: String = tool.chars().take(200).collect();
        let (old, new) = (hex(&old), hex(&new));
        let left_out = (left_out > 0).then_some(left_out);
        tracing::warn!(
            server = %self.settings.id,
            tool,
            changed = members.join(", "),
            old,
            new,
            left_out,
            "the server changed the definition of a tool after it was first seen"
        );
        let payload = Raw::from_serialize(&serde_json::json!({
            "server": self.settings.id,
            "tool": tool,
            "changed": members,
            "old": old,
            "new": new,
        }));
        tracing::warn!(
            target: "narrows::event",
            event = "downstream.tool.changed",
            payload = payload.as_str()
        );
        self.observer.tool_changed(Some(ToolChange {
            tool,
            members,
            old,
            new,
        }));
    }
}

impl Definitions {
    /// Returns the tools whose definitions have changed since the last comparison.
    fn compare(&self, server: (usize, Asks), tools: &[Item]) -> Vec<DefinitionChange> {
        // Computed before the lock is taken, because schemas may be long.
        let read: Vec<(&str, ToolDigests)> = tools
            .iter()
            .map(|item| (&*item.key, ToolDigests::of(&item.raw)))
            .collect();
        let mut seen = self.0.lock();
        let SeenDefinitions {
            servers,
            tools,
            is_full,
            ..
        } = &mut *seen;
        let known = servers.entry(server).or_default();
        let mut changes = Vec::new();
        for (name, new) in read {
            match known.get_mut(name) {
                Some(old) if *old == new => {}
                Some(old) => {
                    let old = std::mem::replace(old, new.clone());
                    changes.push(DefinitionChange {
                        tool: name.into(),
                        old: old.whole,
                        new: new.whole,
                        members: old.differences(&new),
                    });
                }
                None if *tools >= MAX_TOOLS => {
                    if !std::mem::replace(is_full, true) {
                        tracing::warn!(
                            "only the first {MAX_TOOLS} tool definitions are monitored for changes"
                        );
                    }
                }
                None => {
                    *tools += 1;
                    known.insert(name.into(), new);
                }
            }
        }
        changes
    }

    /// Forgets the tools of a removed server.
    pub fn forget(&self, server: usize) {
        let mut seen = self.0.lock();
        seen.servers.retain(|(own, _), _| *own != server);
        seen.tools = seen.servers.values().map(HashMap::len).sum();
        seen.is_full &= seen.tools >= MAX_TOOLS;
        seen.reports.remove(&server);
    }

    /// Returns the number of changes left out since the last report if another one may be reported,
    /// otherwise `None`. The limit keeps a server from flooding the log.
    fn may_report(&self, server: usize) -> Option<u64> {
        let now = Instant::now();
        let mut seen = self.0.lock();
        let window = seen.reports.entry(server).or_insert(ReportWindow {
            since: now,
            count: 0,
            left_out: 0,
        });
        if now.duration_since(window.since) > WINDOW {
            window.since = now;
            window.count = 0;
        }
        if window.count >= MAX_REPORTS {
            window.left_out += 1;
            return None;
        }
        window.count += 1;
        Some(std::mem::take(&mut window.left_out))
    }
}

impl ToolDigests {
    fn of(tool: &Raw) -> ToolDigests {
        let mut hashes: Box<[Option<Sha256>; MEMBERS.len() + 1]> = Box::default();
        let mut all: Vec<_> = tool.members().collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        for (name, value) in all {
            let place = MEMBERS.iter().position(|member| *member == name);
            let place = place.unwrap_or(MEMBERS.len());
            let hash = hashes[place].get_or_insert_default();
            add_text(hash, &name);
            add_value(hash, &value, 0);
        }
        let members = hashes.map(|hash| hash.map(|hash| Digest::from(hash.finalize())));
        let mut whole = Sha256::new();
        for member in &members {
            whole.update([u8::from(member.is_some())]);
            whole.update(member.unwrap_or_default());
        }
        ToolDigests {
            whole: whole.finalize().into(),
            members: Box::new(members),
        }
    }

    /// Returns the names of the members that differ.
    fn differences(&self, other: &ToolDigests) -> Vec<&'static str> {
        let names = MEMBERS.into_iter().chain([OTHER]);
        let pairs = self.members.iter().zip(other.members.iter());
        names
            .zip(pairs)
            .filter(|(_, (one, other))| one != other)
            .map(|(name, _)| name)
            .collect()
    }
}

/// Hashes a value independently of white space and of the order of members, because some servers
/// write their maps in random order.
fn add_value(hash: &mut Sha256, value: &Raw, depth: usize) {
    match value.kind() {
        Kind::Object if depth < MAX_DEPTH => {
            let mut members: Vec<_> = value.members().collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            hash.update(b"{");
            for (name, value) in members {
                add_text(hash, &name);
                add_value(hash, &value, depth + 1);
            }
            hash.update(b"}");
        }
        Kind::Array if depth < MAX_DEPTH => {
            hash.update(b"[");
            for element in value.elements() {
                add_value(hash, &element, depth + 1);
            }
            hash.update(b"]");
        }
        Kind::String => add_text(hash, &value.as_text().unwrap_or_default()),
        _ => {
            hash.update(value.as_bytes());
            hash.update(b",");
        }
    }
}

/// Hashes a text with its length, so that adjacent texts cannot be confused.
fn add_text(hash: &mut Sha256, text: &str) {
    hash.update(b"\"");
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::ListKind;

    fn items(tools: &[&str]) -> Vec<Item> {
        let item = |tool: &&str| {
            let raw = Raw::parse(tool.to_string().into()).expect("a test's JSON");
            Item::read(ListKind::Tools, raw).expect("a tool")
        };
        tools.iter().map(item).collect()
    }

    /// Checks the changes between two lists, formatted as `tool: member, member`.
    #[track_caller]
    fn check(old: &[&str], new: &[&str], expected: &[&str]) {
        let definitions = Definitions::default();
        let server = (0, Asks::default());
        assert_eq!(definitions.compare(server, &items(old)), []);
        let changes = definitions.compare(server, &items(new));
        let shown: Vec<String> = changes
            .iter()
            .map(|change| format!("{}: {}", change.tool, change.members.join(", ")))
            .collect();
        assert_eq!(shown, expected);
        assert_eq!(definitions.compare(server, &items(new)), [], "told once");
    }

    #[test]
    fn changed_members_are_listed() {
        check(
            &[r#"{"name":"a","description":"x","inputSchema":{"type":"object"}}"#],
            &[
                r#"{"name":"a","description":"y","inputSchema":{"type":"object","a":1},"annotations":{}}"#,
            ],
            &["a: description, inputSchema, annotations"],
        );
        check(
            &[r#"{"name":"a","description":"x","more":1}"#],
            &[r#"{"name":"a","more":2}"#],
            &["a: description, other"],
        );
    }

    #[test]
    fn order_and_white_space_are_not_changes() {
        check(
            &[r#"{"name":"a","inputSchema":{"type":"object","properties":{"b":{},"c":{}}}}"#],
            &[
                r#"{ "inputSchema": {"properties":{"c":{}, "b":{}},"type":"\u006fbject"}, "name":"a"}"#,
            ],
            &[],
        );
    }

    #[test]
    fn only_tools_that_return_changed_are_reported() {
        check(&[r#"{"name":"a"}"#], &[r#"{"name":"b"}"#], &[]);
        let definitions = Definitions::default();
        let server = (0, Asks::default());
        let compare = |tools: &[&str]| definitions.compare(server, &items(tools)).len();
        assert_eq!(compare(&[r#"{"name":"a","description":"x"}"#]), 0);
        assert_eq!(compare(&[]), 0);
        assert_eq!(compare(&[r#"{"name":"a","description":"y"}"#]), 1);
    }

    #[test]
    fn removed_server_is_forgotten() {
        let definitions = Definitions::default();
        let (first, other) = ((1, Asks::default()), (2, Asks::default()));
        definitions.compare(first, &items(&[r#"{"name":"a"}"#]));
        definitions.0.lock().tools = MAX_TOOLS;
        let changed = |server| {
            let old = items(&[r#"{"name":"a"}"#]);
            let new = items(&[r#"{"name":"a","description":"x"}"#]);
            definitions.compare(server, &old);
            definitions.compare(server, &new).len()
        };
        assert_eq!(changed(other), 0, "there is no room");
        definitions.forget(1);
        assert_eq!(changed(other), 1);
        assert_eq!(definitions.0.lock().tools, 1);
    }

    #[test]
    fn deep_values_do_not_overflow_the_stack() {
        let deep = |end: &str| {
            let (open, close) = ("[".repeat(5_000), "]".repeat(5_000));
            format!(r#"{{"name":"a","inputSchema":{open}{end}{close}}}"#)
        };
        let (old, new) = (deep("1"), deep("2"));
        check(&[&old], &[&new], &["a: inputSchema"]);
    }

    #[tokio::test(start_paused = true)]
    async fn reports_are_limited_and_the_rest_is_counted() {
        let definitions = Definitions::default();
        for _ in 0..MAX_REPORTS {
            assert_eq!(definitions.may_report(1), Some(0));
        }
        for _ in 0..5 {
            assert_eq!(definitions.may_report(1), None);
        }
        assert_eq!(definitions.may_report(2), Some(0));
        tokio::time::advance(WINDOW + Duration::from_secs(1)).await;
        assert_eq!(definitions.may_report(1), Some(5));
    }
}
