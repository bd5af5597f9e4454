use super::{Token, signs, tokens, words};

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let mut found = Vec::new();
    tokens(text, |token| {
        found.push(match token {
            Token::Word(word) => word.to_owned(),
            Token::Name(name, _) => format!("={name}"),
        })
    });
    assert_eq!(found, expected, "{text:?}");
    let alone: Vec<&str> = words(text).collect();
    found.retain(|token| !token.starts_with('='));
    assert_eq!(alone, found, "{text:?}");
}

#[test]
fn names_are_split_and_kept_whole() {
    check(
        "parseHttpHeader",
        &["parse", "Http", "Header", "=parseHttpHeader"],
    );
    check("parse_http", &["parse", "http", "=parse_http"]);
    check("HTTPServer", &["HTTP", "Server", "=HTTPServer"]);
    check("jk2_init()", &["jk", "2", "init", "=jk2_init"]);
    check("L1", &["L", "1", "=L1"]);
    check("--dry-run", &["dry", "run", "=dry-run"]);
    check("max_len=10", &["max", "len", "=max_len", "10"]);
    check(
        "HTTPServer v2 sha256sum",
        &[
            "HTTP",
            "Server",
            "=HTTPServer",
            "v",
            "2",
            "=v2",
            "sha",
            "256",
            "sum",
            "=sha256sum",
        ],
    );
}

#[test]
fn numbers_and_addresses_are_names() {
    check("/10.0.0.7:80", &["10", "0", "0", "7", "=10.0.0.7", "80"]);
    check("blk_-38", &["blk", "38", "=blk_-38"]);
}

#[test]
fn full_stop_is_not_part_of_a_name() {
    check("The end. Or...", &["The", "end", "Or"]);
    check("._-", &[]);
    check("", &[]);
}

#[test]
fn words_of_other_scripts_are_split() {
    check("naïve Ärger ÉTÉ", &["naïve", "Ärger", "ÉTÉ"]);
    check(
        "größe_Ähnlich élanÉtat",
        &[
            "größe",
            "Ähnlich",
            "=größe_Ähnlich",
            "élan",
            "État",
            "=élanÉtat",
        ],
    );
    check("日本語", &["日", "本", "語"]);
    check("v日x", &["v", "日", "x"]);
    check("مرحبا 😀 a\0b", &["مرحبا", "a", "b"]);
}

#[test]
fn symbols_are_split_by_run() {
    let runs: Vec<&str> = signs("把 issue 关闭，然后删除").collect();
    assert_eq!(runs, ["把", "关闭", "然后删除"]);
}

proptest::proptest! {
    #[test]
    fn words_are_substrings_of_the_text(text in "\\PC{0,40}") {
        let mut rest = text.as_str();
        for word in words(&text) {
            let at = rest.find(word);
            proptest::prop_assert!(!word.is_empty() && at.is_some());
            rest = &rest[at.unwrap_or_default() + word.len()..];
        }
    }
}
