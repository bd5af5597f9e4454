//! Prometheus text output.
//!
//! The two formats differ in details: the classic one (0.0.4) names a counter like its samples,
//! with `_total`; OpenMetrics (1.0.0) names it without `_total` and ends with `# EOF`. A library
//! that writes only one format leaves readers of the other without types, so this module writes
//! both itself.

use std::fmt::Write as _;

use http::header::HeaderValue;
use narrows_gateway::meter::{MetricFamily, MetricKind, MetricLabel, MetricSample, MetricValue};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Classic,
    OpenMetrics,
}

impl Format {
    /// Returns the format that the client prefers, and OpenMetrics if it prefers neither. Without a
    /// preference for either format by name, the classic one is used.
    pub(super) fn asked_for<'a>(accept: impl IntoIterator<Item = &'a HeaderValue>) -> Format {
        let (mut open, mut classic) = (0.0_f32, 0.0_f32);
        let values = accept.into_iter().filter_map(|value| value.to_str().ok());
        for range in values.flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let place = match parts.next().unwrap_or_default() {
                kind if kind.eq_ignore_ascii_case("application/openmetrics-text") => &mut open,
                kind if kind.eq_ignore_ascii_case("text/plain") => &mut classic,
                _ => continue,
            };
            let weight = parts.find_map(|part| part.strip_prefix("q="));
            let weight = weight.map_or(Some(1.0), |weight| weight.trim().parse().ok());
            *place = place.max(weight.unwrap_or(0.0));
        }
        match open > 0.0 && open >= classic {
            true => Format::OpenMetrics,
            false => Format::Classic,
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Format::Classic => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    pub(super) fn write(self, families: &[MetricFamily]) -> String {
        let mut text = String::with_capacity(16 * 1024);
        for family in families {
            let (name, kind) = (self.name(family), kind(family.kind));
            text += "# HELP ";
            text += name;
            text += " ";
            escape(family.help, self == Format::OpenMetrics, &mut text);
            // Writing to a String cannot fail.
            let _ = write!(text, "\n# TYPE {name} {kind}\n");
            for one in &family.samples {
                sample(family.name, one, &mut text);
            }
        }
        if self == Format::OpenMetrics {
            text += "# EOF\n";
        }
        text
    }

    fn name(self, family: &MetricFamily) -> &'static str {
        match (self, family.kind) {
            (Format::OpenMetrics, MetricKind::Counter) => {
                family.name.strip_suffix("_total").unwrap_or(family.name)
            }
            _ => family.name,
        }
    }
}

fn kind(kind: MetricKind) -> &'static str {
    match kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram => "histogram",
    }
}

fn sample(name: &str, sample: &MetricSample, text: &mut String) {
    let mut line = |suffix: &str, le: Option<&str>, value: f64| {
        text.push_str(name);
        text.push_str(suffix);
        labels(&sample.labels, le, text);
        let _ = writeln!(text, " {value}");
    };
    match &sample.value {
        MetricValue::Number(number) => line("", None, *number),
        MetricValue::Histogram {
            buckets,
            count,
            sum,
        } => {
            for (bound, count) in buckets {
                line("_bucket", Some(&spelled(*bound)), *count as f64);
            }
            line("_bucket", Some("+Inf"), *count as f64);
            line("_sum", None, *sum);
            line("_count", None, *count as f64);
        }
    }
}

/// Formats a bucket bound in the canonical form of OpenMetrics, so that a series has the same name
/// from every exporter: whole numbers with a decimal point, exponents with two digits.
fn spelled(bound: f64) -> String {
    let text = format!("{bound:?}");
    match text.split_once("e-") {
        Some((digits, exponent)) => format!("{digits}e-{exponent:0>2}"),
        None => text,
    }
}

fn labels(labels: &[(&'static str, MetricLabel)], le: Option<&str>, text: &mut String) {
    let all = labels.iter().map(|(name, word)| (*name, &**word));
    let mut before = '{';
    for (name, word) in all.chain(le.map(|le| ("le", le))) {
        text.push(before);
        text.push_str(name);
        text.push_str("=\"");
        escape(word, true, text);
        text.push('"');
        before = ',';
    }
    if before == ',' {
        text.push('}');
    }
}

/// Escapes help text and label values. Help in the classic format does not escape quotes.
fn escape(word: &str, quotes: bool, text: &mut String) {
    for letter in word.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '"' if quotes => text.push_str("\\\""),
            letter => text.push(letter),
        }
    }
}
