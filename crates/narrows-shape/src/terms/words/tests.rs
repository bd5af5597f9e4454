use super::{WordReader, read};

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let words = read(text);
    let plain: Vec<&str> = words.iter().map(|word| &*word.plain).collect();
    assert_eq!(plain, expected);
    // Reading the words again returns the same ones.
    let mut reader = WordReader::default();
    assert_eq!(reader.words(text), words);
    assert_eq!(reader.words(text), words);
}

#[test]
fn names_are_split() {
    check("list_pull_requests", &["list", "pull", "requests"]);
    check("getHTTPStatus", &["get", "http", "status"]);
    check("kubectl-get.pods", &["kubectl", "get", "pods"]);
    check("Issue42Comment", &["issue", "42", "comment"]);
}

#[test]
fn short_names_with_digits_are_one_word() {
    check(
        "the k8s cluster on s3",
        &["the", "k8s", "cluster", "on", "s3"],
    );
    check("42", &["42"]);
}

#[test]
fn accents_and_case_are_ignored() {
    check("Événement ÉTÉ", &["evenement", "ete"]);
}

#[test]
fn word_endings_are_ignored() {
    let stems = |text| {
        let words = read(text).into_iter();
        words.map(|word| word.stem).collect::<Vec<_>>()
    };
    assert_eq!(
        stems("issues created deleting"),
        stems("issue create delete")
    );
}
