use super::*;

/// Masks with both engines, which must always agree.
fn masked<'a>(json: &'a [u8], limits: &Mask) -> Result<Masked<'a>, NotJson> {
    let portably = mask_portably(json, limits);
    assert_eq!(mask(json, limits), portably, "{}", json.escape_ascii());
    portably
}

/// Checks one text. Limits are written as `max/head/tail`; in the expected text, `<chars,h,t>` is a
/// marker.
#[track_caller]
fn check(input: &str, limits: &str, expected: &str) {
    let numbers: Vec<i64> = limits
        .split('/')
        .map(|number| number.parse().expect("a number"))
        .collect();
    let &[max, head, tail] = &numbers[..] else {
        panic!("three numbers");
    };
    let limits = Mask::new(max, head as usize, tail as usize);
    let masked = masked(input.as_bytes(), &limits).expect("JSON");
    let short = masked
        .text
        .replace(r"\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars=", "<")
        .replace(r"] ...\n", ">")
        .replace(" head=", ",")
        .replace(" tail=", ",");
    assert_eq!(short, expected);
    assert_eq!(
        matches!(masked.text, Cow::Borrowed(_)),
        masked.cut_strings == 0
    );
}

#[track_caller]
fn unchanged(input: &str, limits: &str) {
    check(input, limits, input);
}

#[track_caller]
fn refuses(input: impl AsRef<[u8]>, offset: usize, what: &str) {
    let input = input.as_ref();
    for limits in [Mask::Off, Mask::new(1, 1, 1), Mask::default()] {
        let error = masked(input, &limits).expect_err("not JSON");
        assert_eq!(
            (error.offset, &*error.what),
            (offset, what),
            "{}",
            input.escape_ascii()
        );
    }
}

