//! A check that acknowledged writes survive a SIGKILL in the middle of writing.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::contenders::{KINDS, Survives, open};
use crate::stores::{key, noise};
use crate::{Result, fresh};

const TIMES: u64 = 50;

pub(crate) fn compare() -> Result<()> {
    println!(
        "| store | acknowledged in {TIMES} lives | lost or changed | did not open again | longest opening after a kill |"
    );
    println!("|---|---|---|---|---|");
    for kind in KINDS {
        let mut folder = fresh(kind)?;
        let mut acknowledged: Vec<usize> = Vec::new();
        let (mut total, mut wrong, mut refused) = (0, 0, Vec::new());
        let mut longest = Duration::ZERO;
        for time in 0..TIMES {
            // The kill times range from the middle of opening to after some writes.
            let known = acknowledged.len();
            let last = live_and_die(kind, &folder, Duration::from_millis(5 + time * 3))?;
            total += last.len();
            acknowledged.extend(last);
            let start = Instant::now();
            let store = match open(kind, &folder, Survives::Kill) {
                Ok(store) => store,
                Err(error) => {
                    refused.push(error.to_string());
                    wrong += acknowledged.len();
                    acknowledged.clear();
                    folder = fresh(kind)?;
                    continue;
                }
            };
            longest = longest.max(start.elapsed());
            // Checks all writes of the last run and a sample of the earlier ones.
            let before = acknowledged[..known].iter().step_by(10);
            for &n in before.chain(&acknowledged[known..]) {
                if store.get(&key(n))?.as_deref() != Some(&value(n)[..]) {
                    wrong += 1;
                }
            }
        }
        let times = refused.len();
        refused.dedup();
        let reasons = refused.join("; ");
        let ms = longest.as_secs_f64() * 1e3;
        println!("| {kind} | {total} | {wrong} | {times} {reasons} | {ms:.1} ms |");
    }
    println!();
    Ok(())
}

/// Writes texts, and prints the number of each once it is written.
pub(crate) fn write(kind: &str, folder: &Path) -> Result<()> {
    let store = open(kind, folder, Survives::Kill)?;
    let mut said = std::io::stdout();
    // Continues after the last text of an earlier run.
    let mut n = 0;
    while store.get(&key(n))?.is_some() {
        n += 1;
    }
    loop {
        store.put(&key(n), &value(n))?;
        writeln!(said, "{n}")?;
        said.flush()?;
        n += 1;
    }
}

fn live_and_die(kind: &str, folder: &Path, life: Duration) -> Result<Vec<usize>> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("write-until-killed")
        .arg(folder)
        .arg(kind)
        .stdout(Stdio::piped())
        .spawn()?;
    let said = child.stdout.take().ok_or("no output")?;
    let reader = std::thread::spawn(move || {
        let lines = BufReader::new(said).lines();
        let numbers = lines.map_while(|line| line.ok()?.parse().ok());
        numbers.collect::<Vec<usize>>()
    });
    std::thread::sleep(life);
    child.kill()?;
    child.wait()?;
    reader.join().map_err(|_| "the reader ended".into())
}

fn value(n: usize) -> Vec<u8> {
    noise(20_000 + n % 7 * 20_000, n as u64 + 1)
}
