//! The main array of a JSON text.

use std::rc::Rc;

use super::count;
use super::tree::{Node, NodeKind};
use crate::budget::digest::rows::RowTable;
use crate::json::replace_lone_surrogates;

/// The longest path in characters. Only the end of a longer path is shown.
const LONGEST_PATH: usize = 80;
const LONGEST_KEY: usize = 40;

/// The array whose rows are numbered in the digest.
pub(super) struct Main {
    /// The start of the array in the text.
    pub(super) container: usize,
    pub(super) path: String,
    /// The description of the rows, if they are objects.
    pub(super) table: Option<Rc<RowTable>>,
}

/// Returns the largest array of objects in a value, with its path.
pub(super) fn largest_array<'n>(text: &str, root: &'n Node) -> Option<(&'n Node, String)> {
    let mut best: Option<(&Node, String)> = None;
    let mut open = vec![(root, "$".to_owned())];
    while let Some((node, path)) = open.pop() {
        let is_of_objects = text[node.span.start..].starts_with("[{");
        let size = best.as_ref().map_or(0, |(best, _)| best.chars);
        if node.kind == NodeKind::Array && is_of_objects && node.chars > size {
            best = Some((node, path.clone()));
        }
        let is_larger = |child: &&Node| child.chars > size && child.kind != NodeKind::Text;
        for child in node.nodes.iter().rev().filter(is_larger) {
            open.push((child, step(text, &path, node, child)));
        }
    }
    best
}

/// Returns the path of a child.
fn step(text: &str, path: &str, node: &Node, child: &Node) -> String {
    let path = match node.kind {
        NodeKind::Object => {
            let key = replace_lone_surrogates(&text[child.key.clone()]);
            let key: String = serde_json::from_str(&key).unwrap_or_default();
            let is_plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            let is_name = !key.is_empty() && key.chars().all(is_plain);
            let key = shortened(&key, LONGEST_KEY);
            match is_name {
                true => format!("{path}.{key}"),
                false => format!("{path}['{key}']"),
            }
        }
        _ => format!("{path}[{}]", child.index),
    };
    match count::chars(&path) > LONGEST_PATH {
        true => {
            let skipped = count::chars(&path) - (LONGEST_PATH - 2);
            format!("$…{}", path.chars().skip(skipped).collect::<String>())
        }
        false => path,
    }
}

/// Shortens a name for display and keeps it on one line.
fn shortened(name: &str, most: usize) -> String {
    let on_line = |c: char| match c {
        c if c.is_control() || c == '⟦' || c == '⟧' => '?',
        c => c,
    };
    let mut short: String = name.chars().take(most).map(on_line).collect();
    if short.len() < name.len() {
        short.push('…');
    }
    short
}
