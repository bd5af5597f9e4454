//! Writes the training data for the weights of the code model.
//!
//! ```sh
//! cargo run --release -p narrows-shape --example prune_features -- CASES.jsonl…
//! ```
//!
//! Prints one JSON line per case: the names of the features, the blocks with their lines and
//! features, and the lines that are the answer. `tools/prune_cases.py` generates the cases, and
//! `tools/train_prune.py` reads the output.

use narrows_shape::prune::{CODE_FEATURES, Lines, code_candidates};
use serde_json::{Value, json};

fn main() {
    for path in std::env::args().skip(1) {
        let cases = std::fs::read_to_string(&path).expect("a file of cases");
        for case in cases.lines() {
            let case: Value = serde_json::from_str(case).expect("a case is JSON");
            let text = case["text"].as_str().expect("a text");
            let goal = case["goal_hint"].as_str().expect("a goal");
            let lines = Lines::new(text);
            let blocks: Vec<Value> = code_candidates(&lines, goal)
                .into_iter()
                .map(|(span, features)| json!([span.start, span.end, features.as_slice()]))
                .collect();
            println!(
                "{}",
                json!({
                    "names": CODE_FEATURES.as_slice(),
                    "meta": case["meta"],
                    "gold": case["gold_lines"],
                    "blocks": blocks,
                })
            );
        }
    }
}
