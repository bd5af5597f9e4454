//! Checks that must hold for any text, goal and budget. The fuzz target of this name includes this
//! file, and `main.rs` replays its corpus through it, so that failures found by fuzzing stay
//! covered without a fuzzer.

use std::ops::Range;

use narrows_shape::budget::{
    CutRange, Fitted, Order, RecoveryCall, RecoveryForm, Stage, fit, fit_json, tighten,
};
use narrows_shape::prune::{Deadline, Fallback, Lexical, Lines, SourceType};
use narrows_shape::toon;
use serde_json::Value;

const MARKS: [&str; 2] = ["⟦narrows: ", "⟦cut "];

/// Checks fuzzer input. The first three bytes are the options, followed by the goal up to a NUL.
/// The rest is the text, repeated so that it is worth cutting, or JSON with such rows. Invalid
/// UTF-8 is replaced.
pub(crate) fn check(data: &[u8]) {
    let Some((&[kind, budget, times], rest)) = data.split_first_chunk() else {
        return;
    };
    let rest = String::from_utf8_lossy(rest);
    let (goal, text) = rest.split_once('\0').unwrap_or(("", &rest));
    let times = usize::from(times) % 64 + 1;
    let text = match kind / 4 % 4 {
        0 => text.to_owned(),
        1 => text.repeat(times),
        2 => format!("[{}]", vec![text; times].join(",")),
        _ => format!("{{\"a\":{text},\"b\": [{}]}}", vec![text; times].join(" ,")),
    };
    let source = SourceType::ALL.get(usize::from(kind) % 4).copied();
    let goal = Some(goal).filter(|goal| !goal.is_empty());
    hold(&text, goal, source, 1_000 + 16 * usize::from(budget));
}

/// Fits a text into a budget and checks all guarantees of the result.
pub(crate) fn hold(text: &str, goal: Option<&str>, source: Option<SourceType>, max_chars: usize) {
    let order = Order {
        max_chars,
        goal,
        source,
        recovery: RecoveryCall {
            tool: "recover_text",
            receipt: "prn_01ARZ3NDEKTSV4RRFFQ69G5FAV",
            form: RecoveryForm::Exec,
        },
    };
    let run = |deadline: &Deadline<'_>| fit(text, &order, &Lexical, deadline);
    let fitted = run(&Deadline::never()).expect("any text fits");
    assert_eq!(run(&Deadline::never()).as_ref(), Ok(&fitted));
    let is_json = serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok();
    let is_tree = is_json && text.trim_start().starts_with(['{', '[']);
    if let Some(tight) = tighten(text) {
        assert!(is_tree && tight.cuts.is_empty() && tight.stages.len() == 1);
        assert!(tight.text.chars().count() < text.chars().count());
    }
    if text.chars().count() <= max_chars {
        assert_eq!((&*fitted.text, fitted.cuts.len()), (text, 0));
        assert_eq!(fitted.stages, []);
        return;
    }
    // After the deadline, only the first and the last lines are left.
    let late = run(&Deadline::new(&|| true)).expect("any text fits");
    holds(text, &late, max_chars);
    plain(text, &late);
    holds(text, &fitted, max_chars);
    // JSON that cannot be cut loses its middle, like other text.
    let is_masked = fitted.stages == [Stage::Masked] && fitted.text.contains(" chars shown; ");
    match is_tree && (!is_masked || is_json_body(&fitted)) {
        true => json(text, &fitted),
        false => plain(text, &fitted),
    }
    match fit_json(text, &order, &Lexical, &Deadline::never()) {
        Ok(fitted) => {
            assert!(is_json && !fitted.stages.contains(&Stage::Toon));
            holds(text, &fitted, max_chars);
            json(text, &fitted);
            assert_eq!(fitted.text.get(..1), text.trim_start().get(..1));
        }
        Err(fallback) => {
            assert_eq!(fallback, Fallback::ConstraintsUnmet);
            assert!(!is_tree);
        }
    }
}

