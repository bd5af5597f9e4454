use super::{Token, each};

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let mut found = Vec::new();
    each(text, |token| {
        found.push(match token {
            Token::Word(word) => word.to_owned(),
            Token::Name(name, _) => format!("={name}"),
        })
    });
    assert_eq!(found, expected, "{text:?}");
}

#[test]
fn names_are_split_and_kept() {
    check(
        "parseHttpHeader",
        &["parse", "Http", "Header", "=parseHttpHeader"],
    );
    check("parse_http", &["parse", "http", "=parse_http"]);
    check("HTTPServer", &["HTTP", "Server", "=HTTPServer"]);
    check("jk2_init()", &["jk", "2", "init", "=jk2_init"]);
    check("L1", &["L", "1", "=L1"]);
    check("--dry-run", &["dry", "run", "=dry-run"]);
}

#[test]
fn numbers_and_addresses_are_names() {
    check("/10.0.0.7:80", &["10", "0", "0", "7", "=10.0.0.7", "80"]);
    check("blk_-38", &["blk", "38", "=blk_-38"]);
}

#[test]
fn a_full_stop_is_no_part_of_a_name() {
    check("The end. Or...", &["The", "end", "Or"]);
    check("._-", &[]);
    check("", &[]);
}

#[test]
fn words_of_other_scripts() {
    check("naïve Ärger", &["naïve", "Ärger"]);
    check("日本語", &["日", "本", "語"]);
    check("v日x", &["v", "日", "x"]);
    check("مرحبا 😀 a\0b", &["مرحبا", "a", "b"]);
}
