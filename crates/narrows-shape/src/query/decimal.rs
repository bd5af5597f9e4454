//! Exact decimal numbers in JSON notation.

use std::cmp::Ordering;
use std::fmt;

/// The maximum number of digits after the decimal point.
const MAX_SCALE: u32 = 36;

/// The number `mantissa / 10^scale`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decimal {
    mantissa: i128,
    scale: u32,
}

impl Decimal {
    pub(super) const ZERO: Decimal = Decimal {
        mantissa: 0,
        scale: 0,
    };

    /// Parses a JSON number. Returns `None` if it does not fit 38 digits.
    pub(super) fn parse(text: &str) -> Option<Decimal> {
        let (number, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (negative, number) = match number.strip_prefix('-') {
            Some(number) => (true, number),
            None => (false, number),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let mut mantissa = 0_i128;
        for digit in whole.chars().chain(fraction.chars()) {
            let digit = i128::from(digit.to_digit(10)?);
            mantissa = mantissa.checked_mul(10)?.checked_add(digit)?;
        }
        if negative {
            mantissa = -mantissa;
        }
        if mantissa == 0 {
            let scale = u32::try_from(fraction.len()).ok()?.min(MAX_SCALE);
            return Some(Decimal { mantissa, scale });
        }
        let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        if scale < 0 {
            let mantissa = mantissa.checked_mul(power(scale.unsigned_abs())?)?;
            return Some(Decimal { mantissa, scale: 0 });
        }
        let scale = u32::try_from(scale).ok().filter(|s| *s <= MAX_SCALE)?;
        Some(Decimal { mantissa, scale })
    }

    pub(super) fn checked_add(self, other: Decimal) -> Option<Decimal> {
        let scale = self.scale.max(other.scale);
        let mantissa = self.at_scale(scale)?.checked_add(other.at_scale(scale)?)?;
        Some(Decimal { mantissa, scale })
    }

    /// Returns the quotient, rounded half away from zero to six more digits than the dividend has.
    pub(super) fn divided_by(self, count: u64) -> Option<Decimal> {
        let scale = self.scale + 6;
        let count = i128::from(count);
        let wide = self.at_scale(scale)?;
        let half = count / 2 * wide.signum();
        let mantissa = wide.checked_add(half)?.checked_div(count)?;
        Some(Decimal { mantissa, scale }.trimmed())
    }

    /// Removes trailing zeros, so that equal numbers have the same form.
    pub(super) fn trimmed(mut self) -> Decimal {
        while self.scale > 0 && self.mantissa % 10 == 0 {
            self.mantissa /= 10;
            self.scale -= 1;
        }
        self
    }

    pub(super) fn compare(self, other: Decimal) -> Option<Ordering> {
        let scale = self.scale.max(other.scale);
        Some(self.at_scale(scale)?.cmp(&other.at_scale(scale)?))
    }

    fn at_scale(self, scale: u32) -> Option<i128> {
        self.mantissa.checked_mul(power(scale - self.scale)?)
    }
}

fn power(exponent: u32) -> Option<i128> {
    10_i128.checked_pow(exponent)
}

/// Compares two JSON numbers. Numbers that do not fit a decimal are compared as floating-point
/// numbers.
pub(super) fn compare(one: &str, other: &str) -> Ordering {
    let exact = || Decimal::parse(one)?.compare(Decimal::parse(other)?);
    exact().unwrap_or_else(|| float(one).total_cmp(&float(other)))
}

pub(super) fn float(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let digits = self.mantissa.unsigned_abs().to_string();
        let scale = self.scale as usize;
        if scale == 0 {
            return write!(f, "{sign}{digits}");
        }
        let digits = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        write!(f, "{sign}{whole}.{fraction}")
    }
}
