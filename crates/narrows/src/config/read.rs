//! Reads a parsed file into typed values. Wrong types are errors and unknown keys are warnings,
//! unless the table sets another severity. Reading continues after both.
//!
//! [`table!`] and [`words!`] declare the tables of `raw.rs`. This module implements what they have
//! in common and does not know the meaning of any key.

mod plain;

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged;

use super::problem::{At, Problems, Severity};
use crate::nearest::nearest;

pub(crate) use plain::{Map, read_list};

/// A value of the file with its position.
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

    /// Returns the type of the value for "expected ..., found ...", never the value itself.
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

/// A type that can be read from a configuration file.
pub(crate) trait Read: Sized {
    /// The text that completes "expected ...".
    const EXPECTED: &'static str;
    /// True if `null` is a value of its own. By default it means that the key is absent.
    const NULL_IS_VALUE: bool = false;

    /// Reads a value. Returns `None` if it cannot be used, after reporting a problem.
    fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Self>;
}

/// A usable value with its position.
#[derive(Debug, Clone)]
pub(crate) struct Given<T> {
    pub(crate) value: T,
    pub(crate) at: At,
}

/// An optional key. `Bad` differs from `Absent`, so that a value of the wrong type is not also
/// reported as missing.
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
    /// Reads the value of a key. `null` usually counts as absent, because programs that write
    /// configuration files use it for omitted values.
    pub(crate) fn fill(&mut self, member: &Member<'_>, problems: &mut Problems<'_>) {
        if !self.is_absent() {
            let what = format!("`{}` has the same meaning as another key", member.key);
            problems.error(&member.key_at, what, "keep one of them");
        } else if T::NULL_IS_VALUE || !member.value.is_null() {
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
    /// Returns every key that has a usable value, under its first name.
    fn given(&self) -> Vec<(&'static str, &At)>;
}

/// The keys of a table, including those that it ignores.
pub(crate) struct Keys {
    pub(crate) read: &'static [&'static str],
    /// Keys of other programs that have no meaning for a gateway.
    pub(crate) silent: &'static [&'static str],
    /// Keys of other programs that users may rely on, each with advice on what to do instead.
    pub(crate) unused: &'static [(&'static str, &'static str)],
    /// The severity of any other key.
    pub(crate) unknown: Severity,
}

/// The maximum number of unknown keys to report per table. A client's whole settings file is valid
/// input and must not produce a screenful of warnings.
const MAX_UNKNOWN_KEYS: usize = 5;

/// Keys that restrict access. A key that is probably one of them, but misspelt, is an error.
const RESTRICTING_KEYS: [&str; 12] = [
    "clients",
    "admin",
    "preset",
    "presets",
    "preset_dir",
    "tools",
    "disabled",
    "disabledTools",
    "excludeTools",
    "includeTools",
    "allowedTools",
    "endpoints",
];

/// Reads the members of a table. `take` returns true if it knows the key.
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
                format!("`{key}` is not supported by Narrows"),
                *advice,
            );
        } else if !keys.silent.contains(&&*member.key)
            && !is_remark(&member.key)
            && !take(&member, problems)
        {
            unknown.push(member);
        }
    }
    let mut warned = 0;
    let mut left_out = None;
    for member in &unknown {
        let candidates = keys.read.iter().copied();
        let candidates = candidates.filter(|key| !are_opposite(key, &member.key));
        let meant = nearest(&member.key, candidates);
        // A misspelt restriction would not be in force.
        let severity = match meant.is_some_and(|key| RESTRICTING_KEYS.contains(&key)) {
            true => Severity::Error,
            false => keys.unknown,
        };
        if severity != Severity::Error {
            warned += 1;
            if warned > MAX_UNKNOWN_KEYS {
                left_out.get_or_insert(member);
                continue;
            }
        }
        let what = format!("unknown key `{}`", member.key);
        let help = meant.map_or_else(String::new, |key| format!("did you mean `{key}`?"));
        problems.add(severity, &member.key_at, what, help);
    }
    if let Some(first) = left_out {
        let more = warned - MAX_UNKNOWN_KEYS;
        let noun = if more == 1 { "key" } else { "keys" };
        let what = format!("{more} more unknown {noun} in this object");
        problems.add(keys.unknown, &first.key_at, what, String::new());
    }
    Some(())
}

/// Returns true if one key allows and the other denies. Such keys differ in few letters, and
/// following the suggestion would have the opposite effect.
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

/// Reports a duplicate key. Programs differ in which of the two values they use.
fn duplicate_key(member: &Member<'_>, problems: &mut Problems<'_>) {
    let what = format!("duplicate key `{}`", member.key);
    problems.error(&member.key_at, what, "keep one of them");
}

/// Returns true for keys that serve as comments in JSON, and for `$schema`, which editors use.
fn is_remark(key: &str) -> bool {
    key.starts_with("//") || key == "$schema"
}

/// Declares a table: a type with one optional field per key, and code to read it. The doc comments
/// of the fields are the reference of the keys. Unknown keys have the severity `unknown`, by
/// default a warning.
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

/// Declares an enum whose values are words.
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
    let mut help = format!("use one of {}", words.join(", "));
    if let Some(word) = nearest(found, words.iter().copied()) {
        help = format!("did you mean `{word}`? Otherwise {help}");
    }
    problems.error(&node.at, format!("unknown {what} `{found}`"), help);
}
