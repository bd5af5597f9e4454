//! Checks that must hold for any masked bytes. The fuzz target of this name includes this file, and
//! `main.rs` replays its corpus through it, so that failures found by fuzzing stay covered without
//! a fuzzer.

use std::borrow::Cow;
use std::ops::Range;

use narrows_shape::{AnswerMask, Mask, MaskedAnswer, NotJson, mask as mask_best, mask_portably};
use serde::de::IgnoredAny;

/// Checks a text with its limits in the first three bytes. `serde_json` must agree on its validity,
/// both engines must agree with each other, and every string must match a simple reference
/// implementation.
pub(crate) fn check(data: &[u8]) {
    let [max_chars, head_chars, tail_chars, json @ ..] = data else {
        return;
    };
    let [max, head, tail] = [max_chars, head_chars, tail_chars].map(|byte| usize::from(*byte));
    let limits = Mask::new(max as i64, head, tail);
    let masked = mask_best(json, &limits);
    assert_eq!(masked, mask_portably(json, &limits));
    check_answer(json, limits, &[max + 1, head + 1, tail + 1]);

    // For slices, `serde_json` does not check UTF-8 in skipped strings.
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
            // The text before the error must be valid as far as it goes: it may be incomplete, but
            // contain no error.
            let before = mask_best(&json[..error.offset], &limits);
            assert!(before.map_or_else(|it| it.offset == error.offset, |_| true));
        }
        (masked, valid) => panic!("{masked:?} for what is valid as {valid:?}"),
    }
}

/// Checks a text as a response, cut into pieces of the given sizes in turn and of one byte. The
/// result must be the same as extracting its parts, masking them and putting them back.
pub(crate) fn check_answer(json: &[u8], limits: Mask, sizes: &[usize]) {
    let expected = answer_plainly(json, limits);
    assert_eq!(answer_in_pieces(json, limits, &[json.len()]), expected);
    assert_eq!(answer_in_pieces(json, limits, sizes), expected);
    assert_eq!(answer_in_pieces(json, limits, &[1]), expected);
}

fn answer_in_pieces(json: &[u8], limits: Mask, sizes: &[usize]) -> Result<MaskedAnswer, NotJson> {
    let mut answer = AnswerMask::new(limits);
    let mut rest = json;
    for size in sizes.iter().cycle() {
        let (piece, others) = rest.split_at((*size).clamp(1, rest.len().max(1)).min(rest.len()));
        answer.push(piece)?;
        rest = others;
        if rest.is_empty() {
            break;
        }
    }
    answer.finish()
}

fn answer_plainly(json: &[u8], limits: Mask) -> Result<MaskedAnswer, NotJson> {
    let whole = mask_best(json, &Mask::Off)?.text;
    let named = |within: Range<usize>, name: &str| -> Vec<Range<usize>> {
        let mut members = members(&whole, within);
        members.retain(|(key, _)| key.as_deref() == Some(name));
        members.into_iter().map(|(_, value)| value).collect()
    };
    let all = 0..whole.len();
    let (results, errors) = (named(all.clone(), "result"), named(all, "error"));
    let is_answer = !(results.is_empty() && errors.is_empty());
    let values = match results.is_empty() {
        true => errors
            .into_iter()
            .flat_map(|error| named(error, "data"))
            .collect(),
        false => results,
    };
    let mut answer = MaskedAnswer {
        body: Vec::new(),
        is_answer,
        cut_strings: 0,
        cut_chars: 0,
    };
    let mut copied = 0;
    for value in values {
        let masked = mask_best(&json[value.clone()], &limits).expect("a value of valid JSON");
        answer.body.extend(&json[copied..value.start]);
        answer.body.extend(masked.text.as_bytes());
        answer.cut_strings += masked.cut_strings;
        answer.cut_chars += masked.cut_chars;
        copied = value.end;
    }
    answer.body.extend(&json[copied..]);
    Ok(answer)
}

/// Returns the members of the object in this part of a valid text, if there is one. A key with an
/// unpaired surrogate has no name.
fn members(text: &str, within: Range<usize>) -> Vec<(Option<String>, Range<usize>)> {
    let mut members = Vec::new();
    let (mut key, mut value, mut depth) = (None, None, 0);
    if !text[within.clone()].trim_start().starts_with('{') {
        return members;
    }
    let mut at = within.start;
    while at < within.end {
        let byte = text.as_bytes()[at];
        match (byte, depth) {
            (b'"', _) => {
                let mut end = at + 1;
                while !text[end..].starts_with('"') {
                    end += length_of_first(&text[end..]);
                }
                if depth == 1 && value.is_none() {
                    key = serde_json::from_str(&text[at..=end]).ok();
                }
                at = end;
            }
            (b':', 1) => value = Some(at + 1),
            (b',' | b'}', 1) => members.extend(value.take().map(|start| (key.take(), start..at))),
            _ => {}
        }
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    members
}

/// Masks a valid text character by character, as a reference.
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

/// Returns the length in bytes of the first character of a string, including escapes.
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
