use std::sync::Arc;
use std::time::Duration;

use super::labels::{Method, Outcome};
use super::*;

pub(crate) fn number(meter: &Meter, family: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let families = meter.families();
    let family = families.iter().find(|found| found.name == family)?;
    let sample = family.samples.iter().find(|sample| {
        let mut given = sample.labels.iter().map(|(name, word)| (*name, &**word));
        labels
            .iter()
            .all(|label| given.any(|given| given == *label))
    })?;
    match &sample.value {
        MetricValue::Number(number) => Some(*number),
        MetricValue::Histogram { count, .. } => Some(*count as f64),
    }
}

#[test]
fn enum_indexes_match_their_names() {
    for (place, method) in Method::ALL.into_iter().enumerate() {
        assert_eq!(method as usize, place);
        assert_eq!(Method::of(method.as_str()), method);
    }
    for (place, outcome) in Outcome::ALL.into_iter().enumerate() {
        assert_eq!(outcome as usize, place);
    }
    for (place, reason) in RefusedFor::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, place);
    }
    for (place, what) in Evicted::ALL.into_iter().enumerate() {
        assert_eq!(what as usize, place);
    }
    for (place, kind) in ItemKind::ALL.into_iter().enumerate() {
        assert_eq!(kind as usize, place);
    }
}

#[test]
fn histogram_bounds_are_inclusive_and_cumulative() {
    let histogram = Histogram::default();
    for micros in [1_000, 1_001, 0, 61_000_000] {
        histogram.observe(Duration::from_micros(micros));
    }
    let MetricValue::Histogram {
        buckets,
        count,
        sum,
    } = histogram.value()
    else {
        panic!("no histogram");
    };
    assert_eq!(count, 4);
    assert_eq!(sum, 61.002_001);
    let at = |bound: f64| buckets.iter().find(|(at, _)| *at == bound).map(|at| at.1);
    assert_eq!(at(0.000_025), Some(1));
    assert_eq!(at(0.001), Some(2));
    assert_eq!(at(0.002_5), Some(3));
    assert_eq!(at(60.0), Some(3));
    assert!(buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
}

#[test]
fn meter_survives_while_its_server_id_is_configured() {
    let meter = Meter::default();
    let first = meter.server("files");
    assert!(Arc::ptr_eq(&first, &meter.server("files")));
    meter.entrypoint(&"servers/files".into());
    meter.entrypoint(&"default".into());
    meter.entrypoint(&PLAIN.into());
    meter.retain(|id| id != "files", |entrypoint| entrypoint == "default");
    assert!(!Arc::ptr_eq(&first, &meter.server("files")));
    let entrypoints = meter.entrypoints.lock();
    let mut kept: Vec<&str> = entrypoints.keys().map(|name| &**name).collect();
    kept.sort_unstable();
    assert_eq!(kept, [PLAIN, "default"]);
}

#[test]
fn messages_that_meet_a_full_queue_are_counted() {
    use narrows_upstream::exchange::{Event, EventSink, Notice};
    let meter = Arc::new(Meter::default());
    let (sink, stream) = EventSink::channel(1);
    let sink = sink.counted(meter.dropped());
    let notice = || Event::Notice(Notice::new("notifications/message", None));
    assert!(sink.send(notice()));
    assert_eq!(sink.queued(), 1);
    assert!(!sink.send(notice()));
    let dropped = "narrows_messages_dropped_total";
    assert_eq!(number(&meter, dropped, &[]), Some(1.0));
    // Messages without a receiver do not count as dropped.
    drop(stream);
    assert!(!sink.send(notice()));
    assert_eq!(number(&meter, dropped, &[]), Some(1.0));
}
