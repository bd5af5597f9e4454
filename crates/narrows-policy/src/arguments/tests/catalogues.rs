//! Tests whole catalogues: valid calls to every tool pass, and calls with one mistake are refused
//! at the location of the mistake.
//!
//! The schemas come from `catalogues/schemas.json`, or from all catalogues in the folder that
//! `NARROWS_CATALOGUES` names (files with a list `tools`).

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use narrows_wire::Raw;
use serde_json::Value;

use super::ArgumentChecker;
use making::CallGenerator;
use mutants::Mutant;

mod form;
mod making;
mod mutants;

const SEEDS: u64 = 8;

#[derive(Default)]
struct Tally {
    schemas: usize,
    valid: usize,
    refused: BTreeMap<&'static str, usize>,
    /// The skipped cases, with their numbers.
    left_out: BTreeMap<String, usize>,
    failures: Vec<String>,
    checking: Duration,
}

#[test]
fn valid_calls_pass_and_mistakes_are_located() {
    let mut tally = Tally::default();
    for (name, schema) in schemas() {
        tally.schemas += 1;
        of_one_tool(&name, &schema, &mut tally);
    }
    let refused: usize = tally.refused.values().sum();
    println!(
        "{} schemas, {} valid calls passed, {refused} wrong ones refused in the right place",
        tally.schemas, tally.valid,
    );
    for (mistake, count) in &tally.refused {
        println!("  {mistake}: {count}");
    }
    for (what, count) in &tally.left_out {
        println!("not tried: {what} ({count})");
    }
    let each = tally.checking.as_nanos() / tally.valid.max(1) as u128;
    println!("a valid call took {each} ns on average");
    assert!(tally.valid > 0 && refused > tally.valid);
    let failed = tally.failures.len();
    tally.failures.truncate(20);
    assert_eq!(failed, 0, "{}", tally.failures.join("\n"));
}

fn of_one_tool(name: &str, schema: &Value, tally: &mut Tally) {
    let checker = ArgumentChecker::new(Some(&Raw::from_serialize(schema)));
    let _ = checker.check(&Raw::empty_object());
    let is_enforced = checker.enforced().is_some();
    if !is_enforced {
        tally.failures.push(format!("{name}: not enforced"));
        return;
    }
    for seed in 0..SEEDS {
        let mut maker = CallGenerator::new(schema, seed, seed % 2 == 1);
        let made = maker.make(schema);
        for what in maker.unable {
            *tally.left_out.entry(what).or_default() += 1;
        }
        let Some(call) = made else {
            continue;
        };
        let raw = Raw::from_serialize(&call);
        let start = Instant::now();
        let verdict = checker.check(&raw);
        tally.checking += start.elapsed();
        match verdict {
            Ok(()) => tally.valid += 1,
            Err(rejection) => {
                tally
                    .failures
                    .push(format!("{name}: {call}: {rejection:?}"));
                continue;
            }
        }
        let (mutants, left_out) = mutants::of(schema, &call);
        for what in left_out {
            *tally.left_out.entry(what.to_owned()).or_default() += 1;
        }
        for mutant in mutants {
            refuse(name, &checker, &mutant, tally);
        }
    }
}

fn refuse(name: &str, checker: &ArgumentChecker, mutant: &Mutant, tally: &mut Tally) {
    let Mutant {
        mistake,
        pointer,
        call,
    } = mutant;
    match checker.check(&Raw::from_serialize(call)) {
        Err(rejection) if rejection.errors.iter().any(|(place, _)| place == pointer) => {
            *tally.refused.entry(mistake).or_default() += 1;
        }
        verdict => {
            let failure = format!("{name}: {mistake} at {pointer}: {call}: {verdict:?}");
            tally.failures.push(failure);
        }
    }
}

/// Returns the schemas by tool name.
fn schemas() -> Vec<(String, Value)> {
    let catalogues = match std::env::var_os("NARROWS_CATALOGUES") {
        Some(folder) => files(Path::new(&folder)),
        None => vec![include_str!("catalogues/schemas.json").to_owned()],
    };
    let mut schemas = Vec::new();
    for catalogue in catalogues {
        let catalogue: Value = serde_json::from_str(&catalogue).expect("a catalogue is JSON");
        for tool in catalogue["tools"]
            .as_array()
            .expect("it has a list of tools")
        {
            let name = tool["name"].as_str().expect("a tool has a name");
            schemas.push((name.to_owned(), tool["inputSchema"].clone()));
        }
    }
    schemas
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("NARROWS_CATALOGUES is a folder");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let json = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
    json.map(|path| std::fs::read_to_string(path).expect("a file can be read"))
        .collect()
}
