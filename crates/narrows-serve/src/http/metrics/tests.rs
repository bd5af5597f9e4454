use http::header::HeaderValue;
use narrows_gateway::meter::{MetricFamily, MetricKind, MetricSample, MetricValue};

use super::text::Format;
use super::*;

#[track_caller]
fn check(access: &MetricsAccess, is_local: bool, token: Option<&str>, status: u16) {
    let found = match access.check(is_local, token) {
        Ok(()) => 200,
        Err(refused) => refused.status().as_u16(),
    };
    assert_eq!(found, status, "{access:?} {is_local} {token:?}");
}

#[test]
fn metrics_access_is_enforced() {
    let (here, elsewhere) = (true, false);
    check(&MetricsAccess::Off, here, None, 404);
    check(&MetricsAccess::Loopback, here, None, 200);
    check(&MetricsAccess::Loopback, elsewhere, None, 403);
    check(&MetricsAccess::Loopback, elsewhere, Some("nra_right"), 403);
    check(&MetricsAccess::Open, elsewhere, None, 200);
    let token = MetricsAccess::Token(TokenCheck::new(|token| token == "nra_right"));
    check(&token, here, None, 401);
    check(&token, elsewhere, Some("nra_wrong"), 401);
    check(&token, elsewhere, Some("nra_right"), 200);
}

#[test]
fn bearer_tokens_are_parsed() {
    let token = |value: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static(value));
        bearer(&headers).map(str::to_owned)
    };
    assert_eq!(token("Bearer nra_x"), Some("nra_x".into()));
    assert_eq!(token("bearer  nra_x "), Some("nra_x".into()));
    assert_eq!(token("Basic nra_x"), None);
    assert_eq!(token("Bearer"), None);
}

#[test]
fn format_follows_the_accept_preference() {
    let format = |accept: &[&'static str]| {
        let values: Vec<_> = accept
            .iter()
            .copied()
            .map(HeaderValue::from_static)
            .collect();
        Format::asked_for(&values)
    };
    let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,\
                      application/openmetrics-text;version=0.0.1;q=0.4,\
                      text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    assert_eq!(format(&[prometheus]), Format::OpenMetrics);
    let open = "application/openmetrics-text; version=1.0.0";
    assert_eq!(format(&[open]), Format::OpenMetrics);
    assert_eq!(format(&["text/plain", open]), Format::OpenMetrics);
    let text = "text/plain;q=0.9,application/openmetrics-text;q=0.1";
    assert_eq!(format(&[text]), Format::Classic);
    assert_eq!(format(&["*/*"]), Format::Classic);
    assert_eq!(format(&[]), Format::Classic);
    assert_eq!(
        format(&["application/openmetrics-text;q=0"]),
        Format::Classic
    );
    assert_eq!(
        format(&["application/openmetrics-text;q=x"]),
        Format::Classic
    );
}

#[test]
fn both_formats_are_encoded() {
    let sample = |labels: Vec<(&'static str, &'static str)>, value| MetricSample {
        labels: labels
            .into_iter()
            .map(|(name, word)| (name, word.into()))
            .collect(),
        value,
    };
    let families = [
        MetricFamily {
            name: "a_calls_total",
            help: "Said \"so\"\nby \\ all.",
            kind: MetricKind::Counter,
            samples: vec![sample(
                vec![("server", "a \"b\"\\\nc"), ("method", "x")],
                MetricValue::Number(12345678901.0),
            )],
        },
        MetricFamily {
            name: "a_seconds",
            help: "Time.",
            kind: MetricKind::Histogram,
            samples: vec![sample(
                vec![],
                MetricValue::Histogram {
                    buckets: vec![(0.000025, 1), (1.0, 2)],
                    count: 3,
                    sum: 2.5,
                },
            )],
        },
    ];
    let samples = r#"a_calls_total{server="a \"b\"\\\nc",method="x"} 12345678901"#;
    let histogram = r#"# HELP a_seconds Time.
# TYPE a_seconds histogram
a_seconds_bucket{le="2.5e-05"} 1
a_seconds_bucket{le="1.0"} 2
a_seconds_bucket{le="+Inf"} 3
a_seconds_sum 2.5
a_seconds_count 3
"#;
    let classic = format!(
        "# HELP a_calls_total Said \"so\"\\nby \\\\ all.\n# TYPE a_calls_total counter\n{samples}\n{histogram}"
    );
    assert_eq!(Format::Classic.write(&families), classic);
    let open = format!(
        "# HELP a_calls Said \\\"so\\\"\\nby \\\\ all.\n# TYPE a_calls counter\n{samples}\n{histogram}# EOF\n"
    );
    assert_eq!(Format::OpenMetrics.write(&families), open);
}
