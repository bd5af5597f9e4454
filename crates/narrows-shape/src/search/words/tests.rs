use super::{Reader, fold, signs, stem_abroad, words};

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let words = words(text);
    let plain: Vec<&str> = words.iter().map(|word| &*word.plain).collect();
    assert_eq!(plain, expected);
    // Read once more, they are the same.
    let mut reader = Reader::default();
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
fn accents_and_case_do_not_matter() {
    assert_eq!(fold("ÉTÉ Straße cœur"), "ete strasse coeur");
    assert_eq!(fold("e\u{301}te\u{301}"), "ete");
    check("Événement", &["evenement"]);
}

#[test]
fn endings_do_not_matter() {
    let stems = |text| {
        words(text)
            .into_iter()
            .map(|word| word.stem)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        stems("issues created deleting"),
        stems("issue create delete")
    );
    for (one, other) in [
        ("directorios", "directorio"),
        ("supprime", "supprimer"),
        ("losche", "loschen"),
        ("aufgabe", "aufgaben"),
    ] {
        assert_eq!(stem_abroad(one), stem_abroad(other));
    }
    assert_eq!(
        stem_abroad("cree"),
        "cree",
        "short words keep their endings"
    );
}

#[test]
fn signs_are_read_by_the_run() {
    let runs: Vec<&str> = signs("把 issue 关闭，然后删除").collect();
    assert_eq!(runs, ["把", "关闭", "然后删除"]);
}
