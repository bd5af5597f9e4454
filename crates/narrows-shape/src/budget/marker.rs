//! What stands where something was cut. The reader is a model: the marker says
//! what is missing, how much it would cost, and which call brings it.

use super::{Order, Place};

/// What was cut, in the reader's units.
pub(super) struct Gap<'a> {
    pub(super) unit: Unit<'a>,
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) total: usize,
    pub(super) tokens: usize,
    /// Where it was in the original.
    pub(super) place: Place,
}

#[derive(Clone, Copy)]
pub(super) enum Unit<'a> {
    Lines,
    Chars,
    /// Of the array at this path.
    Rows(&'a str),
    /// Of the object at this path.
    Keys(&'a str),
}

impl Gap<'_> {
    pub(super) fn marker(&self, order: &Order<'_>) -> String {
        let count = self.last.saturating_sub(self.first) + 1;
        let range = [self.first, self.last, self.total, count];
        write(
            order,
            self.unit,
            range,
            &short_number(self.tokens),
            self.place,
        )
    }
}

/// A marker that is at least as long as any for a part of something that has
/// `total` units, in a text that has `chars` characters.
pub(super) fn longest(order: &Order<'_>, unit: Unit<'_>, total: usize, chars: usize) -> String {
    // No smaller number has more figures, and "units" is longer than "unit".
    let total = total.max(10);
    let place = match unit {
        Unit::Lines => Place::Lines {
            first: total,
            last: total,
        },
        _ => Place::Chars {
            first: chars,
            last: chars,
        },
    };
    write(order, unit, [total; 4], "999k", place)
}

fn write(
    order: &Order<'_>,
    unit: Unit<'_>,
    [first, last, total, count]: [usize; 4],
    tokens: &str,
    place: Place,
) -> String {
    let (many, one, of) = match unit {
        Unit::Lines => ("lines", "line", None),
        Unit::Chars => ("chars", "char", None),
        Unit::Rows(path) => ("rows", "row", Some(path)),
        Unit::Keys(path) => ("keys", "key", Some(path)),
    };
    let of = of.map_or(String::new(), |path| format!(" of {path}"));
    let noun = if count == 1 { one } else { many };
    let recover = recover(order, place);
    format!(
        "⟦narrows: {many} {first}-{last} of {total}{of} cut ({count} {noun}, ~{tokens} tokens); get them with {recover}⟧"
    )
}

/// What stands for base64.
pub(super) fn note(order: &Order<'_>, kind: &str, bytes: usize, place: Place) -> String {
    let (size, recover) = (short_size(bytes), recover(order, place));
    format!("⟦narrows: base64 {kind}, {size}, cut; get it with {recover}⟧")
}

fn recover(order: &Order<'_>, place: Place) -> String {
    let Order { tool, receipt, .. } = order;
    match place {
        Place::Lines { first, last } => format!("{tool} prune_id={receipt} ranges {first}-{last}"),
        Place::Chars { first, last } => {
            format!("{tool} prune_id={receipt} start_char={first} end_char={last}")
        }
    }
}

/// A number in at most four letters: `850`, `1.2k`, `61k`, `1.2M`.
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

/// A size in words: `850 bytes`, `61 kB`, `1.2 MB`.
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
    use super::*;

    #[test]
    fn numbers_are_short_and_right() {
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
    fn no_marker_is_longer_than_the_longest() {
        let order = Order {
            max_chars: 1_000,
            goal: None,
            source: None,
            receipt: "prn_1",
            tool: "recover_text",
        };
        for total in [1, 2, 9, 10, 11, 99, 100, 5_213] {
            for unit in [Unit::Lines, Unit::Chars, Unit::Rows("$.a")] {
                let longest = longest(&order, unit, total, 10 * total);
                for first in 1..=total.min(200) {
                    for last in [first, (first + 1).min(total), total] {
                        let marker = Gap {
                            unit,
                            first,
                            last,
                            total,
                            tokens: 999_499,
                            place: match unit {
                                Unit::Lines => Place::Lines { first, last },
                                _ => Place::Chars {
                                    first: first * 10,
                                    last: last * 10,
                                },
                            },
                        }
                        .marker(&order);
                        assert!(marker.len() <= longest.len(), "{marker}\n{longest}");
                    }
                }
            }
        }
    }
}
