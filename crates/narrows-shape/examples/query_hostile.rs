//! Measures the time that hostile queries take on texts of 5 MB.
//!
//! ```sh
//! cargo run --release -p narrows-shape --example query_hostile
//! ```
//!
//! Every query runs with a deadline of two seconds, as in the gateway. Any time beyond that is the
//! duration of one step between two checks of the clock.

use std::time::{Duration, Instant};

use narrows_shape::prune::Deadline;
use narrows_shape::query::{QueryLimits, Request};

const SIZE: usize = 5_000_000;
const ALLOWED: Duration = Duration::from_secs(2);

fn main() {
    println!("{:44} {:>9}  answer", "query", "ms");
    let noise = noise(SIZE);
    let lines: String = noise.as_bytes().chunks(80).map(line).collect();
    let digits: String = (0..SIZE / 20)
        .map(|at| format!("line {at} {}\n", at * 7919 % 997))
        .collect();
    for (name, expression) in [
        ("states that no cache holds", "/[ab]*a[ab]{500}c/"),
        ("as many as are allowed", "/[ab]*a[ab]{3000}c/"),
        ("large repetition", "/(a?b?){200}c/"),
        ("nested repetition", "/((a+)+)+c/"),
        ("Unicode words", "/(\\w+\\s*)+z$/"),
        ("many alternatives", "/(a|b|ab|ba|aab|bba|abab)*c/"),
        ("dots", "/.*.*.*.*.*=.*c/"),
    ] {
        run(
            &format!("{name}, one line"),
            &noise,
            query(expression),
            None,
        );
        run(&format!("{name}, lines"), &lines, query(expression), None);
    }
    let words: String = (0..32).map(|at| format!("{at} ")).collect();
    run("32 words", &digits, query(&words), None);
    run("one letter, one line", &noise, query("a"), None);
    run(
        "one letter, lines with context 100",
        &digits,
        around(query("1")),
        None,
    );
    rows();
    let other: String = digits
        .lines()
        .rev()
        .map(|line| format!("{line}\n"))
        .collect();
    let diff = || Request {
        diff: true,
        ..Request::default()
    };
    run("compare with the reverse", &digits, diff(), Some(&other));
    run("compare with another", &lines, diff(), Some(&digits));
    run(
        "compare, two changes",
        &digits,
        diff(),
        Some(&digits.replace("line 17 ", "x").replace("line 200000 ", "y")),
    );
    let many = Request {
        ranges: Some(vec![(1, i64::MAX); 1_000]),
        ..Request::default()
    };
    run("a thousand whole ranges", &digits, many, None);
}

fn rows() {
    let small: String = (0..SIZE / 20)
        .map(|at| format!("{{\"id\":{at},\"v\":0.{at}}}\n"))
        .collect();
    let wide = format!(
        "[{{{}}}]",
        (0..SIZE / 14)
            .map(|at| format!("\"k{at}\":{at}"))
            .collect::<Vec<_>>()
            .join(",")
    );
    let deep = format!("{}{}", "[".repeat(SIZE / 2), "]".repeat(SIZE / 2));
    let objects = format!("{}1{}", "{\"a\":[".repeat(SIZE / 8), "]}".repeat(SIZE / 8));
    let long_condition = (0..100)
        .map(|at| format!("k{at}=1"))
        .collect::<Vec<_>>()
        .join(" or ");
    let deep_condition = format!("{}a=1{}", "not (".repeat(16), ")".repeat(16));
    let condition = |text: &str| Request {
        condition: Some(text.to_owned()),
        ..Request::default()
    };
    run(
        "100 conditions, small rows",
        &small,
        condition(&long_condition),
        None,
    );
    run(
        "100 conditions, one wide row",
        &wide,
        condition(&long_condition),
        None,
    );
    run("32 levels", &small, condition(&deep_condition), None);
    run(
        "matches, slow expression",
        &small,
        condition("id matches '1' or v matches '(1?2?){200}x'"),
        None,
    );
    run("brackets in brackets", &deep, condition("a=1"), None);
    run("objects in arrays", &objects, condition("a=1"), None);
    let group = Request {
        group_by: Some("id".into()),
        aggregate: Some("count, sum(v), count_distinct(v)".into()),
        ..Request::default()
    };
    run("as many groups as rows", &small, group, None);
    let sorted = Request {
        sort: Some("-v, id".into()),
        limit: Some(3),
        ..Request::default()
    };
    run("sort all rows", &small, sorted, None);
}

fn run(name: &str, text: &str, request: Request, other: Option<&str>) {
    let began = Instant::now();
    let query = match request.check() {
        Ok(query) => query,
        Err(invalid) => return println!("{name:44} {:>9.1}  {invalid}", milliseconds(began)),
    };
    let passed = || began.elapsed() > ALLOWED;
    let limits = QueryLimits {
        deadline: &Deadline::new(&passed),
        diff_until: Some(began + ALLOWED / 2),
    };
    let said = match query.apply(text, other, &limits) {
        Ok(answer) => answer.head(None),
        Err(refused) => refused.to_string(),
    };
    let said: String = said.chars().take(110).collect();
    println!("{name:44} {:>9.1}  {said}", milliseconds(began));
}

fn milliseconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}

fn query(text: &str) -> Request {
    Request {
        query: Some(text.to_owned()),
        ..Request::default()
    }
}

fn around(request: Request) -> Request {
    Request {
        context: 100,
        ..request
    }
}

/// Returns `size` letters `a` and `b` in an order that never repeats.
fn noise(size: usize) -> String {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if state & 1 == 0 { 'a' } else { 'b' }
    };
    (0..size).map(|_| letter()).collect()
}

fn line(letters: &[u8]) -> String {
    format!("{}\n", String::from_utf8_lossy(letters))
}
