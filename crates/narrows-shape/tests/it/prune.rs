//! The hard cases of the pruner, put through the checks that hold for any text.

use std::fs;
use std::path::Path;

use narrows_shape::prune::{Limits, SourceType, Style};
use serde_json::Value;

use crate::invariants::prune::hold;

/// Cases that the whole project shares; they lie beside the checkout.
#[test]
fn hard_cases() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/prune/adversarial.jsonl");
    let cases = fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!(
            "{} is needed and cannot be read ({error}): the folder 'shared' belongs beside the checkout",
            path.display()
        )
    });
    let mut count = 0;
    for case in cases.lines() {
        let case: Value = serde_json::from_str(case).expect("a case is JSON");
        hard_case(&case);
        count += 1;
    }
    assert!(count > 10, "{} has too few cases", path.display());
}

fn hard_case(case: &Value) {
    let id = case["id"].as_str().expect("an id");
    let text = case["text"].as_str().expect("a text");
    let goal = case["goal_hint"].as_str().expect("a goal");
    let source = case["source_type"].as_str().expect("a source type");
    let source: SourceType = source.parse().expect("a known source type");
    let options = &case["options"];
    let limits = Limits {
        max_prune_ratio: options["max_prune_ratio"].as_f64().expect("a ratio"),
        min_keep_lines: options["min_keep_lines"].as_u64().expect("a number") as usize,
    };
    let style = Style {
        annotate_lines: options["annotate_lines"] == true,
        include_markers: options["include_markers"] == true,
    };
    let Some(selection) = hold(text, goal, source, limits, style) else {
        return;
    };
    if let Some(most) = case["expect"]["max_pruned"].as_u64() {
        assert!(selection.pruned_lines() as u64 <= most, "{id} was pruned");
    }
    let must_keep = case["must_keep"].as_array().expect("a list of lines");
    for line in must_keep {
        let at = line.as_u64().expect("a number") as usize - 1;
        let went = selection.cut.iter().any(|cut| cut.contains(&at));
        assert!(!went, "{id}: line {} went", at + 1);
    }
}
