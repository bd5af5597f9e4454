//! UTC timestamps as RFC 3339, without a calendar library.

use std::time::{SystemTime, UNIX_EPOCH};

/// A point in time, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp {
    year: i64,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    millisecond: u32,
}

impl From<SystemTime> for Timestamp {
    /// Converts a system time. Times before 1970 become 1970.
    fn from(time: SystemTime) -> Timestamp {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::at(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Timestamp {
    /// Converts Unix time to a date. Years are counted from March, so that the leap day is the last
    /// day of a year, and grouped into eras of 400 years, which all have the same length.
    pub fn at(unix_ms: u64) -> Timestamp {
        let seconds = unix_ms / 1000;
        let days = (seconds / 86_400) as i64 + 719_468;
        let era = days / 146_097;
        let day_of_era = days % 146_097;
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 {
            month_from_march + 3
        } else {
            month_from_march - 9
        };
        let of_day = (seconds % 86_400) as u32;
        Timestamp {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month: month as u32,
            day: day as u32,
            hour: of_day / 3600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
            millisecond: (unix_ms % 1000) as u32,
        }
    }

    /// Returns the time in the form `2026-07-28T09:05:07.089Z`.
    pub fn rfc3339(&self) -> String {
        format!(
            "{:04}-{:02}-{:02}T{}.{:03}Z",
            self.year,
            self.month,
            self.day,
            self.time(),
            self.millisecond
        )
    }

    /// Returns the time of day in the form `09:05:07`.
    pub fn time(&self) -> String {
        format!("{:02}:{:02}:{:02}", self.hour, self.minute, self.second)
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[track_caller]
    fn check(unix_ms: u64, expected: &str) {
        assert_eq!(Timestamp::at(unix_ms).rfc3339(), expected);
    }

    #[test]
    fn dates_are_formatted() {
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_399_999, "2000-02-28T23:59:59.999Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(951_868_800_000, "2000-03-01T00:00:00.000Z");
        check(1_709_164_800_000, "2024-02-29T00:00:00.000Z");
        check(1_785_229_507_089, "2026-07-28T09:05:07.089Z");
        check(4_107_542_399_000, "2100-02-28T23:59:59.000Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
        check(1_735_689_599_000, "2024-12-31T23:59:59.000Z");
    }
}
