use std::sync::Arc;
use std::time::Duration;

use narrows_policy::{KnownClient, Principal};
use narrows_wire::Raw;

use super::words::{Method, Outcome};
use super::*;
use crate::feed::{CallError, Feed, Happening};
use crate::server_observer::ServerObserver;

fn watch_over(meter: &Arc<Meter>, feed: &Arc<Feed>) -> Watch {
    let client = Principal::Client(KnownClient {
        name: "cursor".into(),
        stamp: 1,
    });
    Watch::open(meter, feed, 7, "default".into(), &client)
}

fn number(meter: &Meter, family: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let families = meter.families();
    let family = families.iter().find(|found| found.name == family)?;
    let sample = family.samples.iter().find(|sample| {
        let mut given = sample.labels.iter().map(|(name, word)| (*name, &**word));
        labels
            .iter()
            .all(|label| given.any(|given| given == *label))
    })?;
    match &sample.value {
        Value::Number(number) => Some(*number),
        Value::Histogram { count, .. } => Some(*count as f64),
    }
}

fn series(meter: &Meter) -> usize {
    let families = meter.families();
    families.iter().map(|family| family.samples.len()).sum()
}

fn observer(meter: &Meter) -> ServerObserver {
    ServerObserver::new("files", meter, &Arc::default())
}

fn begin<'a>(server: &'a ServerObserver, method: &'a str, trace: &'a Trace) -> Timed<'a> {
    Timed::begin(&"files".into(), server, method, trace)
}

