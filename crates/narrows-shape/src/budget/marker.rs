//! Markers in place of cuts. The reader is a model: the first marker of a text states what is
//! missing, its cost in tokens, and the call that returns it. The other markers state only what is
//! missing.

use super::{CutRange, RecoveryCall, RecoveryRange};

/// A cut part in the reader's units.
#[derive(Clone, Copy)]
pub(super) struct Gap {
    pub(super) unit: MarkerUnit,
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) total: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkerUnit {
    Lines,
    Chars,
    /// Elements of an array.
    Rows,
    /// Members of an object.
    Keys,
}

impl MarkerUnit {
    fn as_str(self) -> &'static str {
        match self {
            MarkerUnit::Lines => "lines",
            MarkerUnit::Chars => "chars",
            MarkerUnit::Rows => "rows",
            MarkerUnit::Keys => "keys",
        }
    }
}

impl Gap {
    /// Returns the gap with the longest marker among all gaps in `total` units.
    pub(super) fn longest_of(unit: MarkerUnit, total: usize) -> Gap {
        Gap {
            unit,
            first: total,
            last: total,
            total,
        }
    }

    /// Returns the short marker, for texts in which another marker or a header contains the
    /// recovery call.
    pub(super) fn short(&self) -> String {
        let Gap { first, last, .. } = self;
        match self.unit {
            MarkerUnit::Lines => format!("⟦cut {first}-{last}⟧"),
            unit => format!("⟦cut {} {first}-{last}⟧", unit.as_str()),
        }
    }

    /// Returns the first marker of a text that has no header.
    pub(super) fn full(
        &self,
        recovery: &RecoveryCall<'_>,
        tokens: usize,
        place: CutRange,
    ) -> String {
        self.write(recovery, &short_number(tokens), place)
    }

    /// Returns the longest full marker that a text of `chars` characters may have.
    pub(super) fn longest_full(&self, recovery: &RecoveryCall<'_>, chars: usize) -> String {
        let place = match self.unit {
            MarkerUnit::Lines => CutRange::Lines {
                first: self.total,
                last: self.total,
            },
            _ => CutRange::Chars {
                first: chars,
                last: chars,
            },
        };
        self.longest().write(recovery, "999k", place)
    }

    /// Returns the gap with the longest marker in the same unit and total.
    pub(super) fn longest(&self) -> Gap {
        Gap::longest_of(self.unit, self.total)
    }

    fn write(&self, recovery: &RecoveryCall<'_>, tokens: &str, place: CutRange) -> String {
        let Gap {
            first, last, total, ..
        } = self;
        let (unit, call) = (self.unit.as_str(), recovery.call(place.range()));
        format!("⟦narrows: {unit} {first}-{last} of {total} cut (~{tokens} tokens); {call}⟧")
    }
}

impl CutRange {
    fn range(self) -> RecoveryRange {
        match self {
            CutRange::Lines { first, last } => RecoveryRange::Lines(first, last),
            CutRange::Chars { first, last } => RecoveryRange::Chars(first, last),
        }
    }
}

/// Writes the first line of a digest that shows `shown` units. The call in it asks for `range`.
pub(super) fn header(
    recovery: &RecoveryCall<'_>,
    shown: usize,
    gap: Gap,
    range: RecoveryRange,
) -> String {
    let (total, unit, call) = (gap.total, gap.unit.as_str(), recovery.call(range));
    format!(
        "⟦narrows: digest, {shown} of {total} {unit} shown; absence here proves nothing; {call}⟧\n"
    )
}

/// Returns the longest header for a text of `total` units.
pub(super) fn longest_header(
    recovery: &RecoveryCall<'_>,
    unit: MarkerUnit,
    total: usize,
) -> String {
    let gap = Gap::longest_of(unit, total);
    let by_lines = header(recovery, total, gap, RecoveryRange::Rows(total, total));
    let by_chars = header(recovery, total, gap, RecoveryRange::Chars(total, total));
    match by_lines.len() > by_chars.len() {
        true => by_lines,
        false => by_chars,
    }
}

