//! The guard against writing a digest back: an agent that edits a file from a cut result would
//! replace the missing text with markers.

use std::sync::LazyLock;

use memchr::memmem;
use narrows_wire::{Kind, Raw};

/// The opening bracket of markers.
const BRACKET: &str = "\u{27e6}";
/// The prefix of an escaped bracket. The two hex digits after it may be in upper or lower case.
const ESCAPED: &[u8] = b"\\u27";

/// The maximum number of characters of a marker in an error.
const SHOWN: usize = 160;

/// An argument that contains a marker of cut text.
#[derive(Debug, PartialEq, Eq)]
pub struct MarkedArgument {
    pub argument: String,
    pub marker: String,
}

/// Returns false if no text in a value can contain a marker. This runs on every call, so the
/// searchers are built only once.
pub fn may_hold_marker(value: &Raw) -> bool {
    static NEEDLES: LazyLock<[memmem::Finder<'static>; 2]> =
        LazyLock::new(|| [BRACKET.as_bytes(), ESCAPED].map(memmem::Finder::new));
    let found = |needle: &memmem::Finder<'_>| needle.find(value.as_bytes()).is_some();
    NEEDLES.iter().any(found)
}

/// Returns the first argument with a marker in one of its texts.
pub fn marked(arguments: &Raw) -> Option<MarkedArgument> {
    arguments.members().find_map(|(name, value)| {
        Some(MarkedArgument {
            argument: name.chars().take(100).collect(),
            marker: marker_in(&value)?,
        })
    })
}

/// Searches arrays and objects too, without recursion, because arguments can be deeply nested.
fn marker_in(value: &Raw) -> Option<String> {
    let mut open = vec![value.clone()];
    while let Some(value) = open.pop() {
        match value.kind() {
            Kind::String => {
                let text = value.as_text().unwrap_or_default();
                if let Some(marker) = find(&text) {
                    return Some(marker);
                }
            }
            Kind::Array => open.extend(value.elements()),
            Kind::Object => open.extend(value.members().map(|(_, value)| value)),
            _ => {}
        }
    }
    None
}

fn find(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(at) = rest.find(BRACKET) {
        rest = &rest[at + BRACKET.len()..];
        let line = rest.lines().next().unwrap_or_default();
        let Some(end) = line.find('\u{27e7}') else {
            continue;
        };
        let inside = &line[..end];
        let cut = inside.strip_prefix("cut ").map(|cut| {
            let cut = cut.trim_start_matches("rows ").trim_start_matches("chars ");
            cut.starts_with(|first: char| first.is_ascii_digit())
        });
        if inside.starts_with("narrows: ") || cut == Some(true) {
            let shown: String = inside.chars().take(SHOWN).collect();
            let more = if inside.chars().nth(SHOWN).is_some() {
                "…"
            } else {
                ""
            };
            return Some(format!("{BRACKET}{shown}{more}\u{27e7}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &str, expected: Option<(&str, &str)>) {
        let arguments = Raw::parse(arguments.to_owned().into()).expect("a test's JSON");
        assert!(expected.is_none() || may_hold_marker(&arguments));
        let found = marked(&arguments);
        let found = found
            .as_ref()
            .map(|found| (&*found.argument, &*found.marker));
        assert_eq!(found, expected);
    }

    #[test]
    fn marker_is_found_anywhere() {
        let short = Some(("content", "⟦cut 5100-5190⟧"));
        check(r#"{"path":"a","content":"x\n⟦cut 5100-5190⟧\ny"}"#, short);
        check(r#"{"content":[{"text":"⟦cut 5100-5190⟧"}]}"#, short);
        check(r#"{"content":"\u27e6cut 5100-5190\u27E7"}"#, short);
        let rows = Some(("edits", "⟦cut rows 3-90⟧"));
        check(r#"{"edits":[{"newText":"⟦ ⟦cut rows 3-90⟧"}]}"#, rows);
        let whole = "⟦narrows: lines 2-9 of 12 cut (~1k tokens); recover_text prune_id=prn_1⟧";
        let arguments = format!(r#"{{"content":"{whole}"}}"#);
        check(&arguments, Some(("content", whole)));
    }

    #[test]
    fn other_brackets_are_not_markers() {
        check(
            r#"{"content":"⟦x⟧ = ⟦cut the cake⟧ ⟦narrows⟧ ⟦cut 1-2"}"#,
            None,
        );
        check(
            r#"{"content":"⟦PRUNÉ: prune_id=x lignes 1-2 (2) raison=x⟧"}"#,
            None,
        );
        check(r#"{"a":1,"b":[]}"#, None);
        check("[]", None);
        let plain = Raw::from_static(r#"{"content":"[cut 1-2] \u2602"}"#);
        assert!(!may_hold_marker(&plain));
    }
}
