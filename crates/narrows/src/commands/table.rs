//! Formats tables for users.

use crate::terminal::{Palette, Tone};

/// Formats rows under their headings. Columns are as wide as necessary.
pub(super) fn table<const N: usize>(
    head: [&str; N],
    rows: &[[String; N]],
    palette: Palette,
) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max()
    };
    let widths: [usize; N] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let line = |cells: [&str; N]| {
        let cells = cells.iter().zip(widths);
        let cells = cells.map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut text = format!("{}\n", palette.paint(Tone::Faint, &line(head)));
    for row in rows {
        let cells = std::array::from_fn(|column| row[column].as_str());
        text.push_str(&format!("{}\n", line(cells)));
    }
    text
}
