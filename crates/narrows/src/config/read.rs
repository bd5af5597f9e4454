//! A parsed file into typed values: wrong types are errors, unknown keys are
//! warnings unless the table says otherwise, and reading goes on after either.
//!
//! The tables of `raw.rs` are declared with [`table!`] and [`words!`]; this
//! file knows what they have in common and nothing of what any key means.

mod plain;

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged;

use super::problem::{At, Problems, Severity};
use crate::nearest::nearest;

pub(crate) use plain::{Map, read_list};

/// A value of the file and where it stands.
pub(crate) struct Node<'a> {
    pub(crate) value: &'a Value<'a>,
    pub(crate) at: At,
}

impl<'a> Node<'a> {
    pub(crate) fn top(value: &'a Value<'a>) -> Self {
        let at = At {
            offset: value.start(),
            path: String::new(),
        };
        Node { value, at }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.value, Value::NullKeyword(_))
    }

    pub(crate) fn text(&self) -> Option<&str> {
        self.value.as_string_lit().map(|text| &*text.value)
    }

    pub(crate) fn members(&self) -> Option<impl Iterator<Item = Member<'a>>> {
        let object = self.value.as_object()?;
        let at = self.at.clone();
        Some(object.properties.iter().map(move |property| {
            let key = match &property.name {
                ObjectPropName::String(text) => text.value.to_string(),
                ObjectPropName::Word(word) => word.value.to_owned(),
            };
            let key_at = at.member(&key, property.name.start());
            let value = Node {
                value: &property.value,
                at: at.member(&key, property.value.start()),
            };
            Member { key, key_at, value }
        }))
    }

    pub(crate) fn elements(&self) -> Option<impl Iterator<Item = Node<'a>>> {
        let array = self.value.as_array()?;
        let at = self.at.clone();
        Some(
            array
                .elements
                .iter()
                .enumerate()
                .map(move |(index, value)| {
                    let at = at.element(index, value.start());
                    Node { value, at }
                }),
        )
    }

    /// What it is, for "expected ..., found ...". Never the value itself.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::StringLit(_) => "a string",
            Value::NumberLit(_) => "a number",
            Value::BooleanLit(literal) if literal.value => "true",
            Value::BooleanLit(_) => "false",
            Value::Object(_) => "an object",
            Value::Array(_) => "an array",
            Value::NullKeyword(_) => "null",
        }
    }

    pub(crate) fn wrong_type(&self, expected: &str, problems: &mut Problems<'_>) {
        let help = match (expected, self.value) {
            ("a string", Value::NumberLit(_) | Value::BooleanLit(_)) => "put the value in quotes",
            ("an array of strings", Value::StringLit(_)) => "put the value in brackets: [\"...\"]",
            _ => "",
        };
        let what = format!("expected {expected}, found {}", self.kind());
        problems.error(&self.at, what, help);
    }
}

/// A key and its value.
pub(crate) struct Member<'a> {
    pub(crate) key: String,
    pub(crate) key_at: At,
    pub(crate) value: Node<'a>,
}

/// What can stand in a configuration file.
pub(crate) trait Read: Sized {
    /// Completes "expected ...".
    const EXPECTED: &'static str;
    /// Whether `null` says something, and not that the key is left out.
    const NULL_SPEAKS: bool = false;

    /// `None` if the value cannot be used; then a problem has been reported.
    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self>;
}

/// A usable value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Given<T> {
    pub(crate) value: T,
    pub(crate) at: At,
}

/// A key that may be there. `Bad` is told from `Absent` so that a value of the
/// wrong type is not also reported as missing.
#[derive(Debug, Default)]
pub(crate) enum Field<T> {
    #[default]
    Absent,
    Bad,
    Given(Given<T>),
}

impl<T> Field<T> {
    pub(crate) fn given(&self) -> Option<&Given<T>> {
        match self {
            Field::Given(given) => Some(given),
            Field::Absent | Field::Bad => None,
        }
    }