#[test]
fn marker_text_is_exact() {
    let masked = masked(br#"["abcdefgh"]"#, &Mask::new(5, 2, 1)).expect("JSON");
    let marker = r"\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars=8 head=2 tail=1] ...\n";
    assert_eq!(masked.text, format!(r#"["ab{marker}h"]"#));
    assert_eq!((masked.cut_strings, masked.cut_chars), (1, 5));
}

#[test]
fn only_strings_over_the_limit_are_cut() {
    unchanged(r#""abcde""#, "5/1/1");
    check(r#""abcdef""#, "5/1/1", r#""a<6,1,1>f""#);
    let text = |length: usize| format!("\"{}\"", "x".repeat(length));
    unchanged(&text(4000), "4000/2000/2000");
    let part = "x".repeat(2000);
    let cut = format!("\"{part}<4001,2000,2000>{part}\"");
    check(&text(4001), "4000/2000/2000", &cut);
    assert_eq!(Mask::default(), Mask::new(4000, 2000, 2000));
}

#[test]
fn keys_are_unchanged() {
    check(
        r#"{"a long key":"a long value","a long key":{"a long key" :["a long value"]}}"#,
        "3/1/1",
        r#"{"a long key":"a<12,1,1>e","a long key":{"a long key" :["a<12,1,1>e"]}}"#,
    );
    let long = format!(r#"{{"{}":1}}"#, "k\\n".repeat(3000));
    unchanged(&long, "3/1/1");
}

#[test]
fn non_positive_limit_disables_masking() {
    for limits in ["0/1/1", "-1/1/1", "-4000/0/0"] {
        unchanged(r#"["abcdefgh"]"#, limits);
    }
    assert_eq!(Mask::new(i64::MIN, 1, 1), Mask::Off);
    assert!(masked(b"[", &Mask::Off).is_err());
}

#[test]
fn head_and_tail_may_be_empty_or_overlap() {
    check(r#""abcdef""#, "5/0/0", r#""<6,0,0>""#);
    check(r#""abcdef""#, "5/0/2", r#""<6,0,2>ef""#);
    check(r#""abcdef""#, "5/2/0", r#""ab<6,2,0>""#);
    check(r#""abcdef""#, "5/4/4", r#""abcd<6,4,4>cdef""#);
    check(r#""abcdef""#, "5/6/7", r#""abcdef<6,6,6>abcdef""#);
    check(r#""abcdef""#, "5/9/0", r#""abcdef<6,6,0>""#);
    let most = Mask::new(1, usize::MAX, usize::MAX);
    assert_eq!(masked(br#""ab""#, &most).expect("JSON").cut_chars, 0);
}

#[test]
fn other_text_is_unchanged() {
    check(
        " { \"b\" : 1.0 ,\t\"a\":[ 123456789012345678901234567890 , -0.0E+5,\r\n\"\\u0041\\/b\\/c\" ] , \"a\" : null , \"s\":\"\\u004a\" }\n",
        "3/2/1",
        " { \"b\" : 1.0 ,\t\"a\":[ 123456789012345678901234567890 , -0.0E+5,\r\n\"\\u0041\\/<5,2,1>c\" ] , \"a\" : null , \"s\":\"\\u004a\" }\n",
    );
}

#[test]
fn escape_counts_as_one_character() {
    check(r#""\n\"\\\/\t\u00e9""#, "5/2/2", r#""\n\"<6,2,2>\t\u00e9""#);
    unchanged(r#""\n\"\\\/\t\u00e9""#, "6/2/2");
    // The backslash is escaped, and what follows it is text.
    check(r#""\\u0041\\n""#, "4/3/2", r#""\\u0<8,3,2>\\n""#);
}

#[test]
fn surrogate_pairs_and_lone_surrogates_count_as_one() {
    check(
        r#""a\ud834\udd1eb\uD83D\uDE00c""#,
        "4/2/2",
        r#""a\ud834\udd1e<5,2,2>\uD83D\uDE00c""#,
    );
    unchanged(r#""a\ud834\udd1eb""#, "3/1/1");
    check(
        r#""\udd1e\ud834\ud834x\udd1e""#,
        "4/2/2",
        r#""\udd1e\ud834<5,2,2>x\udd1e""#,
    );
    check(
        r#""\ud834\ud834\udd1e\udd1e""#,
        "2/1/1",
        r#""\ud834<3,1,1>\udd1e""#,
    );
    check(r#""\ud834\\udd1e""#, "2/1/1", r#""\ud834<7,1,1>e""#);
}

#[test]
fn multi_byte_characters_count_as_one() {
    check("\"日本語é😀\"", "4/2/2", "\"日本<5,2,2>é😀\"");
    unchanged("\"日本語é😀\"", "5/2/2");
}

#[test]
fn any_top_level_value_is_accepted() {
    for text in [
        "null", "true", "false", "0", "-1.5e+10", "\"\"", "[]", "{}", " [ ] ", "\n{ }\t",
    ] {
        unchanged(text, "1/1/1");
    }
}

/// Tests pieces of every length in bytes at every offset from block boundaries.
#[test]
fn characters_are_counted_at_every_block_boundary() {
    for piece in [
        "é",
        "語",
        "😀",
        r"\n",
        r"\\",
        r"\u00e9",
        r"\ud83d\ude00",
        r"\ud83d",
        r"\\\\\\",
    ] {
        for before in 0..140 {
            let text = format!("[\"{}{piece}{piece}yz\"]", "x".repeat(before));
            let each = match piece {
                r"\\\\\\" => 3,
                _ => 1,
            };
            let chars = before + 2 * each + 2;
            for (head, tail) in [
                (before, 2),
                (before + each, 2 + each),
                (before + 2 * each, 2 + 2 * each),
            ] {
                let expected = format!(
                    "[\"{}{}<{chars},{head},{tail}>{}yz\"]",
                    "x".repeat(before),
                    piece.repeat((head - before) / each),
                    piece.repeat((tail - 2) / each),
                );
                check(&text, &format!("{}/{head}/{tail}", chars - 1), &expected);
            }
            unchanged(&text, &format!("{chars}/1/1"));
        }
    }
}

/// The strings are long enough for the search for the tail to begin at either of the recorded
/// positions.
#[test]
fn tail_is_kept_wherever_the_string_ends() {
    for piece in ["x", "語", r"\n", r"ab\u00e9", r"\ud83d\ude00."] {
        let each = match piece {
            r"ab\u00e9" => 3,
            r"\ud83d\ude00." => 2,
            _ => 1,
        };
        for pieces in (1000..9000).step_by(487) {
            for tail in [0, 1, 64, 1000, 1500] {
                let text = format!("\"{}\"", piece.repeat(pieces));
                let expected = format!(
                    "\"<{},0,{}>{}\"",
                    pieces * each,
                    tail * each,
                    piece.repeat(tail.min(pieces)),
                );
                if tail <= pieces {
                    check(&text, &format!("1/0/{}", tail * each), &expected);
                }
            }
        }
    }
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    for depth in [1, 63, 64, 65, 127, 128, 129, 10_000, 100_000] {
        let open = r#"[{"key":"#.repeat(depth);
        let close = "}]".repeat(depth);
        check(
            &format!("{open}\"abcdef\"{close}"),
            "3/1/1",
            &format!("{open}\"a<6,1,1>f\"{close}"),
        );
        let wrong = format!("{open}1{}", close.replacen('}', "]", 1));
        refuses(wrong, open.len() + 1, "expected a comma or a closing brace");
    }
    let open = "[".repeat(1_000_000);
    refuses(
        &open,
        open.len(),
        "unexpected end of the text, expected a value",
    );
}

#[test]
fn cut_strings_and_characters_are_counted() {
    let text = br#"{"a":"abcdef","b":["ghijkl","mno"]}"#;
    let masked = masked(text, &Mask::new(5, 2, 1)).expect("JSON");
    assert_eq!((masked.cut_strings, masked.cut_chars), (2, 6));
}

#[test]
fn invalid_values_are_rejected_at_their_position() {
    const VALUE: &str = "expected a value";
    const END: &str = "unexpected end of the text, expected a value";
    refuses("", 0, END);
    refuses(" \n", 2, END);
    refuses("[", 1, END);
    refuses("[1,", 3, END);
    refuses("{\"a\":", 5, END);
    refuses("]", 0, VALUE);
    refuses("[1,]", 3, VALUE);
    refuses("[,1]", 1, VALUE);
    refuses("'a'", 0, VALUE);
    refuses("NaN", 0, VALUE);
    refuses("[\u{a0}1]", 1, VALUE);
    refuses("\u{feff}{}", 0, "unexpected byte order mark");
    refuses("{} {}", 3, "unexpected text after the value");
    refuses("1\0", 1, "unexpected text after the value");
    refuses("\x0c1", 0, VALUE);
    refuses("[1 2]", 3, "expected a comma or a closing bracket");
    refuses("[1}", 2, "expected a comma or a closing bracket");
    refuses("[1", 2, "expected a comma or a closing bracket");
    refuses("{\"a\":1]", 6, "expected a comma or a closing brace");
    refuses(
        "{\"a\":1 \"b\":2}",
        7,
        "expected a comma or a closing brace",
    );
    refuses("{", 1, "expected a key");
    refuses("{a:1}", 1, "expected a key");
    refuses("{\"a\":1,}", 7, "expected a key");
    refuses("{,}", 1, "expected a key");
    refuses("{1:1}", 1, "expected a key");
    refuses("{\"a\" 1}", 5, "expected a colon after a key");
    refuses("{\"a\"}", 4, "expected a colon after a key");
}

#[test]
fn numbers_and_literals_follow_the_grammar() {
    const DIGIT: &str = "expected a digit in the number";
    const WORD: &str = "unknown word, expected true, false or null";
    refuses("01", 1, "unexpected text after the value");
    refuses("-01", 2, "unexpected text after the value");
    refuses("-", 1, DIGIT);
    refuses("-a", 1, DIGIT);
    refuses("1.", 2, DIGIT);
    refuses("1.e1", 2, DIGIT);
    refuses("1e", 2, DIGIT);
    refuses("1e+", 3, DIGIT);
    refuses(".5", 0, "expected a value");
    refuses("+1", 0, "expected a value");
    refuses("0x1", 1, "unexpected text after the value");
    refuses("tru", 0, WORD);
    refuses("[nul]", 1, WORD);
    refuses("fals\"", 0, WORD);
    refuses("truex", 4, "unexpected text after the value");
    refuses("True", 0, "expected a value");
    for beyond_a_float in ["1e999", "-1e999", "1e-999", &"9".repeat(400)] {
        unchanged(beyond_a_float, "1/0/0");
    }
}

#[test]
fn invalid_strings_are_rejected_at_their_position() {
    const DIGITS: &str = "a \\u escape without four hex digits";
    const END: &str = "unexpected end of the text inside a string";
    refuses("\"", 1, END);
    refuses("\"abc", 4, END);
    refuses("{\"abc", 5, END);
    refuses(format!("\"{}", "x".repeat(500)), 501, END);
    refuses(r#""\x""#, 1, "an unknown escape");
    refuses(r#""\U0041""#, 1, "an unknown escape");
    refuses(r#"{"\a":1}"#, 2, "an unknown escape");
    refuses(r#""\"#, 1, "an unknown escape");
    refuses("\"\\\n\"", 1, "an unknown escape");
    refuses("\"\\é\"", 1, "an unknown escape");
    refuses(r#""\u12g4""#, 1, DIGITS);
    refuses(r#""\u12""#, 1, DIGITS);
    refuses(r#""\u"#, 1, DIGITS);
    refuses(r#""\ud834\u12""#, 7, DIGITS);
    refuses(r#""\x\u""#, 1, "an unknown escape");
    refuses(r#""\u\x""#, 1, DIGITS);
}

#[test]
fn string_errors_are_found_at_every_block_offset() {
    for before in 0..200 {
        let text = |wrong: &str| format!("\"{}{wrong}{}\"", "x".repeat(before), "y".repeat(70));
        for control in ["\0", "\n", "\x1f"] {
            refuses(text(control), before + 1, "a control character in a string");
        }
        for escape in [r"\x", r"\&", "\\\x02", "\\\u{82}"] {
            refuses(text(escape), before + 1, "an unknown escape");
            refuses(
                text(&format!(r"\\{escape}\u")),
                before + 3,
                "an unknown escape",
            );
        }
        refuses(
            text(r"\u00g0"),
            before + 1,
            "a \\u escape without four hex digits",
        );
        unchanged(&text("\x7f"), "0/0/0");
    }
}

#[test]
fn invalid_utf8_is_rejected_and_first_error_is_reported() {
    const UTF8: &str = "invalid UTF-8";
    refuses(b"\"\xff\"", 1, UTF8);
    refuses(b"\"\xed\xa0\x80\"", 1, UTF8);
    refuses(b"\"\xc0\x80\"", 1, UTF8);
    refuses(b"{\"abc\xc3\":1}", 5, UTF8);
    refuses(b"\"abc\xc3", 4, UTF8);
    refuses(b"1\xff", 1, UTF8);
    refuses(b"[\xff]", 1, UTF8);
    refuses(
        b"[1 2,\"\xff\"]",
        3,
        "expected a comma or a closing bracket",
    );
    let mut long = vec![b'"'];
    long.extend([b'x'; 1000]);
    long.extend(b"\xe8\xaa\"");
    refuses(long, 1001, UTF8);
}

#[test]
fn errors_have_a_line_and_column() {
    let error = masked(
        "{\n  \"é\": \"日本\",\n  \"日本\" 1\n}".as_bytes(),
        &Mask::Off,
    )
    .expect_err("not JSON");
    assert_eq!((error.offset, error.line, error.column), (31, 3, 8));
    assert_eq!(
        error.to_string(),
        "not JSON: expected a colon after a key at line 3, column 8 (byte 31)"
    );
}
