//! Measurements as plain data, independent of the output format.

use std::borrow::Cow;
use std::sync::Arc;

/// The samples of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricFamily {
    /// The name. Ends in `_total` for a counter, otherwise in the unit, if any.
    pub name: &'static str,
    pub help: &'static str,
    pub kind: MetricKind,
    pub samples: Vec<MetricSample>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// A value that only increases, and restarts from zero with the process.
    Counter,
    Gauge,
    Histogram,
}

/// A sample of a family.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSample {
    pub labels: Vec<(&'static str, MetricLabel)>,
    pub value: MetricValue,
}

/// The value of a label: a fixed word, or a name from the configuration.
pub type MetricLabel = Cow<'static, str>;

#[derive(Debug, Clone, PartialEq)]
pub enum MetricValue {
    Number(f64),
    Histogram {
        /// The upper bounds, with the number of values up to each bound.
        buckets: Vec<(f64, u64)>,
        count: u64,
        sum: f64,
    },
}

impl MetricFamily {
    pub(crate) fn counter(name: &'static str, help: &'static str) -> MetricFamily {
        MetricFamily::new(name, help, MetricKind::Counter)
    }

    pub(crate) fn gauge(name: &'static str, help: &'static str) -> MetricFamily {
        MetricFamily::new(name, help, MetricKind::Gauge)
    }

    pub(crate) fn histogram(name: &'static str, help: &'static str) -> MetricFamily {
        MetricFamily::new(name, help, MetricKind::Histogram)
    }

    /// Returns the family with another sample.
    pub(crate) fn with<const N: usize>(
        mut self,
        labels: [(&'static str, MetricLabel); N],
        value: impl Into<MetricValue>,
    ) -> MetricFamily {
        self.add(labels, value);
        self
    }

    pub(crate) fn add<const N: usize>(
        &mut self,
        labels: [(&'static str, MetricLabel); N],
        value: impl Into<MetricValue>,
    ) {
        self.samples.push(MetricSample {
            labels: labels.into(),
            value: value.into(),
        });
    }

    fn new(name: &'static str, help: &'static str, kind: MetricKind) -> MetricFamily {
        MetricFamily {
            name,
            help,
            kind,
            samples: Vec::new(),
        }
    }
}

impl From<f64> for MetricValue {
    fn from(number: f64) -> MetricValue {
        MetricValue::Number(number)
    }
}

impl From<u64> for MetricValue {
    fn from(number: u64) -> MetricValue {
        MetricValue::Number(number as f64)
    }
}

impl From<usize> for MetricValue {
    fn from(number: usize) -> MetricValue {
        MetricValue::Number(number as f64)
    }
}

/// Returns a name from the configuration as a label.
pub(crate) fn name(text: &Arc<str>) -> MetricLabel {
    MetricLabel::Owned(text.to_string())
}
