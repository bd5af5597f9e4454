//! Groups of rows and their columns.

use std::collections::HashMap;
use std::fmt::Write;

use super::{compare, unknown_field};
use crate::query::RowQuery;
use crate::query::aggregate::{ColumnState, Key, write_member};
use crate::query::error::Refused;
use crate::query::json::{Json, compact, tree};
use crate::query::rows::Row;

/// The maximum number of cells in all groups together. A query on rows that are all different must
/// not use far more memory than the text.
const MAX_CELLS: usize = 500_000;

/// The maximum number of rows shown for having the least or greatest value.
const MAX_EXTREMES: usize = 6;

/// The maximum number of characters shown of a row with the least or greatest value.
const MAX_ROW: usize = 300;

pub(super) struct RowGroups<'q, 'a> {
    query: &'q RowQuery,
    /// The first row with the least or greatest value, for each column. Used only if there is a
    /// single group.
    extremes: Vec<Option<Row<'a>>>,
    places: HashMap<Vec<Key>, usize>,
    groups: Vec<Group>,
}

struct Group {
    /// The fields of the group, as JSON.
    values: Vec<String>,
    columns: Vec<ColumnState>,
}

impl<'q, 'a> RowGroups<'q, 'a> {
    pub(super) fn new(query: &'q RowQuery) -> RowGroups<'q, 'a> {
        let mut groups = RowGroups {
            query,
            extremes: vec![None; query.aggregate.len()],
            places: HashMap::new(),
            groups: Vec::new(),
        };
        // Without group fields, there is exactly one group, even for no rows.
        if query.group_by.is_empty() && !query.aggregate.is_empty() {
            groups.places.insert(Vec::new(), 0);
            groups.groups.push(groups.group(&Json::Null));
        }
        groups
    }

    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// Adds a row and its parsed value.
    pub(super) fn add(&mut self, origin: Row<'a>, row: &Json<'_>) -> Result<(), Refused> {
        let fields = self.query.group_by.iter();
        let key: Vec<Key> = fields
            .map(|path| path.of(row).map_or(Key::Null, Key::of))
            .collect();
        let at = match self.places.get(&key) {
            Some(at) => *at,
            None => {
                let width = self.query.aggregate.len() + self.query.group_by.len();
                if (self.groups.len() + 1) * width > MAX_CELLS {
                    return Err(Refused::TooManyGroups);
                }
                self.groups.push(self.group(row));
                self.places.insert(key, self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        let columns = self.groups[at].columns.iter_mut();
        let columns = columns.zip(&mut self.extremes);
        for ((column, extreme), aggregate) in columns.zip(&self.query.aggregate) {
            if column.add(aggregate, row) {
                *extreme = Some(origin);
            }
        }
        Ok(())
    }

    fn group(&self, row: &Json<'_>) -> Group {
        let value = |path: &crate::query::path::Path| {
            let mut json = String::new();
            path.of(row).unwrap_or(&Json::Null).write(&mut json);
            json
        };
        Group {
            values: self.query.group_by.iter().map(value).collect(),
            columns: self
                .query
                .aggregate
                .iter()
                .map(|_| ColumnState::default())
                .collect(),
        }
    }

    /// Writes the sorted and limited groups as JSON, one per line, with the selected columns.
    pub(super) fn write(&self, limit: Option<usize>, notes: &mut Vec<String>) -> String {
        let names = self.names();
        let place = |name: &str| names.iter().position(|known| known == name);
        let mut known = |argument: &'static str, name: String| {
            let at = place(&name);
            if at.is_none() {
                notes.push(unknown_field(argument, &name, &names));
            }
            at
        };
        let sort = self.query.sort.iter();
        let sort: Vec<Option<usize>> = sort.map(|key| known("sort", key.column.name())).collect();
        let select = self.query.select.iter();
        let mut select: Vec<usize> = select
            .filter_map(|column| known("select", column.name()))
            .collect();
        if select.is_empty() {
            select = (0..names.len()).collect();
        }
        let mut rows: Vec<(Vec<Key>, Vec<String>)> = self
            .groups
            .iter()
            .map(|group| {
                let cells = self.cells(group);
                let key =
                    |at: &Option<usize>| at.map_or(Key::Null, |at| Key::of(&tree(&cells[at])));
                (sort.iter().map(key).collect(), cells)
            })
            .collect();
        rows.sort_by(|(a, _), (b, _)| compare(&self.query.sort, a, b));
        if !self.query.group_by.is_empty() {
            let count = rows.len();
            let shown = limit.filter(|limit| *limit < count);
            let shown =
                shown.map_or_else(String::new, |limit| format!(", the first {limit} shown"));
            notes.push(format!("{count} groups{shown}"));
        }
        let mut body = String::new();
        for (_, cells) in rows.iter().take(limit.unwrap_or(usize::MAX)) {
            if !body.is_empty() {
                body.push('\n');
            }
            body.push('{');
            for &at in &select {
                write_member(&names[at], &cells[at], &mut body);
            }
            body.push('}');
        }
        self.write_extremes(&mut body);
        body
    }

    /// Writes the rows with the least and greatest values of all rows.
    fn write_extremes(&self, body: &mut String) {
        let shown = self.extremes.iter().zip(&self.query.aggregate);
        let shown = shown.filter_map(|(row, aggregate)| Some((row.as_ref()?, aggregate)));
        let shown: Vec<_> = shown
            .filter(|_| self.query.group_by.is_empty())
            .take(MAX_EXTREMES)
            .collect();
        for (row, aggregate) in &shown {
            let name = match shown.len() {
                1 => String::new(),
                _ => format!("{aggregate}: "),
            };
            let text = compact(row.text);
            let (text, rest) = match text.char_indices().nth(MAX_ROW) {
                Some((end, _)) => (&text[..end], "…"),
                None => (text.as_str(), ""),
            };
            let number = row.number;
            write!(body, "\n⟦{name}row {number}: {text}{rest}⟧")
                .expect("writing to a String cannot fail");
        }
    }

    fn names(&self) -> Vec<String> {
        let fields = self.query.group_by.iter().map(ToString::to_string);
        let columns = self.query.aggregate.iter().map(ToString::to_string);
        fields.chain(columns).collect()
    }

    fn cells(&self, group: &Group) -> Vec<String> {
        let columns = group.columns.iter().zip(&self.query.aggregate);
        let results = columns.map(|(column, aggregate)| column.result(aggregate.function));
        group.values.iter().cloned().chain(results).collect()
    }

    /// Returns notes about columns that qualify their results.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (at, aggregate) in self.query.aggregate.iter().enumerate() {
            let columns = || self.groups.iter().map(|group| &group.columns[at]);
            let unfit: u64 = columns().map(|column| column.unfit).sum();
            if unfit > 0 {
                notes.push(format!(
                    "values of other types left out of {aggregate}: {unfit}"
                ));
            }
            if columns().any(ColumnState::is_rounded) {
                notes.push(format!("{aggregate} is rounded: more than 38 digits"));
            }
        }
        notes
    }
}
