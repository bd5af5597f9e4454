use proptest::prelude::*;
use serde::de::IgnoredAny;

use super::*;
use crate::Scanner;
use crate::blocks::{Cursor, Engine};
use crate::strategy::{json_text, nearly_json};
use crate::string::short;

/// Records every event with its position in the whole text.
struct Notes {
    engine: Engine,
    cursor: Cursor,
    /// The position at which the current chunk starts in the whole text.
    begin: usize,
    notes: Vec<(&'static str, usize, usize)>,
}

impl Notes {
    fn new(engine: Engine) -> Notes {
        Notes {
            engine,
            cursor: Cursor::new(0),
            begin: 0,
            notes: Vec::new(),
        }
    }

    fn note(&mut self, what: &'static str, depth: usize, place: usize) {
        self.notes.push((what, depth, self.begin + place));
    }

    fn note_end(&mut self, role: Role, end: StringEnd) -> StringEnd {
        if let StringEnd::Quote(end) = end {
            let what = match role {
                Role::Key => "key",
                Role::Value => "string",
            };
            self.note(what, 0, end);
        }
        end
    }
}

impl Visitor for Notes {
    fn string(
        &mut self,
        role: Role,
        text: &[u8],
        start: usize,
        input: Input,
    ) -> ParseResult<StringEnd> {
        match short::<4, false>(text, start) {
            Some(end) => Ok(self.note_end(role, StringEnd::Quote(end))),
            None => {
                self.cursor = Cursor::new(start);
                self.rest_of_string(role, text, input)
            }
        }
    }

    fn rest_of_string(&mut self, role: Role, text: &[u8], input: Input) -> ParseResult<StringEnd> {
        let end = self.engine.skip(&mut self.cursor, text, input)?;
        Ok(self.note_end(role, end))
    }

    fn key_ended(&mut self, depth: usize, _text: &[u8], end: usize) {
        self.note("key ends", depth, end);
    }

    fn value_begins(&mut self, depth: usize, place: usize) {
        self.note("value begins", depth, place);
    }

    fn value_ended(&mut self, depth: usize, end: usize) {
        self.note("value ends", depth, end);
    }