#[test]
fn words_and_their_places_agree() {
    for (place, method) in Method::ALL.into_iter().enumerate() {
        assert_eq!(method as usize, place);
        assert_eq!(Method::of(method.word()), method);
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
fn a_bound_belongs_to_its_bucket_and_buckets_add_up() {
    let histogram = Histogram::default();
    for micros in [1_000, 1_001, 0, 61_000_000] {
        histogram.observe(Duration::from_micros(micros));
    }
    let Value::Histogram {
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
fn a_request_is_counted_and_remembered() {
    let (meter, feed) = (Arc::new(Meter::default()), Arc::new(Feed::default()));
    let watch = watch_over(&meter, &feed);
    let server = observer(&meter);
    let watched = watch.begin("tools/call", 12);
    assert_eq!(number(&meter, "narrows_requests_in_flight", &[]), Some(1.0));
    watched.trace.named(&Raw::string(&"ä".repeat(300)));
    watched.trace.named(&Raw::string("another"));
    let answer = Ok(Raw::string("six"));
    let timed = begin(&server, "tools/call", &watched.trace);
    timed.end(&answer);
    watched.end(&answer);

    assert_eq!(number(&meter, "narrows_requests_in_flight", &[]), Some(0.0));
    assert_eq!(number(&meter, "narrows_gateway_seconds", &[]), Some(1.0));
    let labels = [
        ("endpoint", "default"),
        ("method", "tools/call"),
        ("outcome", "ok"),
    ];
    assert_eq!(number(&meter, "narrows_requests_total", &labels), Some(1.0));
    let labels = [
        ("server", "files"),
        ("method", "tools/call"),
        ("outcome", "ok"),
    ];
    let calls = "narrows_upstream_calls_total";
    assert_eq!(number(&meter, calls, &labels), Some(1.0));
    let latency = "narrows_upstream_call_seconds";
    assert_eq!(number(&meter, latency, &labels[..2]), Some(1.0));

    let call = &feed.calls()[0];
    assert_eq!(call.name.as_deref(), Some(&*"ä".repeat(200)));
    assert_eq!(call.server.as_deref(), Some("files"));
    assert_eq!(call.client.as_deref(), Some("cursor"));
    assert_eq!((call.session, &*call.method), (7, "tools/call"));
    assert_eq!((call.bytes_in, call.bytes_out), (12, 5));
    assert_eq!(call.error, None);
}

#[test]
fn a_request_that_is_dropped_was_taken_back() {
    let (meter, feed) = (Arc::new(Meter::default()), Arc::new(Feed::default()));
    let watch = watch_over(&meter, &feed);
    let server = observer(&meter);
    let watched = watch.begin("tools/call", 0);
    drop(begin(&server, "tools/call", &watched.trace));
    drop(watched);
    let client = [("method", "tools/call"), ("outcome", "client")];
    for family in ["narrows_requests_total", "narrows_upstream_calls_total"] {
        assert_eq!(number(&meter, family, &client), Some(1.0), "{family}");
    }
    let expected = CallError {
        code: "cancelled",
        fault: "client",
    };
    assert_eq!(feed.calls()[0].error, Some(expected));
}

#[test]
fn pings_are_counted_and_not_remembered() {
    let (meter, feed) = (Arc::new(Meter::default()), Arc::new(Feed::default()));
    let watch = watch_over(&meter, &feed);
    watch.begin("ping", 0).end(&Ok(Raw::empty_object()));
    let ping = [("method", "ping"), ("outcome", "ok")];
    assert_eq!(number(&meter, "narrows_requests_total", &ping), Some(1.0));
    assert!(feed.calls().is_empty());
}

#[test]
fn what_clients_send_makes_no_series() {
    let (meter, feed) = (Arc::new(Meter::default()), Arc::new(Feed::default()));
    let watch = watch_over(&meter, &feed);
    let server = observer(&meter);
    let ask = |method: &str| {
        let watched = watch.begin(method, 0);
        watched.trace.named(&Raw::string(method));
        drop(begin(&server, method, &watched.trace));
    };
    ask("a method of nobody");
    let before = series(&meter);
    for n in 0..10_000 {
        ask(&format!("method{n}"));
    }
    assert_eq!(series(&meter), before);
    assert_eq!(feed.calls().len(), 1_000);
    assert_eq!(feed.calls()[0].method, "method9999");
}

#[test]
fn a_server_of_the_same_id_has_the_same_meter_until_it_is_configured_no_more() {
    let meter = Meter::default();
    let first = meter.server("files");
    assert!(Arc::ptr_eq(&first, &meter.server("files")));
    meter.door(&"servers/files".into());
    meter.door(&"default".into());
    meter.door(&watch::PLAIN.into());
    meter.retain(|id| id != "files", |door| door == "default");
    assert!(!Arc::ptr_eq(&first, &meter.server("files")));
    let doors = meter.doors.lock();
    let mut kept: Vec<&str> = doors.keys().map(|name| &**name).collect();
    kept.sort_unstable();
    assert_eq!(kept, [watch::PLAIN, "default"]);
}

#[test]
fn sessions_are_counted_and_told() {
    let (meter, feed) = (Arc::new(Meter::default()), Arc::new(Feed::default()));
    let mut heard = feed.listen();
    let watch = watch_over(&meter, &feed);
    let door = [("endpoint", "default")];
    assert_eq!(number(&meter, "narrows_sessions", &door), Some(1.0));
    watch.close();
    assert_eq!(number(&meter, "narrows_sessions", &door), Some(0.0));
    let opened = "narrows_sessions_opened_total";
    assert_eq!(number(&meter, opened, &door), Some(1.0));
    let opened = heard.try_recv().expect("a happening");
    assert!(matches!(
        &*opened,
        Happening::SessionOpened { session: 7, .. }
    ));
    let closed = heard.try_recv().expect("a happening");
    assert!(matches!(&*closed, Happening::SessionClosed { session: 7 }));
}

#[test]
fn messages_that_find_a_full_queue_are_counted() {
    use narrows_upstream::exchange::{Event, EventSink, Notice};
    let meter = Arc::new(Meter::default());
    let (sink, stream) = EventSink::channel(1);
    let sink = sink.counted(meter.dropped());
    let notice = || Event::Notice(Notice::new("notifications/message", None));
    assert!(sink.send(notice()));
    assert_eq!(sink.waiting(), 1);
    assert!(!sink.send(notice()));
    let dropped = "narrows_messages_dropped_total";
    assert_eq!(number(&meter, dropped, &[]), Some(1.0));
    // Nobody misses what nobody waits for.
    drop(stream);
    assert!(!sink.send(notice()));
    assert_eq!(number(&meter, dropped, &[]), Some(1.0));
}

/// `cargo test --release -p narrows-gateway --lib -- --ignored --nocapture what_a_call_costs`
#[test]
#[ignore = "a measurement"]
fn what_a_call_costs() {
    const CALLS: u32 = 1_000_000;
    let (meter, feed) = (Arc::new(Meter::default()), Arc::new(Feed::default()));
    let server = observer(&meter);
    let (name, answer) = (Raw::string("files__read_text_file"), Ok(Raw::string("six")));
    let call = |watch: &Watch| {
        let watched = watch.begin("tools/call", 12);
        watched.trace.named(&name);
        begin(&server, "tools/call", &watched.trace).end(&answer);
        watched.end(&answer);
    };
    let measure = |what: &str, threads: usize| {
        let began = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let watch = watch_over(&meter, &feed);
                    (0..CALLS).for_each(|_| call(&watch));
                });
            }
        });
        let nanos = began.elapsed().as_nanos() / u128::from(CALLS);
        println!("{what}, {threads} at once: {nanos} ns a call");
    };
    measure("nobody listens", 1);
    measure("nobody listens", 2);
    let listener = feed.listen_to_calls();
    measure("somebody listens", 1);
    drop(listener);
    let began = Instant::now();
    let written: usize = (0..1_000).map(|_| meter.families().len()).sum();
    println!(
        "a scrape of {} families: {:?}",
        written / 1_000,
        began.elapsed() / 1_000
    );
}
