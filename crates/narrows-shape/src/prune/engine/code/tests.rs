use super::*;
use crate::prune::{Engine, Lexical, SourceType};

const TEXT: &str = "\
import os

class Pool:
    def __init__(self, size):
        self.size = size
        self.idle = []

    def fetch(self, name):
        entry = self.idle.pop()
        return entry.open(name)

    def drain(self):
        while self.idle:
            self.idle.pop().close()

def check_address(addr):
    if ':' not in addr:
        raise ValueError(addr)
    return True

def render_table(rows):
    for row in rows:
        print(row)
";

/// Checks the first line of the block with the highest worth.
#[track_caller]
fn check(goal: &str, expected: &str) {
    let lines = Lines::new(TEXT);
    let worth = known(&lines, goal);
    let best = (0..lines.len())
        .rev()
        .max_by(|&a, &b| worth[a].total_cmp(&worth[b]));
    assert_eq!(
        best.map(|at| lines.line(at).trim()),
        Some(expected),
        "{goal}"
    );
}

/// Returns the worth of the lines for a goal that uses words of the code.
fn known(lines: &Lines<'_>, goal: &str) -> Vec<f32> {
    let worth = worth(lines, goal, &Deadline::never()).expect("there is no limit");
    worth.expect("the code has these words").0
}

#[test]
fn function_is_found_by_name() {
    check("Fix a bug in drain", "def drain(self):");
    check(
        "What does `render_table` do exactly?",
        "def render_table(rows):",
    );
    check("Why does renderTable() fail?", "def render_table(rows):");
}

#[test]
fn function_is_found_by_behaviour() {
    check(
        "Where do we verify that an address is well formed?",
        "def check_address(addr):",
    );
    check(
        "I need the code that displays rows",
        "def render_table(rows):",
    );
    check(
        "How do we obtain an entry by its name?",
        "def fetch(self, name):",
    );
    check(
        "Where is a new pool constructed?",
        "def __init__(self, size):",
    );
}

#[test]
fn class_is_found_as_a_whole() {
    let lines = Lines::new(TEXT);
    let worth = known(&lines, "Explain the class `Pool`");
    let inside = worth[2..14].iter().copied().fold(f32::MAX, f32::min);
    let outside = worth[15..].iter().copied().fold(0.0, f32::max);
    assert!(inside > outside, "{inside} {outside}");
}

#[test]
fn line_scores_sum_to_one() {
    let lines = Lines::new(TEXT);
    let worth = known(&lines, "drain the pool");
    let filled = (0..lines.len()).filter(|&at| !lines.line(at).is_empty());
    let sum: f32 = filled.map(|at| worth[at]).sum();
    assert!((sum - 1.0).abs() < 1e-3, "{sum}");
}

#[test]
fn any_text_can_be_ranked() {
    for text in [
        "",
        "\n",
        "\n\n\n",
        "{",
        "}}}}",
        "def",
        "fn ()",
        "class\nclass {",
        "\u{feff}é\r\n\tß",
        "'''\n'''",
        "/*",
    ] {
        for goal in ["", "read the file", "é"] {
            let lines = Lines::new(text);
            let ranking = Lexical.rank(&lines, goal, SourceType::Code, &Deadline::never());
            let worth = ranking.expect("there is no limit").worth;
            assert_eq!(worth.len(), lines.len());
            assert!(worth.iter().all(|worth| worth.is_finite()), "{text:?}");
        }
    }
}

#[test]
fn deadline_is_checked_within_a_long_line() {
    let text = "session.check(token) ".repeat(50_000);
    let asked = std::cell::Cell::new(0);
    let passed = || {
        asked.set(asked.get() + 1);
        asked.get() > 20
    };
    let lines = Lines::new(&text);
    let late = worth(&lines, "check", &Deadline::new(&passed));
    assert!(matches!(late, Err(OutOfTime)));
}