    pub(crate) fn value(&self) -> Option<&T> {
        self.given().map(|given| &given.value)
    }

    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Field::Absent)
    }

    pub(crate) fn at(&self) -> Option<&At> {
        self.given().map(|given| &given.at)
    }
}

impl<T: Read> Field<T> {
    /// `null` is mostly as good as nothing: programs that write configuration files
    /// put it where a value is left out.
    pub(crate) fn fill(&mut self, member: &Member<'_>, problems: &mut Problems<'_>) {
        if !self.is_absent() {
            let what = format!("`{}` says again what another key says", member.key);
            problems.error(&member.key_at, what, "keep one of them");
        } else if T::NULL_SPEAKS || !member.value.is_null() {
            *self = match T::read(&member.value, problems) {
                Some(value) => Field::Given(Given {
                    value,
                    at: member.value.at.clone(),
                }),
                None => Field::Bad,
            };
        }
    }
}

/// A type declared with [`table!`].
pub(crate) trait Table {
    /// Every key that has a usable value, under its first name.
    fn given(&self) -> Vec<(&'static str, &At)>;
}

/// What a table knows of its keys besides the ones it reads.
pub(crate) struct Keys {
    pub(crate) read: &'static [&'static str],
    /// Keys of other programs that say nothing to a gateway.
    pub(crate) silent: &'static [&'static str],
    /// Keys of other programs that a user might rely on, and what to do instead.
    pub(crate) unused: &'static [(&'static str, &'static str)],
    /// What any other key is.
    pub(crate) unknown: Severity,
}

/// How many unknown keys of one table are told one by one. Pointing us at a
/// client's whole settings file is fine, a screenful of warnings is not.
const UNKNOWN_KEYS_TOLD: usize = 5;

/// Reads the members of a table; `take` says whether it knows the key.
pub(crate) fn read_table(
    node: &Node<'_>,
    keys: &Keys,
    problems: &mut Problems<'_>,
    mut take: impl FnMut(&Member<'_>, &mut Problems<'_>) -> bool,
) -> Option<()> {
    let Some(members) = node.members() else {
        node.wrong_type("an object", problems);
        return None;
    };
    let mut seen: Vec<String> = Vec::new();
    let mut unknown = Vec::new();
    for member in members {
        if seen.contains(&member.key) {
            duplicate_key(&member, problems);
            continue;
        }
        seen.push(member.key.clone());
        let foreign = keys.unused.iter().find(|(key, _)| *key == member.key);
        if let Some((key, advice)) = foreign {
            problems.warn(
                &member.key_at,
                format!("`{key}` is not applied by Narrows"),
                *advice,
            );
        } else if !keys.silent.contains(&&*member.key)
            && !is_remark(&member.key)
            && !take(&member, problems)
        {
            unknown.push(member);
        }
    }
    for member in unknown.iter().take(UNKNOWN_KEYS_TOLD) {
        let candidates = keys.read.iter().copied();
        let candidates = candidates.filter(|key| !are_opposite(key, &member.key));
        let help = match nearest(&member.key, candidates) {
            Some(key) => format!("did you mean `{key}`?"),
            None => String::new(),
        };
        let what = format!("unknown key `{}`", member.key);
        // Passed over, it would leave a door open that was meant to be shut.
        let guards = ["clients", "admin"].map(|key| format!("did you mean `{key}`?"));
        let severity = match guards.contains(&help) {
            true => Severity::Error,
            false => keys.unknown,
        };
        problems.add(severity, &member.key_at, what, help);
    }
    if let Some(next) = unknown.get(UNKNOWN_KEYS_TOLD) {
        let more = unknown.len() - UNKNOWN_KEYS_TOLD;
        let what = format!("{more} more unknown keys in this object");
        problems.add(keys.unknown, &next.key_at, what, String::new());
    }
    Some(())
}

/// Whether one key allows and the other forbids: letters apart they are near
/// each other, and a user who follows the suggestion gets the contrary.
fn are_opposite(one: &str, other: &str) -> bool {
    let forbids = |key: &str| {
        let key = key.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| key.contains(word));
        match has(&["disable", "disallow", "exclude", "deny", "denied", "block"]) {
            true => Some(true),
            false => has(&["enable", "allow", "include"]).then_some(false),
        }
    };
    matches!((forbids(one), forbids(other)), (Some(one), Some(other)) if one != other)
}

