//! Scanning of valid JSON text, token by token.

/// Returns the position after the closing quote of the string that begins at `at`, in valid JSON.
pub(crate) fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while let Some(next) = bytes
        .get(end..)
        .and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
    {
        end += next;
        if bytes[end] == b'"' {
            return end + 1;
        }
        end += 2;
    }
    bytes.len()
}

/// Returns a string of valid JSON in which U+FFFD replaces each escape of an unpaired surrogate,
/// because readers of text do not accept those.
pub(crate) fn replace_lone_surrogates(string: &str) -> String {
    let mut replace_lone_surrogates = String::with_capacity(string.len());
    let mut rest = string;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        replace_lone_surrogates.push_str(&rest[..at]);
        rest = &rest[at..];
        let (whole, length) = match (code_unit(rest), rest.get(6..).and_then(code_unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (true, 12),
            (Some(0xD800..=0xDFFF), _) => (false, 6),
            (Some(_), _) => (true, 6),
            (None, _) => (true, 2),
        };
        let (escape, others) = rest.split_at_checked(length).unwrap_or((rest, ""));
        replace_lone_surrogates.push_str(if whole { escape } else { "\u{FFFD}" });
        rest = others;
    }
    replace_lone_surrogates.push_str(rest);
    replace_lone_surrogates
}

/// Returns the code unit of a `\u` escape at the beginning of a text.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::replace_lone_surrogates;

    #[test]
    fn lone_surrogates_are_replaced_and_pairs_are_kept() {
        for (string, expected) in [
            (r#""\ud800""#, "\"\u{FFFD}\""),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (
                r#""\ude00\ud83d\ud83d\ude00x""#,
                "\"\u{FFFD}\u{FFFD}\\ud83d\\ude00x\"",
            ),
            (r#""\\ud800 \u00e9\n\"é""#, r#""\\ud800 \u00e9\n\"é""#),
        ] {
            assert_eq!(replace_lone_surrogates(string), expected);
        }
    }
}
