//! Measures how the time of a digest grows with the text.
//!
//! ```sh
//! cargo run --release -p narrows-shape --example digest_scaling
//! ```
//!
//! Generates texts of each kind, and some worst cases, of 1 to 5 MB, and prints the best of three
//! times, in total and per MB. On systems that report it, the example measures the CPU time of the
//! thread, so that other processes do not distort the result.

use std::fmt::Write;
use std::time::Instant;

use narrows_shape::budget::{Order, RecoveryCall, RecoveryForm, fit};
use narrows_shape::prune::{Deadline, Lexical};

const SIZES: [usize; 3] = [1_000_000, 2_000_000, 5_000_000];

type Make = fn(&mut String, u64);

fn main() {
    let texts: [(&str, Make); 9] = [
        ("log", log),
        ("code", code),
        ("prose", prose),
        ("JSON Lines", |text, at| {
            row(text, at);
            text.push('\n');
        }),
        ("JSON array", |text, at| {
            text.push(if at == 0 { '[' } else { ',' });
            row(text, at);
        }),
        ("CSV", |text, at| {
            let random = mixed(at);
            writeln!(
                text,
                "{at},{},{:.2},user{}",
                random % 7,
                random as f64 / 1e17,
                random % 999
            )
            .expect("writing to a String cannot fail");
        }),
        ("lines unlike others", |text, at| {
            (0..9).for_each(|nth| push_word(text, mixed(at * 9 + nth)));
            text.push('\n');
        }),
        ("short lines", |text, at| {
            text.push_str(["a\n", "b 1\n", "\n"][at as usize % 3])
        }),
        ("one line", |text, at| push_word(text, mixed(at))),
    ];
    println!("text                  MB       ms   ms/MB");
    let only = std::env::args().nth(1);
    for (name, make) in texts {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        for size in SIZES {
            let mut text = String::with_capacity(size + 1_000);
            (0..)
                .take_while(|&at| {
                    make(&mut text, at);
                    text.len() < size
                })
                .for_each(drop);
            if name == "JSON array" {
                text.push(']');
            }
            let best = (0..3).map(|_| measure(&text)).fold(f64::MAX, f64::min);
            let per_mb = best * 1e6 / text.len() as f64;
            println!("{name:20} {:3} {best:8.1} {per_mb:7.1}", size / 1_000_000);
        }
    }
}

fn measure(text: &str) -> f64 {
    let order = Order {
        max_chars: 16_000,
        goal: None,
        source: None,
        recovery: RecoveryCall {
            tool: "recover_text",
            receipt: "prn_01ARZ3NDEKTSV4RRFFQ69G5FAV",
            form: RecoveryForm::Direct,
        },
    };
    let (began, ran) = (Instant::now(), time_of_thread());
    fit(text, &order, &Lexical, &Deadline::never()).expect("any text fits");
    let elapsed = began.elapsed().as_secs_f64() * 1e3;
    match (ran, time_of_thread()) {
        (Some(before), Some(after)) => (after - before) as f64 / 1e6,
        _ => elapsed,
    }
}

/// Returns the CPU time of this thread in nanoseconds, as reported by Linux.
fn time_of_thread() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split(' ').next()?.parse().ok()
}

fn mixed(at: u64) -> u64 {
    let mixed = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 3
}

fn push_word(text: &mut String, mut random: u64) {
    for _ in 0..3 + random % 6 {
        random /= 26;
        text.push(char::from(b'a' + (random % 26) as u8));
    }
    text.push(' ');
}

fn log(text: &mut String, at: u64) {
    let random = mixed(at);
    let user = ["alice", "bob", "carol", "dave"][random as usize % 4];
    write!(
        text,
        "2026-11-16T{:02}:{:02}:{:02}.{:03}Z ",
        at / 3600 % 24,
        at / 60 % 60,
        at % 60,
        random % 1000
    )
    .expect("writing to a String cannot fail");
    match random % 50 {
        0 => {
            text.push_str("WARN ");
            (0..8).for_each(|nth| push_word(text, mixed(random + nth)));
            text.push('\n');
        }
        1..20 => writeln!(
            text,
            "INFO web: request {at} from 10.0.{}.{} took {} ms status=200",
            random % 4,
            random % 250,
            12 + random % 49
        )
        .expect("writing to a String cannot fail"),
        _ => writeln!(
            text,
            "DEBUG user {user} opened /api/items/{} session={random:016x}",
            random % 9_000
        )
        .expect("writing to a String cannot fail"),
    }
}

fn code(text: &mut String, at: u64) {
    let mut name = String::new();
    push_word(&mut name, mixed(at));
    let name = name.trim();
    writeln!(text, "def handle_{name}(request):\n    user = request.user\n    if not user.allowed(\"{name}\"):\n        raise Forbidden({at})\n    return db.fetch(\"{name}\", {})\n", mixed(at) % 40)
        .expect("writing to a String cannot fail");
}

fn prose(text: &mut String, at: u64) {
    if at.is_multiple_of(40) {
        writeln!(text, "## Part {at}\n").expect("writing to a String cannot fail");
    }
    (0..60).for_each(|nth| push_word(text, mixed(at * 60 + nth) % 90_000));
    text.push_str("\n\n");
}

fn row(text: &mut String, at: u64) {
    let random = mixed(at);
    write!(text, "{{\"id\":{at},\"name\":\"item {}\",\"status\":\"{}\",\"total\":{}.5,\"at\":{{\"x\":{},\"ok\":true}}}}", random % 10_000, ["active", "paused"][random as usize % 2], random % 90, random % 7)
        .expect("writing to a String cannot fail");
}
