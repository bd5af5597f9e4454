//! Measures how often the digest of a long text includes the one thing that matters.
//!
//! ```sh
//! cargo run --release -p narrows-shape --example digest_eval [FIRST [COUNT]]
//! ```
//!
//! Generates COUNT (500) texts of each kind from the seeds FIRST (0) onwards. Each text contains
//! one planted item among 200 others that are equally rare. The digest holds the item if its
//! characters occur in the digest outside markers. The digest points to the item if an index entry
//! inside a marker, or a marker for a cut, includes the item and covers at most 20 lines or rows
//! and at most 1 % of the text.
//!
//! `MISSES=1` lists the texts whose digest does neither. `SHOW=Line` (or another kind) prints the
//! digest of the text of seed FIRST, and `FILE=path` that of a file, with `GOAL=words` for a goal.
//! `BUDGET=16000` restricts the run to that budget.

mod texts;

use std::ops::Range;
use std::time::Instant;

use narrows_shape::budget::{Fitted, Order, RecoveryCall, RecoveryForm, fit};
use narrows_shape::prune::{Deadline, Lexical};
use texts::{Planted, TextKind, plant};

const BUDGETS: [usize; 3] = [8_000, 16_000, 32_000];
const WIDEST: usize = 20;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| {
        let given = arguments.next().and_then(|it| it.parse().ok());
        given.unwrap_or(default)
    };
    let (first, count) = (number(0), number(500));
    if let Ok(kind) = std::env::var("SHOW") {
        let kind = TextKind::ALL
            .into_iter()
            .find(|it| format!("{it:?}") == kind);
        let planted = plant(kind.expect("a kind"), first);
        println!("{}", digest(&planted.text, BUDGETS[1], None).text);
        println!("planted: {:?} {}", planted.place, planted.needle);
        return;
    }
    if let Ok(file) = std::env::var("FILE") {
        let text = std::fs::read_to_string(file).expect("a text file");
        let goal = std::env::var("GOAL").ok();
        print!("{}", digest(&text, BUDGETS[1], goal.as_deref()).text);
        return;
    }
    let only: Option<usize> = std::env::var("BUDGET").ok().and_then(|it| it.parse().ok());
    let is_wanted = |budget: &usize| only.is_none_or(|only| only == *budget);
    println!("seeds {first}..{}", first + count);
    println!("kind        budget  holds  points  either   ms/MB");
    for kind in TextKind::ALL {
        for budget in BUDGETS.into_iter().filter(is_wanted) {
            let (mut holds, mut points, mut either) = (0, 0, 0);
            let (mut bytes, mut seconds) = (0, 0.0);
            for seed in first..first + count {
                let planted = plant(kind, seed);
                let (began, ran) = (Instant::now(), time_of_thread());
                let fitted = digest(&planted.text, budget, None);
                let elapsed = began.elapsed().as_secs_f64();
                seconds += match (ran, time_of_thread()) {
                    (Some(before), Some(after)) => (after - before) as f64 / 1e9,
                    _ => elapsed,
                };
                bytes += planted.text.len();
                let (is_held, is_pointed) = (
                    is_held(&planted, &fitted.text),
                    is_pointed(&planted, &fitted.text),
                );
                holds += u64::from(is_held);
                points += u64::from(is_pointed && !is_held);
                either += u64::from(is_held || is_pointed);
                if !(is_held || is_pointed) && std::env::var_os("MISSES").is_some() {
                    println!("{kind:?} {seed} at {budget}: {}", planted.needle);
                }
            }
            let percent = |part: u64| 100.0 * part as f64 / count as f64;
            println!(
                "{:10} {budget:7} {:5.1}% {:6.1}% {:6.1}% {:7.1}",
                format!("{kind:?}"),
                percent(holds),
                percent(points),
                percent(either),
                seconds * 1e3 / (bytes as f64 / 1e6),
            );
        }
    }
}

/// Returns the CPU time of this thread in nanoseconds, as reported by Linux.
fn time_of_thread() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split(' ').next()?.parse().ok()
}

fn digest(text: &str, max_chars: usize, goal: Option<&str>) -> Fitted {
    let order = Order {
        max_chars,
        goal,
        source: None,
        recovery: RecoveryCall {
            tool: "recover_text",
            receipt: "prn_01ARZ3NDEKTSV4RRFFQ69G5FAV",
            form: RecoveryForm::Direct,
        },
    };
    let fitted = fit(text, &order, &Lexical, &Deadline::never()).expect("any text fits");
    assert!(fitted.text.chars().count() <= max_chars);
    fitted
}

/// Returns `true` if the planted item occurs in the digest outside markers.
fn is_held(planted: &Planted, digest: &str) -> bool {
    let mut outside = String::new();
    let mut rest = digest;
    while let Some((before, behind)) = rest.split_once('⟦') {
        outside.push_str(before);
        outside.push('⟦');
        rest = behind.split_once('⟧').map_or("", |(_, behind)| behind);
    }
    outside.push_str(rest);
    outside.contains(&planted.needle)
}

/// Returns `true` if a narrow range in a marker includes the planted item.
fn is_pointed(planted: &Planted, digest: &str) -> bool {
    let widest = WIDEST.min(planted.total / 100);
    let includes =
        |range: Range<usize>| range.len() <= widest && range.contains(&planted.place.start);
    digest
        .split('⟦')
        .skip(1)
        .filter_map(|rest| rest.split_once('⟧'))
        .any(|(marker, _)| ranges(planted, marker).any(&includes))
}

/// Returns the ranges that a marker names: the range of a cut, or those of the entries of an index,
/// each of which begins with its number or range.
fn ranges(planted: &Planted, marker: &str) -> impl Iterator<Item = Range<usize>> {
    let unit = match planted.unit {
        texts::Unit::Lines => "lines",
        texts::Unit::Rows => "rows",
    };
    let cut = marker.strip_prefix("cut ");
    let entries = match cut {
        Some(cut) => cut.strip_prefix(unit).or(Some(cut)),
        None => marker
            .split_once(&format!("{unit} not shown: "))
            .map(|(_, entries)| entries),
    };
    let entries = entries.unwrap_or_default().trim();
    entries.split(", ").filter_map(|entry| {
        let is_unit = |word: &&str| matches!(*word, "line" | "lines" | "row" | "rows");
        let range = entry.split(' ').find(|word| !is_unit(word))?;
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..last.parse::<usize>().ok()? + 1)
    })
}
