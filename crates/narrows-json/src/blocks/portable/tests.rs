use proptest::prelude::*;

use super::*;

fn is_special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

fn find(text: &[u8], at: usize) -> usize {
    Search::default().next(text, at)
}

#[test]
fn search_skips_every_plain_string_byte() {
    let plain: Vec<u8> = (0x20..=0xff)
        .filter(|byte| *byte != b'"' && *byte != b'\\')
        .collect();
    for shift in 0..70 {
        let mut text = vec![b'x'; shift];
        text.extend_from_slice(&plain);
        assert_eq!(find(&text, 0), text.len());
        for special in [b'"', b'\\', 0x1f, 0x00] {
            text.push(special);
            assert_eq!(find(&text, 0), text.len() - 1);
            text.extend_from_slice(&plain);
            assert_eq!(find(&text, 0), shift + plain.len());
            text.truncate(shift + plain.len());
        }
    }
}

proptest! {
    #[test]
    fn search_agrees_with_a_naive_loop(
        bytes in proptest::collection::vec(any::<u8>(), 0..150),
        at in 0..150_usize,
        crowded: bool,
    ) {
        let at = at.min(bytes.len());
        let expected = (at..bytes.len()).find(|&i| is_special(bytes[i])).unwrap_or(bytes.len());
        let mut search = Search { not_ascii: false, crowded };
        prop_assert_eq!(search.next(&bytes, at), expected);
        // The flag may be set because of bytes after `at`, but must not miss any before it.
        prop_assert!(search.not_ascii || bytes[at..expected].is_ascii());
    }
}
