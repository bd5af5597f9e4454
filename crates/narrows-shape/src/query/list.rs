//! Lists of columns: `select`, `sort`, `group_by` and `aggregate`.

use super::RowQuery;
use super::aggregate::Aggregate;
use super::error::Invalid;
use super::lexer::{Lexer, QueryToken};
use super::path::Path;

/// The maximum number of columns in one list.
const MAX_COLUMNS: usize = 32;

/// A field of a row, or a column of an aggregation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Column {
    Field(Path),
    Aggregate(Aggregate),
}

impl Column {
    /// Returns the name of the column in the output.
    pub(super) fn name(&self) -> String {
        match self {
            Column::Field(path) => path.to_string(),
            Column::Aggregate(aggregate) => aggregate.to_string(),
        }
    }

    pub(super) fn field(&self) -> Option<&Path> {
        match self {
            Column::Field(path) => Some(path),
            Column::Aggregate(_) => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SortKey {
    pub(super) column: Column,
    pub(super) descending: bool,
}

pub(super) fn paths(argument: &'static str, text: &str) -> Result<Vec<Path>, Invalid> {
    read(argument, text, Path::parse)
}

pub(super) fn aggregates(text: &str) -> Result<Vec<Aggregate>, Invalid> {
    read("aggregate", text, Aggregate::parse)
}

pub(super) fn columns(argument: &'static str, text: &str) -> Result<Vec<Column>, Invalid> {
    match text {
        "*" => Ok(Vec::new()),
        text => read(argument, text, column),
    }
}

/// Parses a sort list: `-total, name` or `total desc, name asc`.
pub(super) fn sort(text: &str) -> Result<Vec<SortKey>, Invalid> {
    read("sort", text, |lexer| {
        let mut descending = lexer.take_word("-")?;
        if !descending {
            lexer.take_word("+")?;
        }
        let column = column(lexer)?;
        lexer.take_word(":")?;
        if lexer.take_word("desc")? {
            descending = true;
        } else {
            lexer.take_word("asc")?;
        }
        Ok(SortKey { column, descending })
    })
}

/// Parses a field, or an aggregate if a parenthesis follows the name.
fn column(lexer: &mut Lexer<'_>) -> Result<Column, Invalid> {
    match lexer.at_call()? {
        true => Aggregate::parse(lexer).map(Column::Aggregate),
        false => Path::parse(lexer).map(Column::Field),
    }
}

fn read<T>(
    argument: &'static str,
    text: &str,
    one: impl Fn(&mut Lexer<'_>) -> Result<T, Invalid>,
) -> Result<Vec<T>, Invalid> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut lexer = Lexer::new(argument, text)?;
    let mut list = Vec::new();
    loop {
        list.push(one(&mut lexer)?);
        if list.len() > MAX_COLUMNS {
            let message = format!("must have at most {MAX_COLUMNS} entries");
            return Err(Invalid::new(argument, message));
        }
        let next = lexer.next()?;
        match next.token {
            QueryToken::Comma => {}
            QueryToken::End => return Ok(list),
            _ => return Err(lexer.expected(next.at, "',' or the end")),
        }
    }
}

/// Rejects aggregate columns in `select` and `sort` if there is no `aggregate` argument.
pub(super) fn check_columns(query: &RowQuery) -> Result<(), Invalid> {
    if !query.aggregate.is_empty() {
        return Ok(());
    }
    let sorted = query.sort.iter().map(|key| ("sort", &key.column));
    let selected = query.select.iter().map(|column| ("select", column));
    for (argument, column) in selected.chain(sorted) {
        if let Column::Aggregate(aggregate) = column {
            let message =
                format!("names {aggregate}; to compute it, write \"aggregate\": \"{aggregate}\"");
            return Err(Invalid::new(argument, message));
        }
    }
    Ok(())
}
