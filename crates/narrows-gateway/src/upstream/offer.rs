//! What an upstream offers: its tools, prompts, resources and templates, read
//! page by page and kept as it listed them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use narrows_wire::{Kind, Raw};

use super::link::{LinkError, Outgoing, ServerHello};
use super::{Failure, FailureKind, Link};
use crate::arguments::Checker;
use crate::error::ItemKind;
use crate::permit::KnownUris;
use crate::settings::Limits;

/// A server that never ends its pages must end somewhere.
const MAX_PAGES: usize = 1_000;

#[derive(Debug, Clone, Default)]
pub(crate) struct Offer {
    /// None while the upstream is down.
    pub(crate) hello: Option<ServerHello>,
    pub(crate) tools: Vec<Item>,
    pub(crate) prompts: Vec<Item>,
    pub(crate) resources: Vec<Item>,
    pub(crate) templates: Vec<Item>,
    /// What presets ask of resources and templates.
    pub(crate) uris: KnownUris,
}

/// One listed thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// Its name, URI or URI template.
    pub(crate) key: Box<str>,
    /// The same as it stands in `raw`.
    pub(crate) place: Raw,
    pub(crate) raw: Raw,
    /// What the arguments of a tool are held against.
    pub(crate) checker: Checker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl ListKind {
    pub(crate) const ALL: [ListKind; 4] = [
        ListKind::Tools,
        ListKind::Prompts,
        ListKind::Resources,
        ListKind::Templates,
    ];

    pub(crate) fn method(self) -> &'static str {
        match self {
            ListKind::Tools => "tools/list",
            ListKind::Prompts => "prompts/list",
            ListKind::Resources => "resources/list",
            ListKind::Templates => "resources/templates/list",
        }
    }

    pub(crate) fn of_method(method: &str) -> Option<ListKind> {
        ListKind::ALL
            .into_iter()
            .find(|kind| kind.method() == method)
    }

    /// The member of the answer that holds the items.
    pub(crate) fn member(self) -> &'static str {
        match self {
            ListKind::Tools => "tools",
            ListKind::Prompts => "prompts",
            ListKind::Resources => "resources",
            ListKind::Templates => "resourceTemplates",
        }
    }

    /// What its items are, as far as presets are concerned.
    pub(crate) fn item(self) -> ItemKind {
        match self {
            ListKind::Tools => ItemKind::Tool,
            ListKind::Prompts => ItemKind::Prompt,
            ListKind::Resources | ListKind::Templates => ItemKind::Resource,
        }
    }

    /// The member of an item that tells it from others.
    fn key(self) -> &'static str {
        match self {
            ListKind::Tools | ListKind::Prompts => "name",
            ListKind::Resources => "uri",
            ListKind::Templates => "uriTemplate",
        }
    }

    /// The capability that a server with such a list declares.
    fn capability(self) -> &'static str {
        match self {
            ListKind::Tools => "tools",
            ListKind::Prompts => "prompts",
            ListKind::Resources | ListKind::Templates => "resources",
        }
    }

    /// The notice that such a list has changed.
    pub(crate) fn changed(self) -> &'static str {
        match self {
            ListKind::Tools => "notifications/tools/list_changed",
            ListKind::Prompts => "notifications/prompts/list_changed",
            ListKind::Resources | ListKind::Templates => "notifications/resources/list_changed",
        }
    }
}

/// A set of kinds that several tasks add to and one empties.
#[derive(Debug, Default)]
pub(crate) struct Kinds(AtomicU8);

impl Kinds {
    pub(crate) fn insert(&self, kind: ListKind) {
        self.0.fetch_or(1 << kind as u8, Ordering::AcqRel);
    }

    pub(crate) fn take(&self) -> Vec<ListKind> {
        let bits = self.0.swap(0, Ordering::AcqRel);
        ListKind::ALL
            .into_iter()
            .filter(|kind| bits & (1 << *kind as u8) != 0)
            .collect()
    }
}

impl Offer {
    /// Reads everything that the server says it has, all lists at once.
    pub(crate) async fn read(
        link: &Link,
        hello: ServerHello,
        server: &str,
        limits: &Limits,
        timeout: Duration,
    ) -> Result<Offer, Failure> {
        let list = |kind| read_list(link, &hello, kind, server, limits, timeout);
        let (tools, prompts, resources, templates) = tokio::try_join!(
            list(ListKind::Tools),
            list(ListKind::Prompts),
            list(ListKind::Resources),
            list(ListKind::Templates),
        )?;
        Ok(Offer {
            hello: Some(hello),
            tools,
            prompts,
            resources,
            templates,
            uris: KnownUris::default(),
        })
    }

