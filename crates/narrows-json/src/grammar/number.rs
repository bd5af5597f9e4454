//! Numbers, which may arrive in several parts.

/// The state after the last byte of a number: determines the bytes that may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Digit {
    /// Before the first byte.
    Start,
    Minus,
    /// A leading zero. No digit may follow: `01` is not a JSON number.
    Zero,
    Whole,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

/// The state at the end of the available digits: `Ok` if the number may end here.
pub(super) type Last = Result<Digit, Digit>;

/// Continues a number from its last state up to the first byte that does not belong to it. Each
/// test falls through to the next one, so that a caller that starts at `Start` does not pay for the
/// other states.
#[inline(always)]
pub(super) fn number(text: &[u8], start: usize, last: Digit) -> (usize, Last) {
    let mut at = start;
    let mut last = last;
    if last == Digit::Start && text.get(at) == Some(&b'-') {
        at += 1;
        last = Digit::Minus;
    }
    if matches!(last, Digit::Start | Digit::Minus) {
        last = match text.get(at) {
            Some(b'0') => Digit::Zero,
            Some(b'1'..=b'9') => Digit::Whole,
            _ => return (at, Err(last)),
        };
        at += 1;
    }
    if matches!(last, Digit::Zero | Digit::Whole) {
        if last == Digit::Whole {
            at = digits(text, at);
        }
        last = match text.get(at) {
            Some(b'.') => Digit::Point,
            Some(b'e' | b'E') => Digit::E,
            _ => return (at, Ok(last)),
        };
        at += 1;
    }
    if matches!(last, Digit::Point | Digit::Fraction) {
        let end = digits(text, at);
        if last == Digit::Point && end == at {
            return (at, Err(last));
        }
        at = end;
        last = match text.get(at) {
            Some(b'e' | b'E') => Digit::E,
            _ => return (at, Ok(Digit::Fraction)),
        };
        at += 1;
    }
    if last == Digit::E
        && let Some(b'+' | b'-') = text.get(at)
    {
        at += 1;
        last = Digit::Sign;
    }
    let end = digits(text, at);
    match end > at || last == Digit::Exponent {
        true => (end, Ok(Digit::Exponent)),
        false => (end, Err(last)),
    }
}

#[inline(always)]
fn digits(text: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(b'0'..=b'9') = text.get(at) {
        at += 1;
    }
    at
}
