//! Generated catalogues and queries for the checks of the fuzzer.

use proptest::prelude::*;

use crate::invariants;

/// Generates words of tools and queries, words of other languages, and arbitrary text.
fn any_word() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "list",
        "delete_issue",
        "getUser",
        "refund",
        "get rid of",
        "who",
        "löschen",
        "Kundenrechnung",
        "facture",
        "¿qué",
        "删除",
        "会议",
        "\"quoted",
        "a.txt",
        "https://x.y/z",
        "a@b.c",
        "k8s",
        "42",
        "|",
        "\n",
    ]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => ".{0,12}"]
}

fn text(words: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(any_word(), words).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_catalogue_can_be_searched(head in ".{0,2}", catalogue in text(0..60), query in text(0..30)) {
        invariants::search::check(format!("{head}\n{catalogue}\n\n{query}").as_bytes());
    }

    #[test]
    fn any_bytes_can_be_searched(data in prop::collection::vec(any::<u8>(), 0..400)) {
        invariants::search::check(&data);
    }
}
