//! Reading the lists of a server, page by page.

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

/// A server that never ends its pages must end somewhere.
const MAX_PAGES: usize = 1_000;

/// Definitions that nest deeper are left out: parsers of many clients recurse,
/// and one such item would make the joined list unreadable to them.
const MAX_DEPTH: usize = 100;

/// Reads the lists of one server.
#[derive(Clone, Copy)]
pub struct ListReader<'a> {
    pub link: &'a Link,
    /// As it is named in the log.
    pub server: &'a str,
    pub limits: &'a Limits,
    /// For each page.
    pub timeout: Duration,
    /// The mark of this gateway.
    pub mark: &'a str,
    pub secrets: &'a Secrets,
}

/// The items of one list that can be used.
#[derive(Default)]
pub(super) struct ReadList {
    pub(super) items: Vec<Item>,
    /// Items that lead back to this gateway.
    pub(super) led_back: usize,
    /// Items without a key, or listed twice.
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
        for _ in 0..MAX_PAGES {
            let Some((page, next)) = self.page(kind, cursor.as_ref()).await? else {
                break;
            };
            for raw in page.elements() {
                bytes += raw.len();
                let is_full = list.items.len() >= self.limits.max_items_per_list;
                if is_full || bytes > self.limits.max_message_bytes {
                    tracing::warn!(
                        server = self.server,
                        method = kind.method(),
                        items = list.items.len(),
                        "the list is too long; the rest is left out"
                    );
                    return Ok(list);
                }
                list.add(kind, raw, self.mark, &mut seen);
            }
            match next.filter(|next| next.kind() == Kind::String) {
                // A cursor that comes again would never end.
                Some(next) if cursors.insert(next.detached()) => cursor = Some(next.detached()),
                _ => break,
            }
        }
        list.warn(self.server, kind);
        Ok(list)
    }

    /// Asks for one page: its items, and the cursor of the next one. `None` if
    /// the server refuses the list.
    async fn page(
        self,
        kind: ListKind,
        cursor: Option<&Raw>,
    ) -> Result<Option<(Raw, Option<Raw>)>, Failure> {
        let params = cursor.map(|cursor| Raw::empty_object().with_member("cursor", cursor));
        let asked = Outgoing::own(kind.method(), params, self.timeout);
        let page = match self.link.request(asked).await {
            Ok(page) => page,
            // Some servers declare resources and know no templates, or the like.
            Err(LinkError::Answered(error)) => {
                tracing::debug!(
                    server = self.server,
                    method = kind.method(),
                    error = self.secrets.redact(error.as_str().to_owned()),
                    "a list was refused"
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
            .map_err(|_| broken("names a member twice"))?;
        let list = list
            .filter(|list| list.kind() == Kind::Array)
            .ok_or_else(|| broken("has no list"))?;
        Ok(Some((list, next)))
    }
}

impl ReadList {
    /// Adds an item. `seen` has the positions of those so far by their keys.
    fn add(&mut self, kind: ListKind, raw: Raw, mark: &str, seen: &mut HashMap<Box<str>, usize>) {
        if is_deeper(&raw, MAX_DEPTH) {
            self.too_deep += 1;
            return;
        }
        let leads_back = |item: &Item| {
            let via = item.via.as_ref();
            via.is_some_and(|via| via::leads_back(via, mark))
        };
        let item = match Item::read(kind, raw) {
            Some(item) if leads_back(&item) => {
                self.led_back += 1;
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
            // A gateway lists the same template of several servers. Of these
            // the nearest counts: gateways in a ring that took the first one
            // would change their lists in turn without end.
            Entry::Occupied(place) => match self.items.get_mut(*place.get()) {
                Some(other) if other.hops() > item.hops() => *other = item,
                Some(other) if other.hops() < item.hops() => {}
                _ => self.unusable += 1,
            },
        }
    }

    /// Logs what was left out, once for all items: a server could fill the log
    /// otherwise.
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

/// Returns true if a value nests deeper than so many levels.
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
