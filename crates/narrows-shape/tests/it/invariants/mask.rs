//! What must hold for any masked bytes. The fuzz target of this name includes
//! this file, and `main.rs` replays its corpus through it, so that what a
//! fuzzer once found stays found without one.

use std::borrow::Cow;

use narrows_shape::{Mask, mask as mask_best, mask_portably};
use serde::de::IgnoredAny;

/// A text with its limits in the first three bytes: JSON is judged as
/// serde_json judges it, both engines say the same, and every string is as the
/// plainest reading of the rules has it.
pub(crate) fn check(data: &[u8]) {
    let [max_chars, head_chars, tail_chars, json @ ..] = data else {
        return;
    };
    let [max, head, tail] = [max_chars, head_chars, tail_chars].map(|byte| usize::from(*byte));
    let limits = Mask::new(max as i64, head, tail);
    let masked = mask_best(json, &limits);
    assert_eq!(masked, mask_portably(json, &limits));

    // For slices serde_json leaves UTF-8 in skipped strings unchecked.
    let text = std::str::from_utf8(json).ok();
    let valid = text.filter(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
    match (masked, valid) {
        (Ok(masked), Some(text)) => {
            let (expected, strings, chars) = plainly(text, max, head, tail);
            assert_eq!(masked.text, expected);
            assert_eq!((masked.cut_strings, masked.cut_chars), (strings, chars));
            assert_eq!(matches!(masked.text, Cow::Borrowed(_)), strings == 0);
            assert!(serde_json::from_str::<IgnoredAny>(&masked.text).is_ok());
        }
        (Err(error), None) => {
            assert!(error.offset <= json.len());
            // Nothing before the place is at fault: so much of the text may be
            // unfinished, but no more than that.
            let before = mask_best(&json[..error.offset], &limits);
            assert!(before.map_or_else(|it| it.offset == error.offset, |_| true));
        }
        (masked, valid) => panic!("{masked:?} for what is valid as {valid:?}"),
    }
}

/// Masks a valid text character by character.
fn plainly(text: &str, max: usize, head: usize, tail: usize) -> (String, usize, usize) {
    let mut out = String::new();
    let (mut strings, mut cut) = (0, 0);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('"') {
        let mut inside = after;
        let mut written = Vec::new();
        while !inside.starts_with('"') {
            let (one, others) = inside.split_at(length_of_first(inside));
            written.push(one);
            inside = others;
        }
        rest = &inside[1..];
        let is_key = rest.trim_start().starts_with(':');
        out += before;
        out += "\"";
        let chars = written.len();
        if is_key || max == 0 || chars <= max {
            out += &written.concat();
        } else {
            let (head, tail) = (head.min(chars), tail.min(chars));
            out += &written[..head].concat();
            out += r"\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars=";
            out += &format!(r"{chars} head={head} tail={tail}] ...\n");
            out += &written[chars - tail..].concat();
            strings += 1;
            cut += chars.saturating_sub(head + tail);
        }
        out += "\"";
    }
    out += rest;
    (out, strings, cut)
}

/// How many bytes the first character of a string takes as it is written.
fn length_of_first(written: &str) -> usize {
    let unit = |at: usize| {
        let digits = written.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    match (unit(0), unit(6)) {
        (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
        (Some(_), _) => 6,
        _ if written.starts_with('\\') => 2,
        _ => written.chars().next().map_or(0, char::len_utf8),
    }
}
