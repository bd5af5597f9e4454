//! What tools work with and do: the table `concepts.txt`, read once.

use std::sync::LazyLock;

use crate::terms::ConceptTable;

pub(super) static CONCEPTS: LazyLock<ConceptTable> =
    LazyLock::new(|| ConceptTable::parse(include_str!("concepts.txt")));

#[cfg(test)]
mod tests;
