//! Which store, and which compression, the recovery store on disk could be
//! made of: the same work given to each, and what it took.
//!
//! `cargo run --release` does everything; a name does one part. The tables of
//! one run are in `README.md`.

mod codecs;
mod contenders;
mod killed;
mod stores;

use std::error::Error;
use std::path::PathBuf;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "usage: narrows-bench-recovery [stores | killed | full | codecs] [FOLDER]
FOLDER: for `full`, a folder on a small file system; for `codecs`, the one of the texts";

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let part = words.next();
    let folder = words.next().map(PathBuf::from);
    match part.as_deref() {
        None => {
            stores::compare()?;
            killed::compare()?;
            codecs::compare(None)
        }
        Some("stores") => stores::compare(),
        Some("killed") => killed::compare(),
        Some("full") => stores::fill(&folder.ok_or(USAGE)?),
        Some("codecs") => codecs::compare(folder),
        // What `killed` starts and ends.
        Some("write-until-killed") => {
            let kind = words.next().ok_or(USAGE)?;
            killed::write(&kind, &folder.ok_or(USAGE)?)
        }
        Some(_) => Err(USAGE.into()),
    }
}

/// A folder of one measurement, empty, in `target/`, so that it lies on a disk
/// and not in memory as `/tmp` may.
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
