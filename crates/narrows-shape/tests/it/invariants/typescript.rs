//! Checks that must hold for any schema. The fuzz target of this name includes this file, and
//! `main.rs` replays its corpus through it, so that failures found by fuzzing stay covered without
//! a fuzzer.

use narrows_shape::{TypeScriptOptions, typescript_of_text};
use serde::de::IgnoredAny;

/// Checks any text: JSON must become one line of bounded length in every form, with balanced
/// brackets and closed comments, whatever the schema contains.
pub(crate) fn check(data: &[u8]) {
    let Ok(schema) = std::str::from_utf8(data) else {
        return;
    };
    let is_json = serde_json::from_str::<IgnoredAny>(schema).is_ok();
    for (descriptions, constraints) in [(true, true), (true, false), (false, false)] {
        let options = TypeScriptOptions {
            descriptions,
            constraints,
            max_description_len: 40,
        };
        match typescript_of_text(schema, &options) {
            Ok(text) => {
                assert!(is_json);
                let line = text.declaration("Input");
                assert!(line.len() < 8 << 20, "{}", line.len());
                assert!(!line.contains(|c: char| c.is_control()));
                is_balanced(&line);
            }
            Err(error) => {
                assert!(error.offset <= schema.len() && error.line > 0 && error.column > 0);
                assert!(!is_json, "{error}");
            }
        }
    }
}

/// Checks that brackets outside strings and comments are balanced.
fn is_balanced(line: &str) {
    let mut open = Vec::new();
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        let mut length = character.len_utf8();
        if rest.starts_with("/*") {
            length = rest.find("*/").expect("a comment that ends") + 2;
        } else if character == '"' {
            let mut escaped = false;
            length = rest[1..]
                .find(|c: char| {
                    let is_end = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    is_end
                })
                .expect("a string that ends")
                + 2;
        } else {
            match character {
                '{' | '[' | '(' | '<' => open.push(character),
                '}' => assert_eq!(open.pop(), Some('{'), "{line}"),
                ']' => assert_eq!(open.pop(), Some('['), "{line}"),
                ')' => assert_eq!(open.pop(), Some('('), "{line}"),
                '>' => assert_eq!(open.pop(), Some('<'), "{line}"),
                _ => {}
            }
        }
        rest = &rest[length..];
    }
    assert!(open.is_empty(), "{line}");
}
