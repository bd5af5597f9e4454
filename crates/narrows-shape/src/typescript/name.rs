//! Names and literals: quoting of names in TypeScript, and the names of `$ref` targets.

use std::borrow::Cow;
use std::fmt::Write as _;

use percent_encoding::percent_decode_str;

/// Words that cannot be the name of a generated type: reserved words, built-in types and type
/// operators, and `Record`, which the output itself uses.
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

/// Returns `true` for ASCII identifiers. The language allows others, but a quoted name is always
/// valid, and the Unicode tables are not worth their size.
fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || matches!(first, b'_' | b'$'))
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'))
}

/// Returns `true` if a generated type may have this name.
pub(super) fn is_type_name(name: &str) -> bool {
    is_identifier(name) && TAKEN.binary_search(&name).is_err()
}

/// Returns the name of a member before the colon. Reserved words need no quotes there.
pub(super) fn member(name: &str) -> Cow<'_, str> {
    if is_identifier(name) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(string_literal(name))
    }
}

/// Returns a string as a JSON literal. Characters that JSON allows in strings but some readers
/// treat as line ends are escaped.
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
                // Writing to a `String` cannot fail.
                let _ = write!(literal, "\\u{:04x}", u32::from(character));
            }
            _ => literal.push(character),
        }
    }
    literal.push('"');
    literal
}

/// Turns any text into a valid type name.
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

/// Returns the JSON pointer of a reference within the same document, or `None` for other
/// references.
pub(super) fn pointer(reference: &str) -> Option<Cow<'_, str>> {
    let fragment = reference.strip_prefix('#')?;
    (fragment.is_empty() || fragment.starts_with('/')).then(|| percent_decoded(fragment))
}

/// Returns the last segment of a reference, which names its target; empty for `#`.
pub(super) fn last_segment(reference: &str) -> String {
    let segment = reference.rsplit(['/', '#']).next().unwrap_or_default();
    percent_decoded(segment)
        .replace("~1", "/")
        .replace("~0", "~")
}

/// Decodes percent escapes. Text that would not be UTF-8 afterwards stays unchanged.
fn percent_decoded(text: &str) -> Cow<'_, str> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.unwrap_or(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_words_are_sorted() {
        assert!(TAKEN.is_sorted());
    }

    #[test]
    fn fragments_are_decoded_and_external_references_ignored() {
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
    fn generated_name_is_always_an_identifier() {
        for from in [
            "", "Node", "1", "a b", "class", "Record", "ä", "$x", "string",
        ] {
            let name = made_type_name(from);
            assert!(is_type_name(&name), "{from} -> {name}");
        }
    }
}
