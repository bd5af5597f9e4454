//! What must hold for the digest of lines that are alike. The fuzz target of this
//! name includes this file, and `main.rs` replays its corpus through it.

use std::fmt::Write;

use narrows_shape::prune::SourceType;

use super::budget::hold;

/// The first byte is the source type, the second how often the lines are repeated
/// and the third the budget. Of the lines, the last one stands once in the middle
/// of the others; a `0` in those becomes the number of the line. What is not UTF-8
/// is made so.
pub(crate) fn check(data: &[u8]) {
    let Some((&[source, times, budget], rest)) = data.split_first_chunk() else {
        return;
    };
    let rest = String::from_utf8_lossy(rest);
    let (lines, odd) = rest.rsplit_once('\n').unwrap_or((&rest, ""));
    let times = usize::from(times) % 96 + 1;
    let mut text = String::new();
    for nth in 0..times {
        if nth == times / 2 {
            writeln!(text, "{odd}").expect("a String takes everything");
        }
        for line in lines.split('\n') {
            let line = line.replace('0', &(nth * 7).to_string());
            writeln!(text, "{line}").expect("a String takes everything");
        }
    }
    let source = SourceType::ALL.get(usize::from(source) % 4).copied();
    hold(&text, None, source, 1_000 + 16 * usize::from(budget));
}
