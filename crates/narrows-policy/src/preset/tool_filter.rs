//! Tool lists in a server's own configuration entry, as clients write them (`disabledTools`,
//! `includeTools`, ...). They apply to tools only, in addition to every preset.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{Denial, DenialReason, DenialSource};

/// The tools of one server that may be used, independently of the preset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// A tool must be in each of these lists.
    allow: Vec<ToolList>,
    /// A tool must be in none of these lists.
    exclude: Vec<ToolList>,
}

/// A list of tools and its path in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolList {
    place: Arc<str>,
    names: BTreeSet<Box<str>>,
}

/// The entry that matches every tool.
const ALL: &str = "*";

impl ToolFilter {
    /// Adds a list of the only tools that may be used.
    pub fn allow(&mut self, list: ToolList) {
        self.allow.push(list);
    }

    /// Adds a list of tools that may not be used.
    pub fn exclude(&mut self, list: ToolList) {
        self.exclude.push(list);
    }

    /// Returns the names that match none of the server's tools, each with the path of its list.
    /// They are probably misspelt.
    pub fn unknown_names<'f>(&'f self, tools: &[&str]) -> Vec<(&'f str, &'f str)> {
        let lists = self.allow.iter().chain(&self.exclude);
        let names = lists.flat_map(|list| list.names.iter().map(|name| (&*list.place, &**name)));
        names
            .filter(|(_, name)| *name != ALL && !tools.contains(name))
            .collect()
    }

    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.exclude.is_empty()
    }

    /// Returns the reason why a tool, given by its server's own name, may not be used; `None` if it
    /// may. Exclusion takes precedence over inclusion.
    pub fn denies(&self, name: &str) -> Option<Denial> {
        let excluded = self.exclude.iter().find(|list| list.names(name));
        let excluded = excluded.map(|list| (list, DenialReason::Excluded));
        let not_allowed = || self.allow.iter().find(|list| !list.names(name));
        let (list, why) =
            excluded.or_else(|| not_allowed().map(|list| (list, DenialReason::NotIncluded)))?;
        Some(Denial {
            source: DenialSource::ToolList(list.place.clone()),
            why,
        })
    }
}

impl ToolList {
    /// Creates a list. `place` is its path in the configuration file.
    pub fn new(place: &str, names: impl IntoIterator<Item = impl Into<Box<str>>>) -> ToolList {
        ToolList {
            place: place.into(),
            names: names.into_iter().map(Into::into).collect(),
        }
    }

    fn names(&self, tool: &str) -> bool {
        self.names.contains(ALL) || self.names.contains(tool)
    }
}

/// The filters of all servers that have one, by server index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilters(HashMap<usize, ToolFilter>);

impl ToolFilters {
    pub fn of(&self, upstream: usize) -> Option<&ToolFilter> {
        self.0.get(&upstream)
    }
}

impl<'a> FromIterator<(usize, &'a ToolFilter)> for ToolFilters {
    fn from_iter<I: IntoIterator<Item = (usize, &'a ToolFilter)>>(filters: I) -> Self {
        let filters = filters.into_iter().filter(|(_, filter)| !filter.is_empty());
        ToolFilters(
            filters
                .map(|(upstream, filter)| (upstream, filter.clone()))
                .collect(),
        )
    }
}
