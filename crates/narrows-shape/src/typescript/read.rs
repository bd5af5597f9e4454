//! Parses a schema, including valid JSON that the tree parser rejects: deep nesting, very large
//! numbers, or unpaired surrogates.

use serde_json::Value;

use crate::error::NotJson;
use crate::json::{replace_lone_surrogates, string_end};
use crate::mask;

/// The depth limit of the tree parser. A schema of 64 levels fits.
const MAX_LEVELS: usize = 127;

pub(super) fn schema(text: &str) -> Result<Value, NotJson> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    // This check accepts any depth and any number: it fails only for text that is not JSON.
    mask::check(text)?;
    serde_json::from_str(&simplified(text)).map_err(|error| NotJson::new(&error, text))
}

/// Simplifies valid JSON for the tree parser. Arrays and objects below the deepest level become
/// `true`, the schema that allows anything. Numbers become the nearest double, and unpaired
/// surrogates become replacement characters.
fn simplified(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut simple = String::with_capacity(text.len().min(1 << 20));
    let (mut at, mut levels) = (0, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at = match byte {
            b'"' => string_end(bytes, at),
            b'-' | b'0'..=b'9' => at + run(&bytes[at..], is_number),
            _ => at + 1,
        };
        let opens = matches!(byte, b'[' | b'{');
        let closes = matches!(byte, b']' | b'}');
        if opens {
            levels += 1;
            if levels == MAX_LEVELS + 1 {
                simple.push_str("true");
            }
        }
        if levels <= MAX_LEVELS {
            // Tokens begin and end at ASCII characters, and valid JSON contains no others outside
            // strings.
            match text.get(start..at) {
                Some(number) if is_number(&byte) => simple.push_str(&finite(number)),
                Some(string) if byte == b'"' => simple.push_str(&replace_lone_surrogates(string)),
                Some(token) => simple.push_str(token),
                None => {}
            }
        }
        if closes {
            levels = levels.saturating_sub(1);
        }
    }
    simple
}

fn is_number(byte: &u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
}

fn run(bytes: &[u8], belongs: impl Fn(&u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| belongs(byte)).count()
}

fn finite(number: &str) -> String {
    match number.parse::<f64>() {
        Ok(value) if value.is_infinite() => format!("{:e}", f64::MAX.copysign(value)),
        _ => number.to_owned(),
    }
}
