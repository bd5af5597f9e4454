//! Measures how the time of pruning grows with the text.
//!
//! ```sh
//! cargo run --release -p narrows-shape --example prune_scaling
//! ```
//!
//! Prunes generated texts of 1,000 to 200,000 lines of each source type, and some worst cases (a
//! text of one long line has as many words instead). Prints the time that ranking takes, the total
//! time (the engine ranks no line if nothing may be removed), and the longer of the two per 1,000
//! lines, also as a bar. The bars of a text have equal lengths where the time is linear.

use std::fmt::Write;
use std::time::Instant;

use narrows_shape::prune::{
    Deadline, Engine, Lexical, Limits, Lines, SourceType, Style, render, select,
};

const SIZES: [usize; 6] = [1_000, 5_000, 20_000, 50_000, 100_000, 200_000];
const GOAL: &str = "Where do we check that the session of a client has not expired?";
const WORDS: [&str; 24] = [
    "session", "client", "expire", "parse", "header", "token", "buffer", "index", "value", "check",
    "update", "config", "error", "stream", "reader", "limit", "queue", "worker", "cache", "route",
    "event", "state", "frame", "match",
];

/// A name, a source type, and a function that generates a text of the requested number of lines.
type Made = (&'static str, SourceType, fn(usize) -> String);

fn main() {
    println!("text                lines     bytes   ranking       all  /1,000 lines, ms");
    let texts: [Made; 9] = [
        ("code", SourceType::Code, code),
        ("logs", SourceType::Logs, logs),
        ("docs", SourceType::Docs, docs),
        ("tiny functions", SourceType::Code, |lines| {
            "fn a() {}\n".repeat(lines)
        }),
        ("equal lines", SourceType::Code, |lines| {
            "let session = 1;\n".repeat(lines)
        }),
        ("ever deeper", SourceType::Code, deeper),
        ("open brackets", SourceType::Code, |lines| {
            "{(\n".repeat(lines)
        }),
        ("one line", SourceType::Code, |lines| {
            "session.check(token); ".repeat(lines)
        }),
        ("one word", SourceType::Code, |lines| {
            "sessionToken".repeat(lines)
        }),
    ];
    for (name, source, text) in texts {
        for size in SIZES {
            measure(name, source, size, &text(size));
        }
    }
}

fn measure(name: &str, source: SourceType, size: usize, text: &str) {
    let limits = Limits {
        max_prune_ratio: 0.7,
        min_keep_lines: 0,
    };
    let style = Style {
        annotate_lines: false,
        include_markers: true,
    };
    let (mut best, mut ranking) = (f64::MAX, f64::MAX);
    for _ in 0..3 {
        let began = Instant::now();
        let lines = Lines::new(text);
        let deadline = Deadline::never();
        let ranked = Lexical.rank(&lines, GOAL, source, &deadline);
        ranked.expect("there is no limit");
        ranking = ranking.min(began.elapsed().as_secs_f64() * 1e3);
        let began = Instant::now();
        let lines = Lines::new(text);
        let selection = select(&Lexical, &lines, GOAL, source, limits, style, &deadline)
            .expect("these limits can be met");
        render(&lines, &selection, "prn_01ARZ3NDEKTSV4RRFFQ69G5FAV", style);
        best = best.min(began.elapsed().as_secs_f64() * 1e3);
    }
    let each = best.max(ranking) * 1e3 / size as f64;
    let bar = "#".repeat((each * 20.0).ceil().min(100.0) as usize);
    println!(
        "{name:16} {size:8} {:9} {ranking:9.2} {best:9.2} {each:9.3}  {bar}",
        text.len()
    );
}

fn word_at(at: usize) -> &'static str {
    // The step has no common factor with the number of words, and it drifts.
    WORDS[(at * 7 + at / 24 * 5) % WORDS.len()]
}

fn code(lines: usize) -> String {
    let mut text = String::new();
    for at in 0..lines {
        let (a, b, c) = (word_at(at), word_at(at + 3), word_at(at + 11));
        match at % 12 {
            0 => writeln!(text, "    def {a}_{b}_{at}(self, {c}):"),
            11 => writeln!(text),
            _ => writeln!(text, "        {a}{at} = self.{b}({c}, key=\"{a}\") + {at}"),
        }
        .expect("writing to a String cannot fail");
    }
    text
}

fn logs(lines: usize) -> String {
    let mut text = String::new();
    for at in 0..lines {
        let level = if at % 500 == 499 { "ERROR" } else { "INFO" };
        let (a, b) = (word_at(at), word_at(at + 5));
        writeln!(
            text,
            "2024-05-01T10:{:02}:{:02}Z {level} [{a}-{}] {b} took {at} ms",
            at / 60 % 60,
            at % 60,
            at % 17
        )
        .expect("writing to a String cannot fail");
    }
    text
}

fn docs(lines: usize) -> String {
    let mut text = String::new();
    for at in 0..lines {
        let (a, b, c) = (word_at(at), word_at(at + 2), word_at(at + 9));
        match at % 20 {
            0 => writeln!(text, "## How the {a} uses a {b}"),
            1 | 10 | 19 => writeln!(text),
            12 | 15 => writeln!(text, "```"),
            _ => writeln!(
                text,
                "The {a} of the {b} is read before the {c}, once for each of them."
            ),
        }
        .expect("writing to a String cannot fail");
    }
    text
}

/// Generates nested functions; beyond a certain depth, all lines have the same indentation.
fn deeper(lines: usize) -> String {
    let line = |at: usize| format!("{}def f{at}():\n", " ".repeat(at.min(60)));
    (0..lines).map(line).collect()
}
