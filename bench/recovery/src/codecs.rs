//! Compression of real texts: ratio and speed.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ruzstd::encoding::CompressionLevel;
use serde_json::Value;

use crate::Result;

type Code = fn(&[u8]) -> Vec<u8>;
type Decode = fn(&[u8], usize) -> Option<Vec<u8>>;

const CODECS: [(&str, Code, Decode); 4] = [
    ("lz4_flex, safe", lz4, of_lz4),
    ("zstd 1", |text| zstd(text, 1), of_zstd),
    ("zstd 3", |text| zstd(text, 3), of_zstd),
    ("ruzstd, fastest", ruzstd, of_ruzstd),
];

/// The minimum length of a text. Shorter texts are never cut, so they are not stored either.
const LEAST: usize = 4_000;

pub(crate) fn compare(data: &Path) -> Result<()> {
    let mut sets = vec![("results", results(&data.join("results"))?)];
    for set in ["logs", "code"] {
        sets.push((set, cases(&data.join(format!("prune/{set}.jsonl")))?));
    }
    // A concatenation of all texts, repeated until it is long enough.
    let all = sets.iter().flat_map(|(_, texts)| texts).map(String::as_str);
    let all: String = all.collect();
    let mut large = all.repeat(5_000_000 / all.len().max(1) + 1);
    large.truncate(large.floor_char_boundary(5_000_000));
    sets.push(("one of 5 MB", vec![large]));
    println!("| texts | codec | ratio | compress | decompress |");
    println!("|---|---|---|---|---|");
    for (set, texts) in &sets {
        let bytes: usize = texts.iter().map(String::len).sum();
        for (codec, code, decode) in CODECS {
            let coded: Vec<Vec<u8>> = texts.iter().map(|text| code(text.as_bytes())).collect();
            let small: usize = coded.iter().map(Vec::len).sum();
            for (text, coded) in texts.iter().zip(&coded) {
                if decode(coded, text.len()).as_deref() != Some(text.as_bytes()) {
                    return Err(format!("{codec} changed a text of {set}").into());
                }
            }
            let there = least(|| texts.iter().map(|text| code(text.as_bytes()).len()).sum());
            let pairs = || texts.iter().zip(&coded);
            let length =
                |text: &String, coded: &[u8]| decode(coded, text.len()).map_or(0, |t| t.len());
            let back = least(|| pairs().map(|(text, coded)| length(text, coded)).sum());
            println!(
                "| {set} ({} texts, {:.1} MB) | {codec} | {:.2} | {:.0} MB/s | {:.0} MB/s |",
                texts.len(),
                bytes as f64 / 1e6,
                bytes as f64 / small as f64,
                bytes as f64 / there.as_secs_f64() / 1e6,
                bytes as f64 / back.as_secs_f64() / 1e6,
            );
        }
    }
    Ok(())
}

/// Returns the minimum time of 25 rounds, because noise only adds time.
fn least(round: impl Fn() -> usize) -> Duration {
    let timed = || {
        let start = Instant::now();
        std::hint::black_box(round());
        start.elapsed()
    };
    (0..25).map(|_| timed()).min().unwrap_or_default()
}

/// Reads the texts of tool results, one per file.
fn results(folder: &Path) -> Result<Vec<String>> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.sort();
    let mut texts = Vec::new();
    for file in files {
        let result: Value = serde_json::from_slice(&std::fs::read(file)?)?;
        let items = result.pointer("/result/content").and_then(Value::as_array);
        let text = |item: &Value| Some(item.get("text")?.as_str()?.to_owned());
        texts.extend(items.into_iter().flatten().filter_map(text));
    }
    texts.retain(|text| text.len() >= LEAST);
    Ok(texts)
}

/// Reads the texts of a file of cases, one per line.
fn cases(file: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for line in std::fs::read_to_string(file)?.lines() {
        let case: Value = serde_json::from_str(line)?;
        texts.extend(case["text"].as_str().map(str::to_owned));
    }
    texts.retain(|text| text.len() >= LEAST);
    Ok(texts)
}

fn lz4(text: &[u8]) -> Vec<u8> {
    lz4_flex::compress(text)
}

fn of_lz4(coded: &[u8], length: usize) -> Option<Vec<u8>> {
    lz4_flex::decompress(coded, length).ok()
}

fn zstd(text: &[u8], level: i32) -> Vec<u8> {
    zstd::bulk::compress(text, level).unwrap_or_default()
}

fn of_zstd(coded: &[u8], length: usize) -> Option<Vec<u8>> {
    zstd::bulk::decompress(coded, length).ok()
}

fn ruzstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, CompressionLevel::Fastest)
}

fn of_ruzstd(coded: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(length);
    let mut decoder = ruzstd::decoding::FrameDecoder::new();
    decoder.decode_all_to_vec(coded, &mut text).ok()?;
    Some(text)
}
