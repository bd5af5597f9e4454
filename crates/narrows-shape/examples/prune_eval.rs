//! Measures how well the built-in engine keeps the lines that answer a goal, on cases with known
//! answers.
//!
//! ```sh
//! cargo run --release -p narrows-shape --example prune_eval -- --data FOLDER [--cases] [SET…]
//! ```
//!
//! The cases are not part of this repository. FOLDER holds `code.jsonl`, `logs.jsonl` and
//! `docs.jsonl` with one case per line:
//! `{id, source_type, text, goal_hint, gold_lines, must_keep, meta}`. Lines are counted from 1.
//!
//! For each ratio, the example prints the recall of the gold lines, the share of cases that keep
//! all of them, the lines and tokens saved (o200k, markers included), the protected lines kept, and
//! the time per 1,000 lines. With `--cases`, it also prints the recall of each case.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use narrows_shape::prune::{Deadline, Lexical, Limits, Lines, SourceType, Style, render, select};
use serde_json::Value;
use tiktoken_rs::CoreBPE;

/// A placeholder as long as a real identifier, and with as few tokens.
const ID: &str = "prn_01KA5000007391846205739182";
const RATIOS: [f64; 3] = [0.5, 0.7, 0.9];

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let each = args.iter().position(|arg| arg == "--cases");
    let each = each.map(|at| args.remove(at)).is_some();
    let [option, folder, sets @ ..] = &args[..] else {
        usage();
    };
    if option != "--data" {
        usage();
    }
    let vocabulary = tiktoken_rs::o200k_base().expect("a vocabulary");
    println!("set  ratio   n  recall whole pruned saved  must  ms/1k p50 p95  by kind");
    for source in SourceType::ALL {
        if !sets.is_empty() && !sets.iter().any(|set| set == source.as_str()) {
            continue;
        }
        let path = Path::new(folder).join(format!("{source}.jsonl"));
        let cases = std::fs::read_to_string(&path).expect("a file of cases");
        let cases: Vec<Case> = cases.lines().map(Case::read).collect();
        for ratio in RATIOS {
            measure(&cases, source, ratio, each, &vocabulary);
        }
    }
}

fn usage() -> ! {
    eprintln!("usage: prune_eval --data FOLDER [code|logs|docs …] [--cases]");
    std::process::exit(2);
}

struct Case {
    id: String,
    text: String,
    goal: String,
    gold: Vec<usize>,
    must: Vec<usize>,
    kind: String,
}

impl Case {
    fn read(line: &str) -> Case {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let text = |key: &str| case[key].as_str().expect("a text").to_owned();
        let lines = |key: &str| {
            let lines = case[key].as_array().expect("a list of lines").iter();
            lines
                .map(|line| line.as_u64().expect("a number") as usize - 1)
                .collect()
        };
        Case {
            id: text("id"),
            text: text("text"),
            goal: text("goal_hint"),
            gold: lines("gold_lines"),
            must: lines("must_keep"),
            kind: case["meta"]["kind"].as_str().unwrap_or("").to_owned(),
        }
    }
}

fn measure(cases: &[Case], source: SourceType, ratio: f64, each: bool, vocabulary: &CoreBPE) {
    let tokens = |text: &str| vocabulary.encode_ordinary(text).len() as f64;
    let limits = Limits {
        max_prune_ratio: ratio,
        min_keep_lines: 0,
    };
    let style = Style {
        annotate_lines: false,
        include_markers: true,
    };
    let (mut recall, mut whole, mut pruned, mut saved, mut must, mut times) =
        (vec![], vec![], vec![], vec![], vec![], vec![]);
    let mut kinds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for case in cases {
        let lines = Lines::new(&case.text);
        let run = || {
            let lines = Lines::new(&case.text);
            let deadline = Deadline::never();
            let selection = select(
                &Lexical, &lines, &case.goal, source, limits, style, &deadline,
            )
            .expect("no limit is impossible here");
            let rendered = render(&lines, &selection, ID, style);
            (selection, rendered)
        };
        let (selection, rendered) = run();
        // The best of a few runs measures the cost of the code rather than of other processes.
        let time = |_| {
            let began = Instant::now();
            std::hint::black_box(run());
            began.elapsed().as_secs_f64() * 1e6 / lines.len() as f64
        };
        times.push((0..5).map(time).fold(f64::MAX, f64::min));
        let mut kept = vec![true; lines.len()];
        selection
            .cut
            .iter()
            .for_each(|cut| kept[cut.clone()].fill(false));
        let share = |wanted: &[usize]| {
            wanted.iter().filter(|&&at| kept[at]).count() as f64 / wanted.len() as f64
        };
        let found = share(&case.gold);
        if each {
            println!(
                "  {ratio} {} {found:.2} {} {}",
                case.id,
                case.kind,
                case.goal.replace('\n', " ")
            );
        }
        recall.push(found);
        whole.push(if found == 1.0 { 1.0 } else { 0.0 });
        kinds.entry(&case.kind).or_default().push(found);
        pruned.push(selection.pruned_lines() as f64 / lines.len() as f64);
        saved.push(1.0 - tokens(&rendered.text) / tokens(&case.text));
        if !case.must.is_empty() {
            must.push(share(&case.must));
        }
    }
    times.sort_by(f64::total_cmp);
    let quantile = |q: f64| times[((times.len() as f64 * q) as usize).min(times.len() - 1)];
    let kinds: Vec<String> = kinds
        .iter()
        .map(|(kind, found)| format!("{kind} {:.3}", mean(found)))
        .collect();
    println!(
        "{source} {ratio:6} {:4}  {:.4} {:.2}  {:.2}   {:.3} {:.4} {:9.2} {:.2}  {}",
        cases.len(),
        mean(&recall),
        mean(&whole),
        mean(&pruned),
        mean(&saved),
        mean(&must),
        quantile(0.5),
        quantile(0.95),
        kinds.join(", ")
    );
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