/// Two values for one key: which of them holds depends on who reads the file.
fn duplicate_key(member: &Member<'_>, problems: &mut Problems<'_>) {
    let what = format!("duplicate key `{}`", member.key);
    problems.error(&member.key_at, what, "keep one of them");
}

/// Keys by which people put remarks into JSON, and the one that editors use.
fn is_remark(key: &str) -> bool {
    key.starts_with("//") || key == "$schema"
}

/// Declares a table: a type with one optional field per key, and how it is
/// read. The doc comments of the fields are the reference of the keys. Unknown
/// keys are warnings, or what `unknown` says.
macro_rules! table {
    (
        $(#[$doc:meta])*
        struct $name:ident {
            $( $(#[$field_doc:meta])* $key:literal $(| $also:literal)* => $field:ident: $kind:ty, )*
        }
        $( silent [ $($silent:literal),* $(,)? ] )?
        $( unused [ $($unused:literal: $advice:expr),* $(,)? ] )?
        $( unknown $unknown:ident )?
    ) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub(crate) struct $name {
            $( $(#[$field_doc])* pub(crate) $field: $crate::config::read::Field<$kind>, )*
        }

        impl $crate::config::read::Read for $name {
            const EXPECTED: &'static str = "an object";

            fn read(
                node: &$crate::config::read::Node<'_>,
                problems: &mut $crate::config::problem::Problems<'_>,
            ) -> Option<Self> {
                const KEYS: $crate::config::read::Keys = $crate::config::read::Keys {
                    read: &[$($key, $($also,)*)*],
                    silent: &[$($($silent),*)?],
                    unused: &[$($(($unused, $advice)),*)?],
                    unknown: [
                        $($crate::config::problem::Severity::$unknown,)?
                        $crate::config::problem::Severity::Warning,
                    ][0],
                };
                let mut table = Self::default();
                $crate::config::read::read_table(node, &KEYS, problems, |member, problems| {
                    match member.key.as_str() {
                        $( $key $(| $also)* => table.$field.fill(member, problems), )*
                        _ => return false,
                    }
                    true
                })?;
                Some(table)
            }
        }

        impl $crate::config::read::Table for $name {
            fn given(&self) -> Vec<(&'static str, &$crate::config::problem::At)> {
                [$(($key, self.$field.at())),*]
                    .into_iter()
                    .filter_map(|(key, at)| Some((key, at?)))
                    .collect()
            }
        }
    };
}

/// Declares a choice between words.
macro_rules! words {
    (
        $(#[$doc:meta])*
        enum $name:ident, $what:literal {
            $( $(#[$word_doc:meta])* $word:literal $(| $also:literal)* => $variant:ident, )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name {
            $( $(#[$word_doc])* $variant, )*
        }

        impl $crate::config::read::Read for $name {
            const EXPECTED: &'static str = "a string";

            fn read(
                node: &$crate::config::read::Node<'_>,
                problems: &mut $crate::config::problem::Problems<'_>,
            ) -> Option<Self> {
                const WORDS: &[&str] = &[$($word, $($also,)*)*];
                match node.text() {
                    $( Some($word $(| $also)*) => Some($name::$variant), )*
                    _ => {
                        $crate::config::read::unknown_word(node, $what, WORDS, problems);
                        None
                    }
                }
            }
        }
    };
}

pub(crate) use {table, words};

pub(crate) fn unknown_word(
    node: &Node<'_>,
    what: &str,
    words: &[&str],
    problems: &mut Problems<'_>,
) {
    let Some(found) = node.text() else {
        node.wrong_type("a string", problems);
        return;
    };
    let mut help = format!("one of {}", words.join(", "));
    if let Some(word) = nearest(found, words.iter().copied()) {
        help = format!("did you mean `{word}`? It is {help}");
    }
    problems.error(&node.at, format!("unknown {what} `{found}`"), help);
}
