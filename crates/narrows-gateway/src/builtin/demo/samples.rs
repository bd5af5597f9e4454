//! Generated sample data. Line n and row n are the same for every requested length.

use std::fmt::Write;
use std::ops::RangeInclusive;

use serde::Serialize;

/// The number of rows that can be requested.
pub(super) const ROWS: RangeInclusive<u64> = 1..=50_000;

/// The number of lines from one failure to the next.
const FAILURE_INTERVAL: u64 = 1_700;

/// Returns the log of a web shop. In every 1,700 lines, a few report a failing database.
pub(super) fn log(lines: u64) -> String {
    let mut text = String::new();
    for number in 1..=lines {
        log_line(number, &mut text);
        text.push('\n');
    }
    text
}

/// Returns the first rows as one JSON array.
pub(super) fn table(rows: u64) -> String {
    let rows: Vec<Row> = (1..=rows).map(Row::new).collect();
    serde_json::to_string(&rows).expect("rows have a JSON form")
}

pub(super) fn row(number: u64) -> String {
    serde_json::to_string(&Row::new(number)).expect("a row has a JSON form")
}

fn log_line(number: u64, text: &mut String) {
    let dice = mix(number);
    // One line about every 700 ms, starting at 08:00.
    let millis = 8 * 3_600_000 + number * 700 + dice % 300;
    let (seconds, millis) = (millis / 1_000, millis % 1_000);
    let (day, hour, minute, second) = (
        5 + seconds / 86_400,
        seconds / 3_600 % 24,
        seconds / 60 % 60,
        seconds % 60,
    );
    let worker = dice >> 8 & 7;
    let written = write!(
        text,
        "2026-01-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z "
    )
    .and_then(|()| match number % FAILURE_INTERVAL {
        1_200 => write!(
            text,
            "ERROR [db-{worker}] connection to orders-db lost: Connection reset by peer"
        ),
        1_201 => write!(
            text,
            "ERROR [api-{worker}] POST /orders 500 unhandled exception: OrderStoreUnavailable"
        ),
        1_202 => text.write_str("ERROR   at OrderStore.save (src/orders/store.ts:118)"),
        1_203 => text.write_str("ERROR   at OrderService.place (src/orders/service.ts:64)"),
        1_204 => write!(
            text,
            "WARN  [db-{worker}] reconnecting to orders-db, attempt 1"
        ),
        1_216 => write!(
            text,
            "INFO  [db-{worker}] reconnected to orders-db after 8412 ms"
        ),
        _ => ordinary(number, dice, text),
    });
    debug_assert!(written.is_ok(), "writing to a string does not fail");
}

fn ordinary(number: u64, dice: u64, text: &mut String) -> std::fmt::Result {
    let worker = dice >> 8 & 7;
    let item = dice >> 16 & 0xfff;
    let took = 3 + (dice >> 32 & 0x7f);
    match dice % 10 {
        0..=4 => write!(
            text,
            "INFO  [api-{worker}] GET /products/{item} 200 {took}ms"
        ),
        5 | 6 => write!(
            text,
            "INFO  [api-{worker}] GET /cart 200 {took}ms session=s{item:04x}"
        ),
        7 => write!(
            text,
            "INFO  [api-{worker}] POST /orders 201 {took}ms order={}",
            100_000 + number
        ),
        8 => write!(
            text,
            "DEBUG [cache-{worker}] hit products:{item} age={took}s"
        ),
        _ => write!(
            text,
            "DEBUG [queue-{worker}] delivered mail.confirmation in {took}ms"
        ),
    }
}

#[derive(Serialize)]
struct Row {
    id: u64,
    customer: &'static str,
    country: &'static str,
    product: &'static str,
    quantity: u64,
    amount: f64,
    paid: bool,
    ordered_at: String,
}

impl Row {
    fn new(id: u64) -> Row {
        let dice = mix(id);
        let of = |names: &[&'static str], shift: u32| names[(dice >> shift) as usize % names.len()];
        let quantity = 1 + (dice >> 24) % 9;
        let cents = quantity * (199 + (dice >> 28) % 9_000);
        Row {
            id,
            customer: of(
                &[
                    "Ada", "Bela", "Chen", "Dilek", "Emil", "Fatou", "Goran", "Hana",
                ],
                0,
            ),
            country: of(&["AT", "BR", "DE", "FR", "JP", "KE", "TR", "US"], 8),
            product: of(&["lamp", "desk", "chair", "shelf", "rug", "clock"], 16),
            quantity,
            amount: cents as f64 / 100.0,
            paid: dice >> 40 & 7 != 0,
            ordered_at: format!(
                "2026-{:02}-{:02}",
                1 + (dice >> 44) % 12,
                1 + (dice >> 50) % 28
            ),
        }
    }
}

/// Scatters a number over all 64 bits (SplitMix64).
fn mix(number: u64) -> u64 {
    let mut bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}
