//! Redaction of secrets in JSON that is displayed.

/// Copies JSON, which may be cut off at the end, and replaces the values of members with
/// secret-looking names by `"***"`.
pub fn redact(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    let mut at = 0;
    while at < json.len() {
        if json[at] != b'"' {
            out.push(json[at]);
            at += 1;
            continue;
        }
        let end = string_end(json, at);
        let text = &json[at..end];
        out.extend_from_slice(text);
        at = end;
        let colon = at
            + json[at..]
                .iter()
                .take_while(|byte| byte.is_ascii_whitespace())
                .count();
        if json.get(colon) == Some(&b':') && looks_secret(text) {
            out.extend_from_slice(b":\"***\"");
            let value = colon + 1;
            let value = value
                + json[value..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_whitespace())
                    .count();
            at = value_end(json, value);
        }
    }
    out
}

/// Returns the end of the string that starts at `at`.
fn string_end(json: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < json.len() {
        match json[end] {
            b'\\' => end += 2,
            b'"' => return end + 1,
            _ => end += 1,
        }
    }
    json.len()
}

fn value_end(json: &[u8], at: usize) -> usize {
    let mut depth = 0usize;
    let mut end = at;
    while end < json.len() {
        match json[end] {
            b'"' => {
                end = string_end(json, end);
                if depth == 0 {
                    return end;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return if depth == 1 { end + 1 } else { end },
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return end,
            _ => {}
        }
        end += 1;
    }
    json.len()
}

/// Returns true if a member name suggests that its value is a secret.
pub fn looks_secret(key: &[u8]) -> bool {
    let key = key.to_ascii_lowercase();
    let has = |word: &str| key.windows(word.len()).any(|part| part == word.as_bytes());
    [
        "token",
        "secret",
        "password",
        "passwd",
        "key",
        "authorization",
        "credential",
        "cookie",
    ]
    .into_iter()
    .any(has)
}
