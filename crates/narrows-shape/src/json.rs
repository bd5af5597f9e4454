//! Where tokens end in the text of valid JSON.

/// Behind the closing quote of the string that begins at `at`, in valid JSON.
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
