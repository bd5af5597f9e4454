//! Checks that must hold for the digest of similar lines. The fuzz target of this name includes
//! this file, and `main.rs` replays its corpus through it.

use std::fmt::Write;

use narrows_shape::prune::SourceType;

use super::budget::hold;

/// Checks fuzzer input. The first byte is the source type, the second the number of repetitions and
/// the third the budget. The last line occurs once in the middle of the others; a `0` in the others
/// becomes the line number. Invalid UTF-8 is replaced.
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
            writeln!(text, "{odd}").expect("writing to a String cannot fail");
        }
        for line in lines.split('\n') {
            let line = line.replace('0', &(nth * 7).to_string());
            writeln!(text, "{line}").expect("writing to a String cannot fail");
        }
    }
    let source = SourceType::ALL.get(usize::from(source) % 4).copied();
    hold(&text, None, source, 1_000 + 16 * usize::from(budget));
}
