//! Arbitrary queries on arbitrary texts.

use proptest::prelude::*;

use crate::invariants;

/// Generates an argument line from pieces that are likely to be valid.
fn arguments() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("query"),
        Just("where"),
        Just("select"),
        Just("sort"),
        Just("group_by"),
        Just("aggregate"),
        Just("rows"),
        Just("range"),
        Just("tail"),
        Just("limit"),
        Just("context"),
        Just("diff"),
        Just("count_only")
    ];
    let piece = prop_oneof![
        Just("a"),
        Just("b.c"),
        Just("[0]"),
        Just("`x y`"),
        Just("= 1"),
        Just("!= 'q'"),
        Just("in (1, 'a')"),
        Just("is not null"),
        Just("matches 'a+'"),
        Just("and"),
        Just("or"),
        Just("not"),
        Just("("),
        Just(")"),
        Just("sum(a)"),
        Just("count"),
        Just("-"),
        Just(","),
        Just("/a|b/"),
        Just("\"a b\""),
        Just("3"),
        Just("2-4")
    ];
    (name, proptest::collection::vec(piece, 1..6))
        .prop_map(|(name, pieces)| format!("{name} {}", pieces.join(" ")))
}

/// Generates rows in several formats, and other lines.
fn texts() -> impl Strategy<Value = String> {
    let row = prop_oneof![
        Just(r#"{"a":1,"b":{"c":[1,2]}}"#),
        Just(r#"{"a":"q","x y":null}"#),
        Just(r#"{ "a" : 1.50, "b" : [ {"c":"\u00e9\\"} ] }"#),
        Just("[]"),
        Just("a b"),
        Just("é"),
        Just("")
    ];
    let rows = proptest::collection::vec(row, 0..8);
    (rows, 0..4).prop_map(|(rows, form)| match form {
        0 => rows.join("\n"),
        1 => format!("[{}]", rows.join(",")),
        2 => format!("{{\"n\":1,\"rows\":[{}]}}", rows.join(" , ")),
        _ => rows.join(" "),
    })
}

proptest! {
    #[test]
    fn any_query_is_answered_or_rejected(
        arguments in proptest::collection::vec(arguments(), 1..4),
        text in texts(),
    ) {
        let input = format!("{}\n\n{text}", arguments.join("\n"));
        invariants::query::check(input.as_bytes());
    }

    #[test]
    fn any_bytes_are_answered_or_rejected(data in proptest::collection::vec(any::<u8>(), 0..200)) {
        invariants::query::check(&data);
    }
}
