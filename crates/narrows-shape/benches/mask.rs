//! Measures masking throughput, including the JSON check, in gigabytes per second.
//!
//! Each text is masked with the fastest instructions of this machine and with portable code. A
//! round trip through `serde_json::Value` runs in the same rounds, because absolute figures depend
//! on the machine. The benchmark also masks the same text as the `result` of a response, once as it
//! arrives and once as a whole.
//!
//! Run with `cargo bench -p narrows-shape --bench mask`, or with part of a name after `--`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use narrows_shape::{AnswerMask, Mask, MaskedAnswer, mask, mask_portably};
use serde_json::{Value, json};

fn main() {
    // Cargo adds flags of its own (`--bench`); only an argument without a dash is a filter.
    let only = std::env::args()
        .skip(1)
        .find(|arg| !arg.starts_with('-'))
        .unwrap_or_default();
    println!(
        "{:28} {:>8} {:>8} {:>9} {:>10} {:>7} {:>10} {:>9} {:>8}",
        "GB/s",
        "MB",
        "mask",
        "portably",
        "round trip",
        "times",
        "(portably)",
        "in pieces",
        "of whole"
    );
    for (name, text) in texts().into_iter().filter(|(name, _)| name.contains(&only)) {
        measure(name, &text);
    }
}

/// Returns typical results: one large string, several strings, or structured data.
fn texts() -> Vec<(&'static str, String)> {
    let plain = "the quick brown fox jumps over the lazy dog; ";
    let item = json!({"type": "text", "text": plain.repeat(20)});
    let answer = json!({"content": [item, item], "isError": false});
    let code = [
        include_str!("../src/mask.rs"),
        include_str!("../src/mask/string.rs"),
        include_str!("../../narrows-json/src/blocks.rs"),
    ]
    .concat();
    let files = vec![code.as_str(); SIZE / code.len()];
    let chinese = "敏捷的棕色狐狸跳过懒狗，";
    // The form that ASCII-only JSON writers produce, with a surrogate pair.
    let escaped = r"\u654f\u6377\u7684\ud83e\udd8a ";
    let record = |n: usize| {
        let name = format!("item {n}");
        json!({"id": n, "name": name, "ok": n.is_multiple_of(2)})
    };
    let records: Value = (0..200_000).map(record).collect();
    vec![
        ("answer, 2 kB", answer.to_string()),
        ("plain", json!(fill(plain)).to_string()),
        ("code, one string", json!(files.concat()).to_string()),
        ("code, one string per file", json!(files).to_string()),
        ("chinese", json!(fill(chinese)).to_string()),
        ("chinese, escaped", format!("\"{}\"", fill(escaped))),
        ("200,000 small objects", records.to_string()),
    ]
}

const SIZE: usize = 10_000_000;

fn fill(piece: &str) -> String {
    piece.repeat(SIZE / piece.len())
}

fn measure(name: &str, text: &str) {
    let limits = Mask::default();
    let expected = round_trip(text);
    for masked in [
        mask(text.as_bytes(), &limits),
        mask_portably(text.as_bytes(), &limits),
    ] {
        let masked: Value = serde_json::from_str(&masked.expect("JSON").text).expect("JSON");
        assert_eq!(
            masked,
            serde_json::from_str::<Value>(&expected).expect("JSON")
        );
    }
    let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{text}}}"#);
    assert_eq!(
        in_pieces(&answer, limits).body,
        mask(answer.as_bytes(), &limits)
            .expect("JSON")
            .text
            .as_bytes()
    );
    let [ours, portably, theirs, whole, pieces] = rates(
        text,
        [
            &|| mask(text.as_bytes(), &limits).is_ok(),
            &|| mask_portably(text.as_bytes(), &limits).is_ok(),
            &|| !round_trip(text).is_empty(),
            &|| mask(answer.as_bytes(), &limits).is_ok(),
            &|| in_pieces(&answer, limits).is_answer,
        ],
    );
    println!(
        "{name:28} {:>8.3} {ours:>8.2} {portably:>9.2} {theirs:>10.2} {:>6.1}x {:>9.1}x {pieces:>9.2} {:>7.2}x",
        text.len() as f64 / 1e6,
        ours / theirs,
        portably / theirs,
        pieces / whole,
    );
}

/// Masks a response in pieces of 32 KiB, as a socket would deliver them.
fn in_pieces(answer: &str, limits: Mask) -> MaskedAnswer {
    let mut mask = AnswerMask::new(limits);
    for piece in answer.as_bytes().chunks(32 * 1024) {
        mask.push(piece).expect("JSON");
    }
    mask.finish().expect("JSON")
}

fn round_trip(text: &str) -> String {
    let mut value: Value = serde_json::from_slice(text.as_bytes()).expect("JSON");
    shorten(&mut value);
    value.to_string()
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            let chars = match text.len() {
                // A string never has more characters than bytes.
                ..=4000 => 0,
                _ => text.chars().count(),
            };
            if chars > 4000 {
                let head = text.char_indices().nth(2000).map_or(0, |(at, _)| at);
                let tail = text.char_indices().nth_back(1999).map_or(0, |(at, _)| at);
                *text = format!(
                    "{}\n... [KIMI_PROXY_OBSERVATION_MASKED original_chars={chars} head=2000 tail=2000] ...\n{}",
                    &text[..head],
                    &text[tail..]
                );
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(shorten),
        Value::Object(members) => members.values_mut().for_each(shorten),
        _ => {}
    }
}

/// Returns gigabytes per second for each candidate, from the fastest of several rounds, because
/// noise only slows a run down. Each round runs all candidates, so that long-lasting noise slows
/// them equally.
fn rates<const N: usize>(text: &str, works: [&dyn Fn() -> bool; N]) -> [f64; N] {
    let repeats = (4_000_000 / text.len()).max(1);
    let mut fastest = [Duration::MAX; N];
    for _ in 0..20 {
        for (work, fastest) in works.iter().zip(&mut fastest) {
            let start = Instant::now();
            for _ in 0..repeats {
                assert!(black_box(work()));
            }
            *fastest = start.elapsed().min(*fastest);
        }
    }
    fastest.map(|time| (text.len() * repeats) as f64 / time.as_secs_f64() / 1e9)
}
