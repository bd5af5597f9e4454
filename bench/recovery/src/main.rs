//! A comparison of stores and compression codecs for an on-disk recovery store: each gets the same
//! work, and the cost is measured.
//!
//! `cargo run --release -- --data FOLDER` runs everything; a name runs one part. The tables of one
//! run are in `README.md`.

mod codecs;
mod contenders;
mod killed;
mod stores;

use std::error::Error;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str =
    "usage: narrows-bench-recovery [stores | killed | full FOLDER | [codecs] --data FOLDER]
FOLDER: for `full`, a folder on a small file system; for `--data`, external texts, in
results/*.json and prune/{logs,code}.jsonl";

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["--data", data] => {
            stores::compare()?;
            killed::compare()?;
            codecs::compare(Path::new(data))
        }
        ["stores"] => stores::compare(),
        ["killed"] => killed::compare(),
        ["full", folder] => stores::fill(Path::new(folder)),
        ["codecs", "--data", data] => codecs::compare(Path::new(data)),
        // The process that `killed` starts and kills.
        ["write-until-killed", folder, kind] => killed::write(kind, Path::new(folder)),
        _ => Err(USAGE.into()),
    }
}

/// Creates an empty folder for one measurement, in `target/`, so that it is on a disk and not in
/// memory like some `/tmp`.
fn fresh(name: &str) -> Result<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("target/stores")
        .join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
