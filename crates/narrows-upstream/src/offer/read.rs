//! Reads the lists of a server, page by page.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::collections::hash_map::{Entry, HashMap};
use std::time::Duration;

use narrows_wire::{Kind, Raw};

use super::{Item, ListKind, has};
use crate::chain::via;
use crate::failure::LinkError;
use crate::failure::{Failure, FailureKind};
use crate::handshake::ServerHello;
use crate::link::Link;
use crate::request::Outgoing;
use crate::secrets::Secrets;
use crate::settings::Limits;

/// The maximum number of pages. Without a limit, a server could return cursors without end.
const MAX_PAGES: usize = 1_000;

/// The maximum nesting depth of definitions. Deeper ones are left out: the parsers of many clients
/// are recursive, and one such item would make the combined list unreadable to them.
const MAX_DEPTH: usize = 100;

/// A reader for the lists of one server.
#[derive(Clone, Copy)]
pub struct ListReader<'a> {
    pub link: &'a Link,
    /// The name of the server in the log.
    pub server: &'a str,
    pub limits: &'a Limits,
    /// The time limit for each page.
    pub timeout: Duration,
    /// The mark of this gateway.
    pub mark: &'a str,
    pub secrets: &'a Secrets,
}

/// The usable items of one list.
#[derive(Default)]
pub(super) struct ReadList {
    pub(super) items: Vec<Item>,
    /// The number of items that lead back to this gateway.
    pub(super) looped: usize,
    /// The number of items without a key, or with a duplicate one.
    unusable: usize,
    too_deep: usize,
}

impl ListReader<'_> {
    pub(super) async fn read(
        self,
        hello: &ServerHello,
        kind: ListKind,
    ) -> Result<ReadList, Failure> {
        let mut list = ReadList::default();
        if !has(hello, kind.capability()) {
            return Ok(list);
        }
        let mut seen = HashMap::new();
        let mut cursors = HashSet::new();
        let mut bytes = 0;
        let mut cursor: Option<Raw> = None;
        let mut pages = 0;
        let is_complete = 'pages: loop {
            let Some((page, next)) = self.page(kind, cursor.as_ref()).await? else {
                break true;
            };
            pages += 1;
            for raw in page.elements() {
                bytes += raw.len();
                let is_full = list.items.len() >= self.limits.max_items_per_list;
                if is_full || bytes > self.limits.max_message_bytes {
                    break 'pages false;
                }
                if kind != ListKind::Tools || self.link.accepts_tool(&raw) {
                    list.add(kind, raw, self.mark, &mut seen);
                }
            }
            match next.filter(|next| next.kind() == Kind::String) {
                // A repeated cursor would lead to an endless loop.
                Some(_) if pages == MAX_PAGES => break false,
                Some(next) if cursors.insert(next.detached()) => cursor = Some(next.detached()),
                _ => break true,
            }
        };
        if !is_complete {
            tracing::warn!(
                server = self.server,
                method = kind.method(),
                items = list.items.len(),
                pages,
                "the list is too long; the rest is left out"
            );
        }
        list.warn(self.server, kind);
        Ok(list)
    }

    /// Requests one page. Returns its items and the cursor of the next page, or `None` if the
    /// server rejects the request.
    async fn page(
        self,
        kind: ListKind,
        cursor: Option<&Raw>,
    ) -> Result<Option<(Raw, Option<Raw>)>, Failure> {
        let params = cursor.map(|cursor| Raw::empty_object().with_member("cursor", cursor));
        let asked = Outgoing::own(kind.method(), params, self.timeout);
        let page = match self.link.request(asked).await {
            Ok(page) => page,
            // For example, some servers declare resources but do not support templates.
            Err(LinkError::Answered(error)) => {
                tracing::debug!(
                    server = self.server,
                    method = kind.method(),
                    error = self.secrets.redact(error.as_str().to_owned()),
                    "the server refused a list request"
                );
                return Ok(None);
            }
            Err(error) => return Err(error.into_failure(kind.method())),
        };
        let broken = |what| {
            Failure::new(
                FailureKind::Protocol,
                format!("its answer to {} {what}", kind.method()),
            )
        };
        let [list, next] = page
            .pick([kind.member(), "nextCursor"])
            .map_err(|_| broken("contains a member twice"))?;
        let list = list
            .filter(|list| list.kind() == Kind::Array)
            .ok_or_else(|| broken("has no list"))?;
        Ok(Some((list, next)))
    }
}

impl ReadList {
    /// Adds an item. `seen` maps the keys of earlier items to their positions.
    fn add(&mut self, kind: ListKind, raw: Raw, mark: &str, seen: &mut HashMap<Box<str>, usize>) {
        if is_deeper(&raw, MAX_DEPTH) {
            self.too_deep += 1;
            return;
        }
        let is_looped = |item: &Item| {
            let via = item.via.as_ref();
            via.is_some_and(|via| via::is_looped(via, mark))
        };
        let item = match Item::read(kind, raw) {
            Some(item) if is_looped(&item) => {
                self.looped += 1;
                return;
            }
            Some(item) => item,
            None => {
                self.unusable += 1;
                return;
            }
        };
        match seen.entry(item.key.clone()) {
            Entry::Vacant(place) => {
                place.insert(self.items.len());
                self.items.push(item);
            }
            // A gateway lists the same template of several servers. The nearest one is kept: if
            // gateways in a ring kept the first one, they would change their lists in turn without
            // end.
            Entry::Occupied(place) => match self.items.get_mut(*place.get()) {
                Some(other) if other.hops() > item.hops() => *other = item,
                Some(other) if other.hops() < item.hops() => {}
                _ => self.unusable += 1,
            },
        }
    }

    /// Logs the number of items left out, because a server could flood the log with one message per
    /// item.
    fn warn(&self, server: &str, kind: ListKind) {
        let method = kind.method();
        if self.unusable > 0 {
            tracing::warn!(
                server,
                method,
                left_out = self.unusable,
                "items without a {} or listed twice are left out",
                kind.key()
            );
        }
        if self.too_deep > 0 {
            tracing::warn!(
                server,
                method,
                left_out = self.too_deep,
                "items whose definitions nest deeper than {MAX_DEPTH} levels are left out"
            );
        }
    }
}

/// Returns true if the nesting depth of the value exceeds `levels`.
fn is_deeper(raw: &Raw, levels: usize) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in raw.as_bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                if depth > levels {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}
