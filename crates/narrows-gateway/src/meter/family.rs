//! Measurements as plain data, independent of the output format.

use std::borrow::Cow;
use std::sync::Arc;

/// The samples of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// The name. Ends in `_total` for a counter, otherwise in the unit, if any.
    pub name: &'static str,
    pub help: &'static str,
    pub kind: Kind,
    pub samples: Vec<Sample>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A value that only increases, and restarts from zero with the process.
    Counter,
    Gauge,
    Histogram,
}

/// A sample of a family.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub labels: Vec<(&'static str, Label)>,
    pub value: Value,
}

/// The value of a label: a fixed word, or a name from the configuration.
pub type Label = Cow<'static, str>;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Number(f64),
    Histogram {
        /// The upper bounds, with the number of values up to each bound.
        buckets: Vec<(f64, u64)>,
        count: u64,
        sum: f64,
    },
}

impl Family {
    pub(crate) fn counter(name: &'static str, help: &'static str) -> Family {
        Family::new(name, help, Kind::Counter)
    }

    pub(crate) fn gauge(name: &'static str, help: &'static str) -> Family {
        Family::new(name, help, Kind::Gauge)
    }

    pub(crate) fn histogram(name: &'static str, help: &'static str) -> Family {
        Family::new(name, help, Kind::Histogram)
    }

    /// Returns the family with another sample.
    pub(crate) fn with<const N: usize>(
        mut self,
        labels: [(&'static str, Label); N],
        value: impl Into<Value>,
    ) -> Family {
        self.add(labels, value);
        self
    }

    pub(crate) fn add<const N: usize>(
        &mut self,
        labels: [(&'static str, Label); N],
        value: impl Into<Value>,
    ) {
        self.samples.push(Sample {
            labels: labels.into(),
            value: value.into(),
        });
    }

    fn new(name: &'static str, help: &'static str, kind: Kind) -> Family {
        Family {
            name,
            help,
            kind,
            samples: Vec::new(),
        }
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number as f64)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Value {
        Value::Number(number as f64)
    }
}

/// Returns a name from the configuration as a label.
pub(crate) fn name(text: &Arc<str>) -> Label {
    Label::Owned(text.to_string())
}
