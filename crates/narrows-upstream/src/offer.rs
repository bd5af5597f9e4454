//! The tools, prompts, resources and templates of an upstream, stored as listed. [`read`] reads
//! them page by page.

mod derived;
mod read;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use narrows_wire::{ItemKind, Kind, Raw};

use self::derived::Derived;
pub use self::read::ListReader;
use self::read::ReadList;
use crate::chain::via;
use crate::failure::Failure;
use crate::handshake::ServerHello;

#[derive(Debug, Clone, Default)]
pub struct Offer {
    /// The server's response to `initialize`. `None` while the upstream is down.
    pub hello: Option<ServerHello>,
    pub tools: Vec<Item>,
    pub prompts: Vec<Item>,
    pub resources: Vec<Item>,
    pub templates: Vec<Item>,
    /// A value that the gateway derives from the lists.
    pub derived: Derived,
    /// The number of items in each list that were left out because they lead back to this gateway.
    pub looped: [usize; ListKind::ALL.len()],
}

/// One item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The name, URI or URI template of the item.
    pub key: Box<str>,
    /// The same value as a slice of `raw`.
    pub place: Raw,
    pub raw: Raw,
    /// A value that the gateway derives from the item.
    pub derived: Derived,
    /// The marks of the gateways that forwarded the item. They are removed from `raw`.
    pub via: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl ListKind {
    pub const ALL: [ListKind; 4] = [
        ListKind::Tools,
        ListKind::Prompts,
        ListKind::Resources,
        ListKind::Templates,
    ];

    pub fn method(self) -> &'static str {
        match self {
            ListKind::Tools => "tools/list",
            ListKind::Prompts => "prompts/list",
            ListKind::Resources => "resources/list",
            ListKind::Templates => "resources/templates/list",
        }
    }

    pub fn of_method(method: &str) -> Option<ListKind> {
        ListKind::ALL
            .into_iter()
            .find(|kind| kind.method() == method)
    }

    /// Returns the member of the result that contains the items.
    pub fn member(self) -> &'static str {
        match self {
            ListKind::Tools => "tools",
            ListKind::Prompts => "prompts",
            ListKind::Resources => "resources",
            ListKind::Templates => "resourceTemplates",
        }
    }

    /// Returns the kind of the items in presets.
    pub fn item(self) -> ItemKind {
        match self {
            ListKind::Tools => ItemKind::Tool,
            ListKind::Prompts => ItemKind::Prompt,
            ListKind::Resources | ListKind::Templates => ItemKind::Resource,
        }
    }

    /// Returns the member that identifies an item.
    fn key(self) -> &'static str {
        match self {
            ListKind::Tools | ListKind::Prompts => "name",
            ListKind::Resources => "uri",
            ListKind::Templates => "uriTemplate",
        }
    }

    /// Returns the capability that a server with this list declares.
    fn capability(self) -> &'static str {
        match self {
            ListKind::Tools => "tools",
            ListKind::Prompts => "prompts",
            ListKind::Resources | ListKind::Templates => "resources",
        }
    }

    /// Returns the notification that announces a change to this list.
    pub fn changed(self) -> &'static str {
        match self {
            ListKind::Tools => "notifications/tools/list_changed",
            ListKind::Prompts => "notifications/prompts/list_changed",
            ListKind::Resources | ListKind::Templates => "notifications/resources/list_changed",
        }
    }
}

/// A set of list kinds to which several tasks add, and which one task empties.
#[derive(Debug, Default)]
pub struct ListKindSet(AtomicU8);

impl ListKindSet {
    pub fn insert(&self, kind: ListKind) {
        self.0.fetch_or(1 << kind as u8, Ordering::AcqRel);
    }

    pub fn take(&self) -> Vec<ListKind> {
        let bits = self.0.swap(0, Ordering::AcqRel);
        ListKind::ALL
            .into_iter()
            .filter(|kind| bits & (1 << *kind as u8) != 0)
            .collect()
    }
}

impl Offer {
    /// Reads all lists that the server declares, concurrently.
    pub async fn read(reader: ListReader<'_>, hello: ServerHello) -> Result<Offer, Failure> {
        // Boxed, because the supervisor holds this future as long as its server runs.
        let list = |kind| Box::pin(reader.read(&hello, kind));
        let lists = tokio::try_join!(
            list(ListKind::Tools),
            list(ListKind::Prompts),
            list(ListKind::Resources),
            list(ListKind::Templates),
        )?;
        let (tools, prompts, resources, templates) = lists;
        let mut offer = Offer {
            hello: Some(hello),
            ..Offer::default()
        };
        for (kind, list) in ListKind::ALL
            .into_iter()
            .zip([tools, prompts, resources, templates])
        {
            offer.set(kind, list);
        }
        Ok(offer)
    }

    /// Reads the given lists again.
    pub async fn reread(
        &self,
        reader: ListReader<'_>,
        kinds: &[ListKind],
    ) -> Result<Offer, Failure> {
        let mut offer = self.clone();
        let Some(hello) = &self.hello else {
            return Ok(offer);
        };
        for kind in kinds {
            let list = Box::pin(reader.read(hello, *kind)).await?;
            offer.set(*kind, list);
        }
        Ok(offer)
    }

    fn set(&mut self, kind: ListKind, list: ReadList) {
        *self.list_mut(kind) = list.items;
        self.looped[kind as usize] = list.looped;
    }

    pub fn list(&self, kind: ListKind) -> &[Item] {
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

    pub fn has(&self, capability: &str) -> bool {
        self.hello
            .as_ref()
            .is_some_and(|hello| has(hello, capability))
    }

    /// Returns true if all lists are equal.
    pub fn same_lists(&self, other: &Offer) -> bool {
        ListKind::ALL
            .into_iter()
            .all(|kind| self.list(kind) == other.list(kind))
    }
}

/// Returns true if the server declares the capability with any value except `null`.
fn has(hello: &ServerHello, capability: &str) -> bool {
    hello
        .capabilities
        .member(capability)
        .is_some_and(|value| value.kind() != Kind::Null)
}

impl Item {
    /// Returns the number of gateways that forwarded the item.
    pub fn hops(&self) -> usize {
        via::hops(self.via.as_deref())
    }

    pub fn read(kind: ListKind, raw: Raw) -> Option<Item> {
        // Copied, because a slice would keep the whole page in memory, which may contain much other
        // data.
        let via = via::of(&raw);
        let raw = match via {
            Some(_) => via::without(&raw),
            None => raw.detached(),
        };
        let [place] = raw.pick([kind.key()]).ok()?;
        let place = place?;
        let key = place.as_text()?.into();
        Some(Item {
            key,
            place,
            derived: Derived::default(),
            via,
            raw,
        })
    }
}