fn holds(text: &str, fitted: &Fitted, max_chars: usize) {
    assert!(fitted.text.chars().count() <= max_chars);
    let spans = spans(text, &fitted.cuts);
    assert!(
        spans
            .iter()
            .all(|span| span.start < span.end || text.contains('\n'))
    );
    assert!(spans.windows(2).all(|two| two[0].end <= two[1].start));
    let is_lossless = |stage: &Stage| matches!(stage, Stage::Compact | Stage::Toon);
    assert_eq!(
        fitted.cuts.is_empty(),
        fitted.stages.iter().all(is_lossless)
    );
}

/// Returns the byte ranges of places.
fn spans(text: &str, places: &[CutRange]) -> Vec<Range<usize>> {
    let lines = Lines::new(text);
    let mut chars: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    chars.push(text.len());
    let offset = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let span = |place: &CutRange| match *place {
        CutRange::Chars { first, last } => chars[first - 1]..chars[last],
        CutRange::Lines { first, last } => {
            let part = lines.span(&(first - 1..last));
            offset(part)..offset(part) + part.len()
        }
    };
    places.iter().map(span).collect()
}

/// Returns the pieces of a part of the text that remain between the cuts.
fn pieces<'a>(text: &'a str, part: &Range<usize>, cuts: &[Range<usize>]) -> Vec<&'a str> {
    let mut pieces = Vec::new();
    let mut next = part.start;
    for cut in cuts
        .iter()
        .filter(|cut| part.start <= cut.start && cut.end <= part.end)
    {
        pieces.push(&text[next..cut.start]);
        next = cut.end;
    }
    pieces.push(&text[next..part.end]);
    pieces
}

/// Returns `true` if a text consists of the pieces, with a marker between each two of them.
fn are_joined_by_markers(pieces: &[&str], text: &str) -> bool {
    let mut rest = text;
    for (nth, piece) in pieces.iter().enumerate() {
        if nth > 0 {
            let is_marked = MARKS.iter().any(|mark| rest.starts_with(mark));
            let Some(end) = rest.find('⟧').filter(|_| is_marked) else {
                return false;
            };
            rest = &rest[end + '⟧'.len_utf8()..];
        }
        match rest.strip_prefix(piece) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    rest.is_empty()
}

/// Checks that replacing each marker with its place restores the original: the pieces between the
/// places are the text between the markers.
fn plain(text: &str, fitted: &Fitted) {
    let cuts = spans(text, &fitted.cuts);
    let pieces = pieces(text, &(0..text.len()), &cuts);
    let mut is_rebuilt = beginnings(&fitted.text).map(|rest| are_joined_by_markers(&pieces, rest));
    assert!(is_rebuilt.any(|is| is), "{}", fitted.text);
    let has_header = fitted.text.starts_with("⟦narrows: digest, ");
    let is_cut = |stage: &Stage| !matches!(stage, Stage::Base64);
    assert!(has_header || !fitted.stages.iter().any(is_cut));
    for (place, cut) in fitted.cuts.iter().zip(&cuts) {
        if matches!(place, CutRange::Lines { .. }) {
            assert!(cut.start == 0 || text[..cut.start].ends_with('\n'));
            assert!(cut.end == text.len() || text[cut.end..].starts_with('\n'));
        }
    }
}

/// Checks that every key and value is in the output or in a cut place.
fn json(text: &str, fitted: &Fitted) {
    if text.contains(['⟦', '⟧']) {
        return;
    }
    let cuts = spans(text, &fitted.cuts);
    let is_toon = fitted.stages.first() == Some(&Stage::Toon);
    let is_marker = |token: &&str| {
        let marks = ["⟦narrows: rows", "⟦narrows: keys", "⟦cut rows", "⟦cut keys"];
        marks.iter().any(|mark| token.starts_with(mark))
    };
    let body = beginnings(&fitted.text).last().expect("a body");
    let output = match is_toon {
        true => toon::decode(&without_markers(body)).expect("TOON stays TOON"),
        false => body.to_owned(),
    };
    serde_json::from_str::<&serde_json::value::RawValue>(&output).expect("JSON stays JSON");
    let mut found = tokens(&output)
        .into_iter()
        .map(|token| &output[token])
        .filter(|token| !is_marker(&token.trim_matches('"')));
    for token in tokens(text) {
        let is_cut = |cut: &Range<usize>| cut.start <= token.start && token.end <= cut.end;
        if cuts.iter().any(is_cut) {
            continue;
        }
        let mut other = found.next().expect("as many values");
        // The value after a marker that is used as a key.
        while other == "null" && &text[token.clone()] != "null" {
            other = found.next().expect("as many values");
        }
        let pieces = pieces(text, &token, &cuts);
        let is_same = match is_toon {
            false => are_joined_by_markers(&pieces, other),
            true => is_same_value(&pieces, other),
        };
        assert!(is_same, "{} became {other}", &text[token]);
    }
    assert!(found.all(|token| token == "null"), "more than there was");
}

fn is_json_body(fitted: &Fitted) -> bool {
    let body = beginnings(&fitted.text).last().unwrap_or_default();
    serde_json::from_str::<&serde_json::value::RawValue>(body).is_ok()
}

/// Returns the digest, the digest without its first line in brackets, without its first two, and so
/// on. The text itself may begin with such lines, so the length of the beginning is unknown.
fn beginnings(digest: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(digest), |rest| {
        let (line, behind) = rest.split_once('\n')?;
        (line.starts_with('⟦') && line.ends_with('⟧')).then_some(behind)
    })
}

