//! Groups lines that differ only in their numbers into templates.

use std::collections::HashMap;

use crate::prune::{Deadline, Lines, OutOfTime};

/// The maximum number of bytes of a line that determine its template.
const TEMPLATE_PREFIX: usize = 512;

/// Returns the novelty of each line, from 0 to 1. The first line of a template is the most novel,
/// especially if the template has few lines.
pub(super) fn novelty(lines: &Lines<'_>, deadline: &Deadline<'_>) -> Result<Vec<f32>, OutOfTime> {
    let mut places: HashMap<u64, u32> = HashMap::new();
    let mut counts: Vec<u32> = Vec::new();
    // The template of each line, and its position among the lines of that template.
    let mut seen: Vec<(u32, u32)> = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        if at % 1024 == 0 {
            deadline.check()?;
        }
        let next = counts.len() as u32;
        let place = *places.entry(template(line)).or_insert(next);
        if place == next {
            counts.push(0);
        }
        let count = &mut counts[place as usize];
        *count += 1;
        seen.push((place, *count));
    }
    let novelty = |&(place, nth): &(u32, u32)| {
        let count = counts[place as usize];
        1.0 / (nth as f32 * (count as f32).sqrt())
    };
    Ok(seen.iter().map(novelty).collect())
}

/// Returns the hash of a line with its numbers masked. Any word with digits counts as a number,
/// because hashes and identifiers are often hexadecimal.
fn template(line: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let bytes = &line.as_bytes()[..line.len().min(TEMPLATE_PREFIX)];
    for word in bytes.chunk_by(|a, b| a.is_ascii_alphanumeric() == b.is_ascii_alphanumeric()) {
        if word.iter().any(u8::is_ascii_digit) {
            add(b'0');
        } else {
            word.iter().copied().for_each(&mut add);
        }
    }
    hash
}
