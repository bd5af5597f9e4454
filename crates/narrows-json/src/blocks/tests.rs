use proptest::prelude::*;

use super::*;

/// Reference implementation: examines one bit at a time.
fn escaping_one_by_one(backslashes: u64) -> u64 {
    let mut escaping = 0;
    let mut at = 0;
    while at < 64 {
        if backslashes >> at & 1 == 1 {
            escaping |= 1 << at;
            at += 1;
        }
        at += 1;
    }
    escaping
}

proptest! {
    #[test]
    fn odd_runs_of_backslashes_escape(
        some: u64, many in prop::collection::vec(any::<u64>(), 1..4)
    ) {
        // An escaped backslash does not escape the next byte.
        for backslashes in [some, many.iter().fold(0, |all, more| all | more), u64::MAX << (some % 64)] {
            prop_assert_eq!(escaping(backslashes), escaping_one_by_one(backslashes));
        }
    }

    #[test]
    fn nth_finds_bits_by_rank(bits: u64) {
        let places: Vec<usize> = (0..64).filter(|at| bits >> at & 1 == 1).collect();
        for (before, place) in places.iter().enumerate() {
            prop_assert_eq!(nth(bits, before), *place);
        }
        let lowest = places.first().copied().unwrap_or(64);
        prop_assert_eq!(below_lowest(bits).count_ones() as usize, lowest);
        prop_assert_eq!(below_lowest(bits).trailing_ones() as usize, lowest);
    }
}

fn engines() -> [Engine; 2] {
    [Engine::Portable, Engine::best()]
}

/// Reads a string in chunks of `size` bytes. Bytes that cannot be judged yet are prepended to the
/// next chunk.
fn skip_in_chunks(engine: Engine, string: &[u8], size: usize) -> Result<usize, (usize, Reason)> {
    let mut cursor = Cursor::new(0);
    let (mut before, mut held) = (0, Vec::new());
    let mut chunks = string.chunks(size).peekable();
    loop {
        let chunk = chunks.next().unwrap_or_default();
        let input = match chunks.peek() {
            Some(_) => Input::Partial,
            None => Input::Complete,
        };
        held.extend_from_slice(chunk);
        match engine.skip(&mut cursor, &held, input) {
            Ok(StringEnd::Quote(end)) => return Ok(before + end),
            Ok(StringEnd::Partial(at)) => {
                assert!(held.len() - at < EDGE);
                cursor = cursor.moved_to(0);
                before += at;
                held.drain(..at);
            }
            Err(error) if error.offset == BEFORE => return Err((before - 1, error.reason)),
            Err(error) => return Err((before + error.offset, error.reason)),
        }
    }
}

const ESCAPES: &[&[u8]] = &[
    br"\n",
    br"\\",
    br#"\""#,
    br"\/",
    br"\u00e9",
    br"\ud834\udd1e",
    br"\ud834",
];
const ENDS_AND_MISTAKES: &[&[u8]] = &[b"\"", b"\\", b"\\u12", b"\\x", b"\n", b"\xff", b"\x1f"];

/// Generates the content of a string, possibly with errors and a closing quote.
fn inside() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => "[a-zé語]{1,30}".prop_map(String::into_bytes),
        4 => prop::sample::select(ESCAPES).prop_map(<[u8]>::to_vec),
        1 => prop::sample::select(ENDS_AND_MISTAKES).prop_map(<[u8]>::to_vec),
    ];
    prop::collection::vec(piece, 0..25).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn engines_agree_for_any_chunking(string in inside()) {
        let whole = skip_in_chunks(Engine::Portable, &string, string.len().max(1));
        for engine in engines() {
            for size in [1, 2, 7, 64, 100, string.len().max(1)] {
                prop_assert_eq!(skip_in_chunks(engine, &string, size), whole, "{}", size);
            }
            let mut cursor = Cursor::new(0);
            let counted = engine.count(&mut cursor, &string, usize::MAX, Input::Complete);
            match (counted, whole) {
                (Ok(Stop::End(StringEnd::Quote(end))), Ok(expected)) => prop_assert_eq!(end, expected),
                (Err(error), Err(expected)) => prop_assert_eq!((error.offset, error.reason), expected),
                (counted, whole) => prop_assert!(false, "{counted:?} {whole:?}"),
            }
        }
    }

    #[test]
    fn special_bytes_are_found(
        bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0..200_usize
    ) {
        let is_special = |byte: u8| byte == b'"' || byte == b'\\' || byte < 0x20;
        let at = at.min(bytes.len());
        let expected = (at..bytes.len()).find(|&it| is_special(bytes[it])).unwrap_or(bytes.len());
        for engine in engines() {
            let (found, not_ascii) = engine.special(&bytes, at);
            prop_assert!(found == expected || found < expected && bytes.len() - found < BLOCK);
            prop_assert!(not_ascii || bytes[at..found].is_ascii());
            let mut cursor = Cursor::new(at);
            let end = engine.skip(&mut cursor, &bytes, Input::Complete);
            if let Ok(StringEnd::Quote(end)) = end {
                prop_assert!(cursor.not_ascii() || bytes[at..end].is_ascii());
            }
        }
    }
}