    /// Reads some lists again.
    pub(crate) async fn reread(
        &self,
        link: &Link,
        kinds: &[ListKind],
        server: &str,
        limits: &Limits,
        timeout: Duration,
    ) -> Result<Offer, Failure> {
        let mut offer = self.clone();
        let Some(hello) = &self.hello else {
            return Ok(offer);
        };
        for kind in kinds {
            *offer.list_mut(*kind) = read_list(link, hello, *kind, server, limits, timeout).await?;
        }
        Ok(offer)
    }

    pub(crate) fn list(&self, kind: ListKind) -> &[Item] {
        match kind {
            ListKind::Tools => &self.tools,
            ListKind::Prompts => &self.prompts,
            ListKind::Resources => &self.resources,
            ListKind::Templates => &self.templates,
        }
    }

    fn list_mut(&mut self, kind: ListKind) -> &mut Vec<Item> {
        match kind {
            ListKind::Tools => &mut self.tools,
            ListKind::Prompts => &mut self.prompts,
            ListKind::Resources => &mut self.resources,
            ListKind::Templates => &mut self.templates,
        }
    }

    pub(crate) fn has(&self, capability: &str) -> bool {
        self.hello
            .as_ref()
            .is_some_and(|hello| has(hello, capability))
    }

    /// Returns true if the lists are the same, whatever else is.
    pub(crate) fn same_lists(&self, other: &Offer) -> bool {
        ListKind::ALL
            .into_iter()
            .all(|kind| self.list(kind) == other.list(kind))
    }
}

/// A capability that is there at all counts, also as `{}`.
fn has(hello: &ServerHello, capability: &str) -> bool {
    hello
        .capabilities
        .member(capability)
        .is_some_and(|value| value.kind() != Kind::Null)
}

async fn read_list(
    link: &Link,
    hello: &ServerHello,
    kind: ListKind,
    server: &str,
    limits: &Limits,
    timeout: Duration,
) -> Result<Vec<Item>, Failure> {
    let mut items = Vec::new();
    if !has(hello, kind.capability()) {
        return Ok(items);
    }
    let mut seen = HashSet::new();
    let mut cursors = HashSet::new();
    let (mut bytes, mut left_out) = (0, 0);
    let mut cursor: Option<Raw> = None;
    for _ in 0..MAX_PAGES {
        let params = cursor
            .as_ref()
            .map(|cursor| Raw::empty_object().with_member("cursor", cursor));
        let page = match link
            .request(Outgoing::own(kind.method(), params, timeout))
            .await
        {
            Ok(page) => page,
            // Some servers declare resources and know no templates, or the like.
            Err(LinkError::Answered(error)) => {
                tracing::debug!(
                    server,
                    method = kind.method(),
                    error = error.as_str(),
                    "a list was refused"
                );
                break;
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
        for raw in list.elements() {
            bytes += raw.len();
            if items.len() >= limits.max_items_per_list || bytes > limits.max_message_bytes {
                tracing::warn!(
                    server,
                    method = kind.method(),
                    items = items.len(),
                    "the list is too long; the rest is left out"
                );
                return Ok(items);
            }
            match Item::read(kind, raw) {
                Some(item) if seen.insert(item.key.clone()) => items.push(item),
                _ => left_out += 1,
            }
        }
        match next.filter(|next| next.kind() == Kind::String) {
            // A cursor that comes again would never end.
            Some(next) if cursors.insert(next.detached()) => cursor = Some(next.detached()),
            _ => break,
        }
    }
    if left_out > 0 {
        // Once for all: a server could fill the log otherwise.
        tracing::warn!(
            server,
            method = kind.method(),
            left_out,
            "items without a {} or listed twice are left out",
            kind.key()
        );
    }
    Ok(items)
}

impl Item {
    pub(crate) fn read(kind: ListKind, raw: Raw) -> Option<Item> {
        // A copy of its own: a slice would keep the whole page, which may hold
        // much that is no item.
        let raw = raw.detached();
        let [place] = raw.pick([kind.key()]).ok()?;
        let place = place?;
        let key = place.as_text()?.into();
        let schema = raw
            .member("inputSchema")
            .filter(|_| kind == ListKind::Tools);
        Some(Item {
            key,
            place,
            checker: Checker::new(schema.as_ref()),
            raw,
        })
    }
}
