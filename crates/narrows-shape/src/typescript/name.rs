//! Names and literals: what may stand bare in TypeScript, what is quoted, and
//! what a `$ref` is called.

use std::borrow::Cow;
use std::fmt::Write as _;

use percent_encoding::percent_decode_str;

/// Words that cannot name a type of ours: reserved ones, the language's own
/// types and type operators, and `Record`, which the output itself uses.
const TAKEN: &[&str] = &[
    "Record",
    "abstract",
    "any",
    "asserts",
    "await",
    "bigint",
    "boolean",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "infer",
    "instanceof",
    "interface",
    "intrinsic",
    "is",
    "keyof",
    "let",
    "never",
    "new",
    "null",
    "number",
    "object",
    "package",
    "private",
    "protected",
    "public",
    "readonly",
    "return",
    "static",
    "string",
    "super",
    "switch",
    "symbol",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "unique",
    "unknown",
    "using",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// Identifiers of ASCII only: the language allows more, but a quoted name is
/// always right, and the Unicode tables are not worth it.
fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || matches!(first, b'_' | b'$'))
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'))
}

/// Whether a type of ours may be called that.
pub(super) fn is_type_name(name: &str) -> bool {
    is_identifier(name) && TAKEN.binary_search(&name).is_err()
}

/// A member's name as it stands before the colon. Reserved words need no
/// quotes there.
pub(super) fn member(name: &str) -> Cow<'_, str> {
    if is_identifier(name) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(string_literal(name))
    }
}

/// A string as a JSON literal, with the characters escaped that JSON allows in
/// a string and some readers take for the end of a line.
pub(super) fn string_literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for character in text.chars() {
        match character {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => {
                // Writing to a String cannot fail.
                let _ = write!(literal, "\\u{:04x}", u32::from(character));
            }
            _ => literal.push(character),
        }
    }
    literal.push('"');
    literal
}

/// A valid type name made of anything, for a type that must have one.
pub(super) fn made_type_name(from: &str) -> String {
    let mut name: String = from
        .chars()
        .take(60)
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '$' => c,
            _ => '_',
        })
        .collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert(0, 'T');
    }
    if !is_type_name(&name) {
        name.push('_');
    }
    name
}

/// The JSON pointer of a reference into the same document, as it is after the
/// `#`, or `None` if it leads elsewhere.
pub(super) fn pointer(reference: &str) -> Option<Cow<'_, str>> {
    let fragment = reference.strip_prefix('#')?;
    (fragment.is_empty() || fragment.starts_with('/')).then(|| percent_decoded(fragment))
}

/// What a reference is called by: its last segment. `#` itself has none.
pub(super) fn last_segment(reference: &str) -> String {
    let segment = reference.rsplit(['/', '#']).next().unwrap_or_default();
    percent_decoded(segment)
        .replace("~1", "/")
        .replace("~0", "~")
}

/// Text that is not UTF-8 when it is decoded stays as it is.
fn percent_decoded(text: &str) -> Cow<'_, str> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.unwrap_or(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_sorted_for_the_binary_search() {
        assert!(TAKEN.is_sorted());
    }

    #[test]
    fn fragments_are_decoded_and_foreign_references_have_no_pointer() {
        for (reference, expected) in [
            ("#", Some("")),
            ("#/$defs/A", Some("/$defs/A")),
            ("#/$defs/A%20b%3C%3e", Some("/$defs/A b<>")),
            ("#/$defs/%", Some("/$defs/%")),
            ("#/$defs/%ff", Some("/$defs/%ff")),
            ("#anchor", None),
            ("other.json#/a", None),
            ("", None),
        ] {
            assert_eq!(pointer(reference).as_deref(), expected, "{reference}");
        }
    }

    #[test]
    fn a_made_name_is_always_one() {
        for from in [
            "", "Node", "1", "a b", "class", "Record", "ä", "$x", "string",
        ] {
            let name = made_type_name(from);
            assert!(is_type_name(&name), "{from} -> {name}");
        }
    }
}