    fn text_ended(&mut self, _text: &[u8], end: usize) {
        self.begin += end;
        self.cursor = self.cursor.moved_to(0);
    }
}

type Outcome = Result<Vec<(&'static str, usize, usize)>, Error>;

fn whole(engine: Engine, text: &[u8]) -> Outcome {
    parse(text, |_| Notes::new(engine)).map(|notes| notes.notes)
}

fn in_chunks<'a>(engine: Engine, chunks: impl Iterator<Item = &'a [u8]>) -> Outcome {
    let located = |error: LocatedError| Error {
        offset: error.place.offset,
        reason: error.reason,
    };
    let mut parser = ChunkParser::new(Notes::new(engine));
    for chunk in chunks {
        parser.push(chunk).map_err(located)?;
        assert!(parser.held() < ChunkParser::<Notes>::MOST_HELD);
    }
    parser.finish().map(|notes| notes.notes).map_err(located)
}

/// Checks that a text gives the same events as a whole and in chunks, both split in two at every
/// position and split into many. Returns true if it is valid JSON.
#[track_caller]
fn agree(text: &[u8]) -> bool {
    let expected = whole(Engine::Portable, text);
    for engine in [Engine::Portable, Engine::best()] {
        let shown = text.escape_ascii();
        assert_eq!(whole(engine, text), expected, "{shown}");
        for split in 0..=text.len() {
            let (first, second) = text.split_at(split);
            let two = in_chunks(engine, [first, second].into_iter());
            assert_eq!(two, expected, "{split}: {shown}");
        }
        for size in [1, 2, 3, 64] {
            let many = in_chunks(engine, text.chunks(size));
            assert_eq!(many, expected, "{size}: {shown}");
        }
    }
    // A scanner checks UTF-8 only in strings, so it may report a different first error for a text
    // that is not UTF-8.
    let mut scanner = Scanner::new(text);
    scanner.space();
    let scanned = scanner.value().and_then(|_| scanner.end());
    match expected {
        Err(error) if std::str::from_utf8(text).is_ok() => {
            let reason = match error.reason {
                Reason::ByteOrderMark => Reason::NoValue,
                reason => reason,
            };
            assert_eq!(scanned, Err(Error { reason, ..error }));
            false
        }
        expected => {
            assert_eq!(scanned.is_ok(), expected.is_ok());
            expected.is_ok()
        }
    }
}

#[test]
fn keys_and_values_are_reported_with_their_depth() {
    let notes = whole(Engine::Portable, br#" {"a" : ["b",{}] , "c":1}"#).expect("JSON");
    assert_eq!(
        notes,
        [
            ("key", 0, 4),
            ("key ends", 1, 5),
            ("value begins", 1, 7),
            ("string", 0, 11),
            ("value ends", 2, 12),
            ("value ends", 2, 15),
            ("value ends", 1, 16),
            ("key", 0, 21),
            ("key ends", 1, 22),
            ("value begins", 1, 23),
            ("value ends", 1, 24),
            ("value ends", 0, 25),
        ]
    );
}

#[test]
fn errors_do_not_depend_on_chunking() {
    for text in [
        "",
        " ",
        "{",
        "{\"a",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "[",
        "[1",
        "[1,",
        "-",
        "1.",
        "1e",
        "1e+",
        "01",
        "tru",
        "truf",
        "nulll",
        "\"\\",
        "\"\\u12",
        "\"\\ud834\\u",
        "[1}",
        "{\"a\":1]",
        "{} {}",
        "\u{feff}{}",
        "\u{feff}",
        "[\u{feff}]",
        "{,}",
        "[,]",
        "[1 2]",
        "\"\n\"",
    ] {
        assert!(!agree(text.as_bytes()), "{text:?}");
    }
    for text in [
        &b"\"\xff\""[..],
        b"\xef\xbb",
        b"[\xff]",
        b"\"\xe8\xaa",
        b"[1 2,\"\xff\"]",
        b"\"\\u12\xff",
        b"{}\xff",
    ] {
        assert!(!agree(text), "{}", text.escape_ascii());
    }
}

#[test]
fn numbers_may_be_split_anywhere() {
    for number in [
        "0",
        "-0",
        "10",
        "-1.5e+10",
        "1E5",
        "0.0",
        "12.50E-07",
        "1e0",
    ] {
        assert!(agree(number.as_bytes()), "{number}");
        assert!(
            agree(format!("[{number},{number} ]").as_bytes()),
            "{number}"
        );
    }
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    for depth in [63, 64, 65, 128, 129, 10_000] {
        let text = format!("{}1{}", "[{\"a\":".repeat(depth), "}]".repeat(depth));
        let expected = whole(Engine::best(), text.as_bytes());
        assert!(expected.is_ok());
        for size in [1, 61, 4096] {
            let chunks = text.as_bytes().chunks(size);
            assert!(
                in_chunks(Engine::best(), chunks) == expected,
                "{depth} {size}"
            );
        }
    }
}

#[test]
fn errors_are_final_and_located() {
    let mut parser = ChunkParser::new(Notes::new(Engine::best()));
    parser.push("{\"é\":\n".as_bytes()).expect("no mistake yet");
    let error = parser.push(b" } ").expect_err("a mistake");
    assert_eq!(
        error,
        LocatedError {
            place: crate::Place {
                offset: 8,
                line: 2,
                column: 2
            },
            reason: Reason::NoValue
        }
    );
    assert_eq!(parser.push(b"1}"), Err(error));
    assert_eq!(parser.finish().map(drop), Err(error));
}

proptest! {
    #[test]
    fn json_is_parsed_the_same_in_chunks(text in json_text()) {
        prop_assert!(agree(text.as_bytes()));
    }

    #[test]
    fn json_accepted_by_serde_json_is_accepted(bytes in nearly_json()) {
        // For slices, serde_json does not check UTF-8 in skipped strings.
        let expected = std::str::from_utf8(&bytes)
            .is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
        prop_assert_eq!(agree(&bytes), expected, "{}", bytes.escape_ascii());
    }

    #[test]
    fn arbitrary_bytes_are_judged_the_same_in_chunks(text in "[\\[\\]{}\",:\\\\ue0-9.+ tfnrualse\\-]{0,12}") {
        let expected = serde_json::from_str::<IgnoredAny>(&text).is_ok();
        prop_assert_eq!(agree(text.as_bytes()), expected, "{}", text);
    }
}
