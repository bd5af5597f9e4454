use narrows_policy::KnownClient;

use super::*;
use crate::meter::tests::number;
use crate::server_observer::ServerObserver;

fn observer_over(meter: &Arc<Meter>, event_bus: &Arc<EventBus>) -> RequestObserver {
    let client = Principal::Client(KnownClient {
        name: "cursor".into(),
        stamp: 1,
    });
    RequestObserver::open(meter, event_bus, 7, "default".into(), &client)
}

fn series(meter: &Meter) -> usize {
    let families = meter.families();
    families.iter().map(|family| family.samples.len()).sum()
}

#[test]
fn request_is_counted_and_recorded() {
    let (meter, event_bus) = (Arc::new(Meter::default()), Arc::new(EventBus::default()));
    let requests = observer_over(&meter, &event_bus);
    let server = ServerObserver::new("files", &meter, &Arc::default());
    let call = requests.begin("tools/call", 12);
    assert_eq!(number(&meter, "narrows_requests_in_flight", &[]), Some(1.0));
    call.named(&Raw::string(&"ä".repeat(300)));
    call.named(&Raw::string("another"));
    let answer = Ok(Raw::string("six"));
    let upstream = call.call_server(&"files".into(), &server);
    upstream.finish_unlogged(&RequestEnd::from(&answer));
    call.finish(&answer);

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

    let call = &event_bus.calls()[0];
    assert_eq!(call.name.as_deref(), Some(&*"ä".repeat(200)));
    assert_eq!(call.server.as_deref(), Some("files"));
    assert_eq!(call.client.as_deref(), Some("cursor"));
    assert_eq!((call.session, &*call.method), (7, "tools/call"));
    assert_eq!((call.bytes_in, call.bytes_out), (12, 5));
    assert_eq!(call.error, None);
}

#[test]
fn dropped_request_counts_as_cancelled() {
    let (meter, event_bus) = (Arc::new(Meter::default()), Arc::new(EventBus::default()));
    let requests = observer_over(&meter, &event_bus);
    let server = ServerObserver::new("files", &meter, &Arc::default());
    let call = requests.begin("tools/call", 0);
    drop(call.call_server(&"files".into(), &server));
    drop(call);
    let client = [("method", "tools/call"), ("outcome", "client")];
    for family in ["narrows_requests_total", "narrows_upstream_calls_total"] {
        assert_eq!(number(&meter, family, &client), Some(1.0), "{family}");
    }
    let expected = CallError {
        code: "cancelled",
        fault: "client",
    };
    assert_eq!(event_bus.calls()[0].error, Some(expected));
}

#[test]
fn pings_are_counted_but_not_recorded() {
    let (meter, event_bus) = (Arc::new(Meter::default()), Arc::new(EventBus::default()));
    let requests = observer_over(&meter, &event_bus);
    requests.begin("ping", 0).finish(&Ok(Raw::empty_object()));
    let ping = [("method", "ping"), ("outcome", "ok")];
    assert_eq!(number(&meter, "narrows_requests_total", &ping), Some(1.0));
    assert!(event_bus.calls().is_empty());
}

#[test]
fn client_input_creates_no_metric_series() {
    let (meter, event_bus) = (Arc::new(Meter::default()), Arc::new(EventBus::default()));
    let requests = observer_over(&meter, &event_bus);
    let server = ServerObserver::new("files", &meter, &Arc::default());
    let ask = |method: &str| {
        let call = requests.begin(method, 0);
        call.named(&Raw::string(method));
        drop(call.call_server(&"files".into(), &server));
    };
    ask("an unknown method");
    let before = series(&meter);
    for n in 0..10_000 {
        ask(&format!("method{n}"));
    }
    assert_eq!(series(&meter), before);
    assert_eq!(event_bus.calls().len(), 1_000);
    assert_eq!(event_bus.calls()[0].method, "method9999");
}

#[test]
fn sessions_are_counted_and_reported() {
    let (meter, event_bus) = (Arc::new(Meter::default()), Arc::new(EventBus::default()));
    let mut heard = event_bus.listen();
    let requests = observer_over(&meter, &event_bus);
    let entrypoint = [("endpoint", "default")];
    assert_eq!(number(&meter, "narrows_sessions", &entrypoint), Some(1.0));
    requests.close();
    assert_eq!(number(&meter, "narrows_sessions", &entrypoint), Some(0.0));
    let opened = "narrows_sessions_opened_total";
    assert_eq!(number(&meter, opened, &entrypoint), Some(1.0));
    let opened = heard.try_recv().expect("a happening");
    assert!(matches!(
        &*opened,
        GatewayEvent::SessionOpened { session: 7, .. }
    ));
    let closed = heard.try_recv().expect("a happening");
    assert!(matches!(
        &*closed,
        GatewayEvent::SessionClosed { session: 7 }
    ));
}

/// Measures the cost of observing a call: `cargo test --release -p narrows-gateway --lib --
/// --ignored --nocapture call_observation_cost`
#[test]
#[ignore = "a measurement"]
fn call_observation_cost() {
    const CALLS: u32 = 1_000_000;
    let (meter, event_bus) = (Arc::new(Meter::default()), Arc::new(EventBus::default()));
    let server = ServerObserver::new("files", &meter, &Arc::default());
    let files: Arc<str> = "files".into();
    let (name, answer) = (Raw::string("files__read_text_file"), Ok(Raw::string("six")));
    let call = |requests: &RequestObserver| {
        let call = requests.begin("tools/call", 12);
        call.named(&name);
        call.call_server(&files, &server)
            .finish_unlogged(&RequestEnd::from(&answer));
        call.finish(&answer);
    };
    let measure = |what: &str, threads: usize| {
        let began = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let requests = observer_over(&meter, &event_bus);
                    (0..CALLS).for_each(|_| call(&requests));
                });
            }
        });
        let nanos = began.elapsed().as_nanos() / u128::from(CALLS);
        println!("{what}, {threads} at once: {nanos} ns a call");
    };
    measure("no listener", 1);
    measure("no listener", 2);
    let listener = event_bus.listen_to_calls();
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
