//! Measures the validation of a message, which is the only work done on every byte of a large tool
//! result, and the extraction of its text. Prints gigabytes per second next to those of serde_json
//! (`&RawValue`, `Cow<str>`) from the same run, because absolute figures depend on the machine.
//!
//! Run with `cargo bench -p narrows-wire`, or append `-- NAME` to run only the benchmarks whose
//! names contain NAME.

use std::borrow::Cow;
use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use narrows_wire::{Raw, decode};
use serde_json::value::RawValue;

fn main() {
    // Cargo adds its own flags (`--bench`); only an argument without a dash is a filter.
    let only = std::env::args()
        .skip(1)
        .find(|arg| !arg.starts_with('-'))
        .unwrap_or_default();
    println!(
        "{:26} {:^28} {:^21} {:^9}",
        "", "check", "decode the text", "find"
    );
    println!(
        "{:26} {:>8} {:>8} {:>10} {:>10} {:>10} {:>9}",
        "GB/s", "parse", "decode", "(serde)", "as_text", "(serde)", "member"
    );
    for (name, body) in texts().into_iter().filter(|(name, _)| name.contains(&only)) {
        measure(name, &message(&body));
    }
}

/// Typical tool results: one large string, or structured data.
fn texts() -> Vec<(&'static str, String)> {
    let plain = "the quick brown fox jumps over the lazy dog; ";
    let line = format!("{}\\n", "x".repeat(68));
    let quoted = "key: \\\"value\\\", ";
    let accents = "Voilà l'été à la plage, où l'on mange des crêpes sucrées.\\n";
    let chinese = "敏捷的棕色狐狸跳过懒狗，";
    let record = r#"{"id":12345,"name":"item","tags":["a","b"],"price":1.5,"ok":true},"#;
    vec![
        ("small call", "hello".to_owned()),
        ("plain, 100 kB", plain.repeat(100_000 / plain.len())),
        ("plain, 10 MB", plain.repeat(10_000_000 / plain.len())),
        ("escape every 70, 100 kB", line.repeat(100_000 / line.len())),
        (
            "escape every 70, 10 MB",
            line.repeat(10_000_000 / line.len()),
        ),
        (
            "escape every 8, 1 MB",
            quoted.repeat(1_000_000 / quoted.len()),
        ),
        ("accents, 1 MB", accents.repeat(1_000_000 / accents.len())),
        ("chinese, 1 MB", chinese.repeat(1_000_000 / chinese.len())),
        (
            "records, 1 MB",
            format!(
                "\",\"data\":[{}0],\"end\":\"",
                record.repeat(1_000_000 / record.len())
            ),
        ),
    ]
}

fn message(text: &str) -> Bytes {
    Bytes::from(format!(
        r#"{{"jsonrpc":"2.0","id":7,"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
    ))
}

fn measure(name: &str, message: &Bytes) {
    let whole = Raw::parse(message.clone()).expect("valid JSON");
    let item = || whole.member("result")?.member("content")?.elements().next();
    let text = item()
        .and_then(|item| item.member("text"))
        .expect("a text item");
    println!(
        "{name:26} {:>8.2} {:>8.2} {:>10.2} {:>10.2} {:>10.2} {:>9.2}",
        rate(message, || Raw::parse(message.clone()).is_ok()),
        rate(message, || decode(message.clone()).is_ok()),
        rate(message, || serde_json::from_slice::<&RawValue>(message)
            .is_ok()),
        rate(text.bytes(), || text.as_text().is_some()),
        rate(text.bytes(), || text.decode::<Cow<'_, str>>().is_ok()),
        rate(message, || item().is_some()),
    );
}

/// Returns gigabytes per second of the fastest round, because noise only slows a round down.
fn rate(message: &Bytes, mut work: impl FnMut() -> bool) -> f64 {
    let repeats = (4_000_000 / message.len()).max(1);
    let mut fastest = Duration::MAX;
    for _ in 0..40 {
        let start = Instant::now();
        for _ in 0..repeats {
            assert!(black_box(work()));
        }
        fastest = fastest.min(start.elapsed());
    }
    (message.len() * repeats) as f64 / fastest.as_secs_f64() / 1e9
}
