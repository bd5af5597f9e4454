//! Lists of tools in a server's own entry of the configuration, as clients
//! write them (`disabledTools`, `includeTools`, ...). They bind besides every
//! preset and speak of tools only.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{Denial, DenialSource, Why};

/// The tools of one server that may be used, whatever preset is in force.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// Each of them must name a tool.
    allow: Vec<ToolList>,
    /// None of them may name it.
    exclude: Vec<ToolList>,
}

/// One list and the place in the configuration where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolList {
    place: Arc<str>,
    names: BTreeSet<Box<str>>,
}

/// The entry of a list that stands for every tool.
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

    /// Returns the names that are none of the server's tools, each with the
    /// place of its list: they are most likely misspelt.
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

    /// Returns the reason why a tool may not be used, by its server's own name
    /// for it; `None` if it may. Exclusion goes before inclusion.
    pub fn denies(&self, name: &str) -> Option<Denial> {
        let excluded = self.exclude.iter().find(|list| list.names(name));
        let excluded = excluded.map(|list| (list, Why::Excluded));
        let not_allowed = || self.allow.iter().find(|list| !list.names(name));
        let (list, why) =
            excluded.or_else(|| not_allowed().map(|list| (list, Why::NotIncluded)))?;
        Some(Denial {
            source: DenialSource::ToolList(list.place.clone()),
            why,
        })
    }
}

impl ToolList {
    /// `place` is the path of the list in the configuration file.
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

/// The filters of all servers that have one, by the number of the server.
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
