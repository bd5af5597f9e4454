//! Measurements as they are read: plain data, in no format yet.

use std::borrow::Cow;
use std::sync::Arc;

/// Everything of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Ends in `_total` if it is a counter, else in its unit where it has one.
    pub name: &'static str,
    pub help: &'static str,
    pub kind: Kind,
    pub samples: Vec<Sample>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, and begins anew with the process.
    Counter,
    Gauge,
    Histogram,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub labels: Vec<(&'static str, Label)>,
    pub value: Value,
}

/// What a label says: a word of ours, or a name from the configuration.
pub type Label = Cow<'static, str>;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Number(f64),
    Histogram {
        /// Upper bounds, and how many are no larger than each.
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

    /// With one sample more.
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

/// A name from the configuration as a label.
pub(crate) fn name(text: &Arc<str>) -> Label {
    Label::Owned(text.to_string())
}
