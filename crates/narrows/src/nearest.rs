//! Suggestions of the form "Did you mean ...?".

/// Returns the most similar candidate. Case, `_`, `-` and `.` are ignored, so `requestTimeout`
/// matches `request_timeout`. Of the remaining letters, a third may differ.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    nearest_few(word, candidates).into_iter().next()
}

/// Returns up to three candidates, the most similar first.
pub(crate) fn nearest_few<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Vec<&'a str> {
    let folded = fold(word);
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let other = fold(candidate);
            let distance = strsim::damerau_levenshtein(&folded, &other);
            let longer = folded.chars().count().max(other.chars().count());
            // A part of a candidate matches regardless of length, as `read` does in
            // `files__read_file`.
            let contained = folded.len() >= 3 && other.contains(&folded);
            let is_near = distance <= (longer / 3).max(1) || contained;
            is_near.then_some((distance, candidate))
        })
        .collect();
    near.sort();
    near.into_iter()
        .take(3)
        .map(|(_, candidate)| candidate)
        .collect()
}

fn fold(word: &str) -> String {
    let mut folded = word.to_lowercase();
    folded.retain(|c| !matches!(c, '_' | '-' | '.'));
    folded
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        let candidates = [
            "request_timeout_s",
            "command",
            "cwd",
            "args",
            "files__read_file",
        ];
        assert_eq!(nearest(word, candidates), expected);
    }

    #[test]
    fn typos_and_spelling_variants_are_matched() {
        check("comand", Some("command"));
        check("requestTimeoutS", Some("request_timeout_s"));
        check("arg", Some("args"));
        check("read_file", Some("files__read_file"));
        check("banana", None);
        check("x", None);
    }
}
