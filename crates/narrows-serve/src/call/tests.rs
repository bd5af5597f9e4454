use super::*;

#[track_caller]
fn check(answers: &[Answer], expected: Option<&str>) {
    let whole = encode_batch(answers, &ClientMemory::unlimited());
    assert_eq!(
        whole
            .as_deref()
            .map(|bytes| std::str::from_utf8(bytes).unwrap()),
        expected
    );
}

#[test]
fn batch_responses_form_one_array() {
    let result = |id| Answer::Result(Id::number(id), Raw::empty_object());
    let error = Answer::Error(None, Raw::from_static(r#"{"code":1}"#));
    check(&[], None);
    check(&[Answer::Nothing, Answer::Nothing], None);
    check(
        &[result(1)],
        Some(r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#),
    );
    check(
        &[Answer::Nothing, result(1), error, Answer::Nothing],
        Some(
            r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":null,"error":{"code":1}}]"#,
        ),
    );
}