/// Writes the note that replaces base64. The first note of a text contains the recovery call.
pub(super) fn note(
    recovery: Option<&RecoveryCall<'_>>,
    kind: &str,
    bytes: usize,
    place: CutRange,
) -> String {
    let (CutRange::Lines { first, last } | CutRange::Chars { first, last }) = place;
    let size = short_size(bytes);
    match recovery {
        Some(recovery) => {
            let call = recovery.call(place.range());
            format!("⟦narrows: base64 {kind}, {size}, cut; {call}⟧")
        }
        None => format!("⟦cut chars {first}-{last}: base64 {kind}, {size}⟧"),
    }
}

/// Writes a number in at most four characters: `850`, `1.2k`, `61k`, `1.2M`.
pub fn short_number(number: usize) -> String {
    let tenths = |unit: usize, letter: &str| {
        let tenths = (number + unit / 20) / (unit / 10);
        match tenths % 10 {
            0 => format!("{}{letter}", tenths / 10),
            rest => format!("{}.{rest}{letter}", tenths / 10),
        }
    };
    let whole = |unit: usize, letter: &str| format!("{}{letter}", (number + unit / 2) / unit);
    match number {
        0..1_000 => number.to_string(),
        1_000..9_950 => tenths(1_000, "k"),
        9_950..999_500 => whole(1_000, "k"),
        999_500..9_950_000 => tenths(1_000_000, "M"),
        _ => whole(1_000_000, "M"),
    }
}

/// Writes a size with its unit: `850 bytes`, `61 kB`, `1.2 MB`.
pub fn short_size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..999_500 => format!("{} kB", (bytes + 500) / 1_000),
        _ => {
            let tenths = (bytes + 50_000) / 100_000;
            format!("{}.{} MB", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::RecoveryForm;
    use super::*;

    #[test]
    fn numbers_are_abbreviated() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1k"),
            (1_249, "1.2k"),
            (9_949, "9.9k"),
            (9_950, "10k"),
            (61_400, "61k"),
            (999_499, "999k"),
            (999_500, "1M"),
            (1_234_567, "1.2M"),
            (123_456_789, "123M"),
        ] {
            assert_eq!(short_number(number), expected);
        }
        assert_eq!(short_size(750), "750 bytes");
        assert_eq!(short_size(45_300), "45 kB");
        assert_eq!(short_size(1_250_000), "1.3 MB");
    }

    #[test]
    fn no_marker_exceeds_the_maximum_length() {
        let recovery = RecoveryCall {
            tool: "recover_text",
            receipt: "prn_1",
            form: RecoveryForm::Exec,
        };
        for total in [1, 2, 9, 10, 11, 99, 100, 5_213] {
            for unit in [
                MarkerUnit::Lines,
                MarkerUnit::Chars,
                MarkerUnit::Rows,
                MarkerUnit::Keys,
            ] {
                for first in 1..=total.min(200) {
                    for last in [first, (first + 1).min(total), total] {
                        let gap = Gap {
                            unit,
                            first,
                            last,
                            total,
                        };
                        let place = match unit {
                            MarkerUnit::Lines => CutRange::Lines { first, last },
                            _ => CutRange::Chars { first, last },
                        };
                        let full = gap.full(&recovery, 999_499, place);
                        assert!(full.len() <= gap.longest_full(&recovery, total).len());
                        assert!(gap.short().len() <= gap.longest().short().len());
                        for range in [
                            RecoveryRange::Lines(first, last),
                            RecoveryRange::Rows(first, last),
                            RecoveryRange::Chars(first, last),
                        ] {
                            let header = header(&recovery, last - first, gap, range);
                            assert!(header.len() <= longest_header(&recovery, unit, total).len());
                        }
                    }
                }
            }
        }
    }
}