/// Returns TOON without the markers among its rows, with the row counts adjusted.
fn without_markers(digest: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines: Vec<String> = digest.split('\n').map(str::to_owned).collect();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].clone();
        let marker = line.trim_start().trim_start_matches("- ");
        let Some(range) = marker
            .strip_prefix("⟦cut rows ")
            .and_then(|it| it.strip_suffix('⟧'))
        else {
            at += 1;
            continue;
        };
        let (first, last) = range.split_once('-').expect("a range");
        let read = |number: &str| number.parse::<usize>().expect("a number");
        let head = (0..at).rev().find(|&it| indent(&lines[it]) < indent(&line));
        let head = &mut lines[head.expect("a table around it")];
        let quoted = head
            .rfind('"')
            .filter(|_| head.trim_start().starts_with('"'));
        let from = quoted.map_or(0, |_| head[1..].find("\"[").map_or(0, |it| it + 1));
        let start = from + head[from..].find('[').expect("a count") + 1;
        let end = start + head[start..].find(']').expect("a count");
        let count = read(&head[start..end]) - (read(last) + 1 - read(first));
        head.replace_range(start..end, &count.to_string());
        lines.remove(at);
    }
    lines.join("\n")
}

fn is_same_value(pieces: &[&str], found: &str) -> bool {
    let read = |json: &str| serde_json::from_str::<Value>(json).expect("a value");
    match (pieces, read(found)) {
        ([one], found) => match (read(one), found) {
            (Value::Number(one), Value::Number(found)) => one.as_f64() == found.as_f64(),
            (one, found) => one == found,
        },
        ([first, inner @ .., last], Value::String(found)) => {
            let text = |json: String| read(&json).as_str().expect("a string").to_owned();
            let mut parts = vec![text(format!("{first}\""))];
            parts.extend(inner.iter().map(|piece| text(format!("\"{piece}\""))));
            parts.push(text(format!("\"{last}")));
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            are_joined_by_markers(&parts, &found)
        }
        _ => false,
    }
}

/// Returns the keys and the values that are not containers.
fn tokens(json: &str) -> Vec<Range<usize>> {
    let bytes = json.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        at += 1;
        match bytes[start] {
            b'"' => {
                while bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
                tokens.push(start..at);
            }
            b'[' | b']' | b'{' | b'}' | b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => {
                while at < bytes.len() && !b"[]{},: \t\r\n".contains(&bytes[at]) {
                    at += 1;
                }
                tokens.push(start..at);
            }
        }
    }
    tokens
}
