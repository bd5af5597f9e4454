use super::super::mask;
use super::*;

/// Masks with both engines and with several piece sizes, which must all give the same result.
fn masked(json: &[u8], limits: Mask) -> Result<MaskedAnswer, NotJson> {
    let engines = [Engine::Portable, Engine::best()];
    let whole = in_pieces(engines[0], json, limits, json.len().max(1));
    // Very short pieces of a long text take long and reveal nothing new.
    let sizes = match json.len() {
        ..=300 => [1, 2, 3, 7, 64, json.len().max(1)],
        _ => [61, 64, 77, 200, 1000, json.len()],
    };
    for engine in engines {
        for size in sizes {
            let pieces = in_pieces(engine, json, limits, size);
            assert_eq!(pieces, whole, "{size}: {}", json.escape_ascii());
        }
    }
    whole
}

fn in_pieces(
    engine: Engine,
    json: &[u8],
    limits: Mask,
    size: usize,
) -> Result<MaskedAnswer, NotJson> {
    let mut answer = AnswerMask::on(engine, limits);
    for piece in json.chunks(size) {
        answer.push(b"")?;
        answer.push(piece)?;
        assert!(answer.parser.held() < ChunkParser::<AnswerStrings>::MOST_HELD);
    }
    answer.finish()
}

/// Masks with limits of 3/1/1. In the expected text, `<n>` is the marker of a string that had `n`
/// characters.
#[track_caller]
fn check(json: &str, expected: &str) {
    let answer = masked(json.as_bytes(), Mask::new(3, 1, 1)).expect("JSON");
    let body = String::from_utf8(answer.body).expect("UTF-8");
    let short = body
        .replace(r"\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars=", "<")
        .replace(r" head=1 tail=1] ...\n", ">");
    assert_eq!(short, expected);
    assert_eq!(answer.cut_strings, short.matches('<').count());
    let off = masked(json.as_bytes(), Mask::Off).expect("JSON");
    assert_eq!(off.body, json.as_bytes());
    assert_eq!((off.cut_strings, off.cut_chars), (0, 0));
    assert_eq!(off.is_answer, answer.is_answer);
}

