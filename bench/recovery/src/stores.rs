//! The cost of writing, reading, deleting and opening, the disk space used, and the behaviour of
//! each store on a full disk.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::contenders::{KINDS, Survives, open};
use crate::{Result, fresh};

/// Name and stored size of the texts, and the number to write.
const SIZES: [(&str, usize, usize); 3] = [
    ("100 kB", 100_000, 200),
    ("1 MB", 1_000_000, 60),
    ("5 MB", 5_000_000, 20),
];

pub(crate) fn compare() -> Result<()> {
    println!("| store | size | write, survives a kill | write, survives a power cut | read |");
    println!("|---|---|---|---|---|");
    for kind in KINDS {
        for (name, size, count) in SIZES {
            let (kill, read) = cost(kind, size, count, Survives::Kill)?;
            let (power, _) = cost(kind, size, count, Survives::PowerCut)?;
            println!(
                "| {kind} | {name} | {} | {} | {} |",
                ms(kill),
                ms(power),
                ms(read)
            );
        }
    }
    println!();
    println!(
        "| store | 1,000 texts of 100 kB | 950 deleted | compacted | which took | 50 more | open, closed before | second opening |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for kind in KINDS {
        space(kind)?;
    }
    println!();
    Ok(())
}

/// Writes until the disk is full, deletes half, and writes again.
pub(crate) fn fill(folder: &Path) -> Result<()> {
    for kind in KINDS {
        let inside = folder.join(kind);
        std::fs::create_dir_all(&inside)?;
        println!(
            "{kind}: {}",
            filled(kind, &inside).unwrap_or_else(|error| format!("{error}"))
        );
        std::fs::remove_dir_all(&inside)?;
    }
    Ok(())
}

/// Returns the median times of a write and a read.
fn cost(kind: &str, size: usize, count: usize, survives: Survives) -> Result<(Duration, Duration)> {
    let folder = fresh(kind)?;
    let store = open(kind, &folder, survives)?;
    let value = noise(size, 1);
    let times = |what: &dyn Fn(usize) -> Result<()>| -> Result<Duration> {
        let mut times = Vec::new();
        for n in 0..count {
            let start = Instant::now();
            what(n)?;
            times.push(start.elapsed());
        }
        times.sort();
        Ok(times[times.len() / 2])
    };
    let write = times(&|n| store.put(&key(n), &value))?;
    let read = times(&|n| match store.get(&key(n))? {
        Some(read) if read == value => Ok(()),
        _ => Err("the text read back differs from the text written".into()),
    })?;
    Ok((write, read))
}

fn space(kind: &str) -> Result<()> {
    let folder = fresh(kind)?;
    let mut store = open(kind, &folder, Survives::Kill)?;
    for n in 0..1_000 {
        store.put(&key(n), &noise(100_000, n as u64 + 1))?;
    }
    let full = on_disk(&folder)?;
    for n in 0..950 {
        store.delete(&key(n))?;
    }
    let deleted = on_disk(&folder)?;
    let start = Instant::now();
    store.compact()?;
    let took = start.elapsed();
    let compacted = on_disk(&folder)?;
    for n in 1_000..1_050 {
        store.put(&key(n), &noise(100_000, n as u64 + 1))?;
    }
    let more = on_disk(&folder)?;
    drop(store);
    let start = Instant::now();
    let store = open(kind, &folder, Survives::Kill)?;
    let opened = start.elapsed();
    store.get(&key(1_000))?.ok_or("lost by closing")?;
    let second = match open(kind, &folder, Survives::Kill) {
        Ok(_) => "works".to_owned(),
        Err(error) => format!("refused: {error}"),
    };
    println!(
        "| {kind} | {} | {} | {} | {} | {} | {} | {second} |",
        mb(full),
        mb(deleted),
        mb(compacted),
        ms(took),
        mb(more),
        ms(opened)
    );
    Ok(())
}

fn filled(kind: &str, folder: &Path) -> Result<String> {
    let store = open(kind, folder, Survives::Kill)?;
    let value = noise(100_000, 1);
    let mut kept = 0;
    let refusal = loop {
        match store.put(&key(kept), &value) {
            Ok(()) => kept += 1,
            Err(error) => break error.to_string(),
        }
        if kept == 10_000 {
            return Ok("10,000 texts fit: this needs a small file system".to_owned());
        }
    };
    let readable = |from: usize, to: usize| {
        let ok = |n: &usize| matches!(store.get(&key(*n)), Ok(Some(_)));
        (from..to).filter(ok).count()
    };
    let read = readable(0, kept);
    let deleted = (0..kept / 2)
        .filter(|n| store.delete(&key(*n)).is_ok())
        .count();
    let mut again = 0;
    while again < kept / 4 && store.put(&key(kept + again), &value).is_ok() {
        again += 1;
    }
    let of = kept / 4;
    let before = format!(
        "{kept} texts written, then {refusal:?}; {read} readable, {deleted} deleted, \
         then {again} of {of} written"
    );
    drop(store);
    Ok(match open(kind, folder, Survives::Kill) {
        Ok(_) => format!("{before}; opens again"),
        Err(error) => format!("{before}; does not open again: {error}"),
    })
}

pub(crate) fn key(n: usize) -> String {
    format!("prn_{n:026}")
}

/// Returns incompressible bytes, the same for the same seed.
pub(crate) fn noise(size: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}

fn on_disk(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            // A store may remove a file during the scan.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            match metadata.is_dir() {
                true => folders.push(entry.path()),
                false => bytes += metadata.blocks() * 512,
            }
        }
    }
    Ok(bytes)
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

fn mb(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
