//! The tools, prompts, resources and templates of an upstream, kept as it
//! listed them. [`read`] reads them page by page.

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
    /// None while the upstream is down.
    pub hello: Option<ServerHello>,
    pub tools: Vec<Item>,
    pub prompts: Vec<Item>,
    pub resources: Vec<Item>,
    pub templates: Vec<Item>,
    /// Computed from the lists by their user.
    pub derived: Derived,
    /// Items of each list that lead back to this gateway, and are left out.
    pub led_back: [usize; ListKind::ALL.len()],
}

/// One listed thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its name, URI or URI template.
    pub key: Box<str>,
    /// The same as it stands in `raw`.
    pub place: Raw,
    pub raw: Raw,
    /// Computed from the item by its user.
    pub derived: Derived,
    /// The marks of the gateways that passed it on. They are not in `raw`.
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

    /// The member of the answer that holds the items.
    pub fn member(self) -> &'static str {
        match self {
            ListKind::Tools => "tools",
            ListKind::Prompts => "prompts",
            ListKind::Resources => "resources",
            ListKind::Templates => "resourceTemplates",
        }
    }

    /// The kind of its items for presets.
    pub fn item(self) -> ItemKind {
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
    pub fn changed(self) -> &'static str {
        match self {
            ListKind::Tools => "notifications/tools/list_changed",
            ListKind::Prompts => "notifications/prompts/list_changed",
            ListKind::Resources | ListKind::Templates => "notifications/resources/list_changed",
        }
    }
}

/// A set of kinds that several tasks add to and one empties.
#[derive(Debug, Default)]
pub struct Kinds(AtomicU8);

impl Kinds {
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
    /// Reads everything that the server says it has, all lists at once.
    pub async fn read(reader: ListReader<'_>, hello: ServerHello) -> Result<Offer, Failure> {
        // Boxed: the supervisor holds this future as long as its server runs.
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

    /// Reads some lists again.
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
        self.led_back[kind as usize] = list.led_back;
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

    /// Returns true if the lists are the same, whatever else is.
    pub fn same_lists(&self, other: &Offer) -> bool {
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

impl Item {
    /// The number of gateways that passed it on.
    pub fn hops(&self) -> usize {
        via::hops(self.via.as_deref())
    }

    pub fn read(kind: ListKind, raw: Raw) -> Option<Item> {
        // A copy of its own: a slice would keep the whole page, which may hold
        // much that is no item.
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
