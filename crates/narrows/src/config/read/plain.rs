//! Reads values common to all configurations: texts, numbers, lists and maps.

use super::{Given, Node, Read, duplicate_key};
use crate::config::problem::Problems;

impl Read for String {
    const EXPECTED: &'static str = "a string";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        let text = node.text().map(str::to_owned);
        if text.is_none() {
            node.wrong_type(Self::EXPECTED, problems);
        }
        text
    }
}

impl Read for bool {
    const EXPECTED: &'static str = "true or false";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        let literal = node.value.as_boolean_lit().map(|literal| literal.value);
        if literal.is_none() {
            node.wrong_type(Self::EXPECTED, problems);
        }
        literal
    }
}

impl Read for f64 {
    const EXPECTED: &'static str = "a number";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        let literal = node.value.as_number_lit();
        let number = literal.and_then(|literal| literal.value.parse().ok());
        let number = number.filter(|number: &f64| number.is_finite());
        match (literal, number) {
            (_, Some(number)) => return Some(number),
            (Some(_), None) => problems.error(&node.at, "this number is too large", ""),
            (None, None) => node.wrong_type(Self::EXPECTED, problems),
        }
        None
    }
}

impl Read for i64 {
    const EXPECTED: &'static str = "a whole number";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        let literal = node.value.as_number_lit();
        let number = literal.and_then(|literal| literal.value.parse().ok());
        match (literal, number) {
            (_, Some(number)) => return Some(number),
            (Some(_), None) => problems.error(&node.at, "expected a whole number", ""),
            (None, None) => node.wrong_type(Self::EXPECTED, problems),
        }
        None
    }
}

impl Read for usize {
    const EXPECTED: &'static str = "a whole number";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        let number = i64::read(node, problems)?;
        let number = usize::try_from(number).ok();
        if number.is_none() {
            problems.error(&node.at, "expected a whole number, 0 or more", "");
        }
        number
    }
}

impl Read for Vec<Given<String>> {
    const EXPECTED: &'static str = "an array of strings";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        read_list(node, Self::EXPECTED, problems)
    }
}

/// Reads a list. One invalid element makes the whole list invalid, because a list without it would
/// have another meaning.
pub(crate) fn read_list<T: Read>(
    node: &Node<'_>,
    expected: &str,
    problems: &mut Problems<'_>,
) -> Option<Vec<Given<T>>> {
    let Some(elements) = node.elements() else {
        node.wrong_type(expected, problems);
        return None;
    };
    let mut list = Some(Vec::new());
    for element in elements {
        let at = element.at.clone();
        match (T::read(&element, problems), &mut list) {
            (Some(value), Some(list)) => list.push(Given { value, at }),
            _ => list = None,
        }
    }
    list
}

/// An object whose keys are names, in the order of the file.
#[derive(Debug)]
pub(crate) struct Map<T>(pub(crate) Vec<(Given<String>, Given<T>)>);

impl<T> Map<T> {
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.value.as_str())
    }
}

impl<T: Read> Read for Map<T> {
    const EXPECTED: &'static str = "an object";

    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self> {
        let Some(members) = node.members() else {
            node.wrong_type(Self::EXPECTED, problems);
            return None;
        };
        let mut map = Map(Vec::new());
        for member in members {
            if map.keys().any(|key| key == member.key) {
                duplicate_key(&member, problems);
                continue;
            }
            let key = Given {
                value: member.key,
                at: member.key_at,
            };
            if let Some(value) = T::read(&member.value, problems) {
                let at = member.value.at;
                map.0.push((key, Given { value, at }));
            }
        }
        Some(map)
    }
}