#[test]
fn only_the_result_is_masked() {
    check(
        r#" {"jsonrpc":"2.0 or so","id":"abcdef","result":{"abcdef":["abcdef",{"x":"ghijkl"}]},"other":["abcdef"]} "#,
        r#" {"jsonrpc":"2.0 or so","id":"abcdef","result":{"abcdef":["a<6>f",{"x":"g<6>l"}]},"other":["abcdef"]} "#,
    );
    check(r#"{"result":"abcdef"}"#, r#"{"result":"a<6>f"}"#);
    check(r#"{"result" : "abc"}"#, r#"{"result" : "abc"}"#);
}

#[test]
fn error_data_is_masked_and_its_message_is_not() {
    check(
        r#"{"error":{"code":1,"message":"abcdef","data":["abcdef", {"data":"ghijkl"}] ,"other":{"data":"abcdef"}},"id":1}"#,
        r#"{"error":{"code":1,"message":"abcdef","data":["a<6>f", {"data":"g<6>l"}] ,"other":{"data":"abcdef"}},"id":1}"#,
    );
    check(
        r#"{"error":[{"data":"abcdef"}],"data":"abcdef","params":{"data":"abcdef"}}"#,
        r#"{"error":[{"data":"abcdef"}],"data":"abcdef","params":{"data":"abcdef"}}"#,
    );
    check(r#"{"error":"abcdef"}"#, r#"{"error":"abcdef"}"#);
    check(
        r#"{"error":{"data":"abcdef"}}"#,
        r#"{"error":{"data":"a<6>f"}}"#,
    );
}

#[test]
fn error_data_beside_a_result_is_unchanged() {
    check(
        r#"{"error":{"data":"abcdef"},"result":"abcdef"}"#,
        r#"{"error":{"data":"abcdef"},"result":"a<6>f"}"#,
    );
    check(
        r#"{"result":["abcdef"],"error":{"data":"abcdef"}}"#,
        r#"{"result":["a<6>f"],"error":{"data":"abcdef"}}"#,
    );
    check(
        r#"{"error":{"data":"abcdef"},"result":null}"#,
        r#"{"error":{"data":"abcdef"},"result":null}"#,
    );
}

#[test]
fn duplicate_members_are_all_masked() {
    check(
        r#"{"result":"abcdef","result":"ghijkl"}"#,
        r#"{"result":"a<6>f","result":"g<6>l"}"#,
    );
    check(
        r#"{"error":{"data":"abcdef","x":"abcdef","data":"ghijkl"},"id":"abcdef","error":{"data":{"y":"abcdef"}}}"#,
        r#"{"error":{"data":"a<6>f","x":"abcdef","data":"g<6>l"},"id":"abcdef","error":{"data":{"y":"a<6>f"}}}"#,
    );
}

#[test]
fn member_names_may_contain_escapes() {
    check(r#"{"re\u0073ult":"abcdef"}"#, r#"{"re\u0073ult":"a<6>f"}"#);
    check(
        r#"{"\u0065rror":{"dat\u0061":"abcdef"}}"#,
        r#"{"\u0065rror":{"dat\u0061":"a<6>f"}}"#,
    );
    for other in [
        "results",
        "resul",
        "Result",
        "",
        r"re\\u0073ult",
        r"result\n",
        r"re\u0053ult",
        r"\nesult",
        r"re\ud873ult",
    ] {
        let text = format!(r#"{{"{other}":"abcdef"}}"#);
        check(&text, &text);
        let answer = masked(text.as_bytes(), Mask::Off).expect("JSON");
        assert!(!answer.is_answer);
    }
}

#[test]
fn response_must_be_an_object_with_a_result_or_error() {
    for (text, is_answer) in [
        (r#"{"result":1}"#, true),
        (r#" {"id":1,"error":null}"#, true),
        (r#"{"id":1}"#, false),
        (r#"{}"#, false),
        (r#"{"params":{"result":1}}"#, false),
        (r#"[{"result":"abcdef"}]"#, false),
        (r#"["result"]"#, false),
        (r#""result""#, false),
        (r#"1"#, false),
        (r#" null "#, false),
    ] {
        check(text, text);
        let answer = masked(text.as_bytes(), Mask::default()).expect("JSON");
        assert_eq!(answer.is_answer, is_answer, "{text}");
    }
}

#[test]
fn head_and_tail_may_be_empty_or_overlap() {
    let text = format!(
        r#"{{"result":["{}é","{}"]}}"#,
        "x\\n語".repeat(2000),
        "y".repeat(300)
    );
    let slice = &text[r#"{"result":"#.len()..text.len() - 1];
    for max in [1, 300, 6001] {
        for head in [0, 2000, 7000] {
            for tail in [0, 700, 7000] {
                let limits = Mask::new(max, head, tail);
                let expected = mask(slice.as_bytes(), &limits).expect("JSON");
                let answer = masked(text.as_bytes(), limits).expect("JSON");
                let body = String::from_utf8(answer.body).expect("UTF-8");
                assert_eq!(body, format!(r#"{{"result":{}}}"#, expected.text));
                assert_eq!(
                    (answer.cut_strings, answer.cut_chars),
                    (expected.cut_strings, expected.cut_chars)
                );
            }
        }
    }
}

#[test]
fn error_positions_match_the_whole_text() {
    let mut texts: Vec<Vec<u8>> = [
        "",
        " \n",
        "{\n\"é\":\n [1,",
        "{\"a\":[1 2]}",
        "{\"a\":1 \"b\":2}",
        "{\"a\"}",
        "{\"a\" 1}",
        "{\"a",
        "{",
        "{,",
        "[",
        "{} {}",
        "\u{feff}{}",
        "\u{feff}",
        "[-",
        "[1.",
        "1e+x",
        "-01",
        "[tru]",
        "nul",
        "falsy",
        "[1]x",
        "\"\\u12g4\"",
        "\"\\ud834\\u12",
        "\"\\",
        "{\"\\x\":1}",
        "\"語\n\"",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec();
    texts.extend([
        b"{\"result\":\"\xff\"}".to_vec(),
        b"{\"a\":\n\"\xe8\xaa\"}".to_vec(),
        b"{\"a\":\n\"\xe8\xaa".to_vec(),
        b"\"\xe0\x80".to_vec(),
        b"[1 2,\"\xff\"]".to_vec(),
        b"[tru\xff".to_vec(),
        b"\"\\u12\xff".to_vec(),
        b"\xff".to_vec(),
    ]);
    for before in [0, 15, 40, 300] {
        for text in &texts {
            let mut padded = text.clone();
            if let Some(place) = text.iter().position(|byte| *byte == b'"') {
                padded.splice(place + 1..place + 1, "x語".repeat(before).into_bytes());
            }
            for limits in [Mask::Off, Mask::new(3, 1, 1)] {
                let expected = mask(&padded, &limits).map(drop);
                assert_eq!(masked(&padded, limits).map(drop), expected);
                expected.expect_err("a mistake");
            }
        }
    }
}

#[test]
fn errors_are_final() {
    let mut answer = AnswerMask::new(Mask::default());
    answer.push(b"{\"a\":\n").expect("nothing wrong yet");
    let error = answer.push(b"} ").expect_err("a mistake");
    assert_eq!((error.offset, error.line, error.column), (6, 2, 1));
    assert_eq!(answer.push(b"1}"), Err(error.clone()));
    assert_eq!(answer.finish(), Err(error));
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    for depth in [1, 31, 32, 33, 10_000] {
        let (open, close) = (r#"[{"key":"#.repeat(depth), "}]".repeat(depth));
        check(
            &format!(r#"{{"result":{open}"abcdef"{close}}}"#),
            &format!(r#"{{"result":{open}"a<6>f"{close}}}"#),
        );
    }
    let mut answer = AnswerMask::new(Mask::default());
    for _ in 0..1000 {
        answer.push(&[b'['; 1000]).expect("nothing wrong");
    }
    for _ in 0..1000 {
        answer.push(&[b']'; 1000]).expect("nothing wrong");
    }
    assert_eq!(answer.finish().expect("JSON").body.len(), 2_000_000);
}

/// The removed middle of a long string must not be held until the string ends.
#[test]
fn removed_middle_of_a_long_string_is_not_buffered() {
    for size in [50, 5000] {
        let (max, head, tail) = (4000, 2000, 3000);
        let mut answer = AnswerMask::new(Mask::new(max, head, tail));
        answer.push(br#"{"result":""#).expect("no mistake");
        let mut most = 0;
        for _ in 0..100_000 / size {
            answer.push(&vec![b'x'; size]).expect("no mistake");
            most = most.max(answer.parser.visitor().output.bytes().len());
        }
        // Two steps back, plus the part before them that is not yet certain to be cut.
        assert!(most < 2000 + 2 * (3000 + 64) + 5000 + 100, "{size}: {most}");
        answer.push(b"\"}").expect("no mistake");
        assert_eq!(answer.finish().expect("JSON").cut_chars, 100_000 - 5000);
    }
}

/// Input that has arrived must not be read again, however long the token and however short the
/// pieces are.
#[test]
fn long_tokens_are_not_buffered() {
    for (before, token) in [
        ("[", "1"),
        ("[0.", "1"),
        ("[1e", "1"),
        ("", " "),
        ("{\"", "é"),
    ] {
        let text = format!("{before}{}", token.repeat(5000));
        let mut answer = AnswerMask::new(Mask::default());
        for byte in text.as_bytes() {
            answer.push(&[*byte]).expect("no mistake");
            assert!(answer.parser.held() < ChunkParser::<AnswerStrings>::MOST_HELD);
        }
    }
}
