//! Tests of the memory held for request bodies and unread responses.

use std::time::Duration;

use narrows_gateway::Gateway;
use narrows_gateway::meter::MetricValue;
use narrows_gateway::settings::{
    Builtin, ClientSettings, Limits, Rate, ServerSettings, Settings, ShapeChoice, TokenDigest,
    UpstreamKind,
};
use narrows_serve::HttpSettings;
use narrows_testkit::until;
use tokio_util::sync::CancellationToken;

use crate::client::{BOTH, Client, Connection};
use crate::{TestGateway, listener_with_small_buffers, within};

const TOKEN: &str = "nrw_Carol7f3kQz0pLm2Wc9VbT4sXa8RyE1uJ6nHd5GoK";

/// Filled by four bodies of [`BODY`], each from a different client.
const BUDGET: usize = 400_000;
const BODY: usize = 90_000;

fn narrow() -> Limits {
    Limits {
        max_request_bytes_total: BUDGET,
        ..Limits::default()
    }
}

fn metric(gateway: &Gateway, name: &str, of: &str) -> f64 {
    let families = gateway.measure();
    let family = families.iter().find(|family| family.name == name).unwrap();
    let labelled = |labels: &[(&str, narrows_gateway::meter::MetricLabel)]| {
        of.is_empty() || labels.iter().any(|(_, value)| value.as_ref() == of)
    };
    let sample = (family.samples.iter()).find(|sample| labelled(&sample.labels));
    match sample.unwrap().value {
        MetricValue::Number(number) => number,
        _ => panic!("not a number"),
    }
}

fn held(gateway: &Gateway, of: &str) -> usize {
    metric(gateway, "narrows_held_bytes", of) as usize
}

/// Returns a ping padded to this length.
fn long_ping(length: usize) -> String {
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":""}}"#;
    ping.replace(
        r#""x":"""#,
        &format!(r#""x":"{}""#, "x".repeat(length - ping.len())),
    )
}

/// Sends a POST without its last byte.
async fn begin(client: &Client, path: &str, body: &str) -> Connection {
    let mut connection = Connection::open(client.address).await;
    let session = client
        .session
        .as_deref()
        .map(|id| format!("mcp-session-id: {id}\r\n"));
    let token = (client.token.as_deref()).map(|token| format!("authorization: Bearer {token}\r\n"));
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: {BOTH}\r\n{}{}content-length: {}\r\n\r\n",
        session.unwrap_or_default(),
        token.unwrap_or_default(),
        body.len(),
    );
    connection.write(head.as_bytes()).await;
    connection.write(&body.as_bytes()[..body.len() - 1]).await;
    connection
}

#[tokio::test]
async fn bodies_over_the_memory_budget_are_rejected_unread() {
    let gate = TestGateway::with(HttpSettings::default(), narrow()).await;
    let body = long_ping(BODY);
    let mut begun = Vec::new();
    for _ in 0..4 {
        begun.push(begin(&gate.client().await, "/mcp", &body).await);
    }
    let all = 4 * (BODY - 1);
    until("the bodies to be held", || {
        held(&gate.gateway, "requests") >= all
    })
    .await;
    for path in ["/mcp", "/rpc", "/api/mcp-gateway/up/rpc"] {
        // Without a session, the memory is charged to the connection.
        let mut refused = Connection::open(gate.address).await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: {BOTH}\r\ncontent-length: {BODY}\r\n\r\n"
        );
        refused.write(head.as_bytes()).await;
        let reply = refused.reply().await;
        assert_eq!(
            reply.refusal(),
            r#"503 -32603 "request_memory_full" null"#,
            "{path}"
        );
        assert_eq!(reply.header("retry-after"), Some("5"), "{path}");
        assert!(refused.closed().await, "{path}");
    }
    // Small requests pass, and so do the bodies already begun.
    assert_eq!(
        gate.client()
            .await
            .call("1", "echo")
            .await
            .reply()
            .await
            .status,
        200
    );
    for mut connection in begun {
        connection.write(b"}").await;
        assert_eq!(connection.reply().await.json()["id"], 7);
    }
    until("the bodies to be released", || {
        held(&gate.gateway, "requests") == 0
    })
    .await;
    assert_eq!(
        metric(&gate.gateway, "narrows_held_bytes_limit", "requests"),
        BUDGET as f64
    );
    assert_eq!(
        metric(
            &gate.gateway,
            "narrows_held_bytes_refused_total",
            "requests"
        ),
        3.0
    );
    let mut next = begin(&gate.client().await, "/mcp", &body).await;
    next.write(b"}").await;
    assert_eq!(next.reply().await.status, 200);
}

#[tokio::test]
async fn one_client_uses_at_most_a_quarter_of_the_memory() {
    let gate = TestGateway::with(HttpSettings::default(), narrow()).await;
    let client = gate.client().await;
    let body = long_ping(BODY);
    let mut first = begin(&client, "/mcp", &body).await;
    until("the body to be held", || {
        held(&gate.gateway, "requests") >= BODY - 1
    })
    .await;
    let reply = begin(&client, "/mcp", &body).await.reply().await;
    assert_eq!(reply.refusal(), r#"503 -32603 "request_memory_full" null"#);
    let mut other = begin(&gate.client().await, "/mcp", &body).await;
    for connection in [&mut first, &mut other] {
        connection.write(b"}").await;
        assert_eq!(connection.reply().await.status, 200);
    }
}

#[tokio::test]
async fn announced_but_unsent_bodies_use_no_memory() {
    let gate = TestGateway::with(HttpSettings::default(), narrow()).await;
    let mut silent = Vec::new();
    for _ in 0..8 {
        let client = gate.client().await;
        let mut connection = Connection::open(gate.address).await;
        let session = client.session.as_deref().unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: {BOTH}\r\nmcp-session-id: {session}\r\ncontent-length: {BODY}\r\n\r\n{{"
        );
        connection.write(head.as_bytes()).await;
        silent.push(connection);
    }
    let mut next = begin(&gate.client().await, "/mcp", &long_ping(BODY)).await;
    next.write(b"}").await;
    assert_eq!(next.reply().await.status, 200);
}

#[tokio::test]
async fn body_that_slows_to_a_trickle_is_rejected() {
    let http = HttpSettings {
        body_timeout: Duration::from_millis(200),
        ..HttpSettings::default()
    };
    let gate = TestGateway::with(http, Limits::default()).await;
    let client = gate.client().await;
    let body = format!("{}{}", long_ping(BODY), " ".repeat(1_000));
    let mut connection = Connection::open(gate.address).await;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: {BOTH}\r\nmcp-session-id: {}\r\ncontent-length: {}\r\n\r\n{}",
        client.session.as_deref().unwrap(),
        body.len(),
        &body[..BODY],
    );
    connection.write(head.as_bytes()).await;
    let mut dripped = 0;
    let answered = async {
        loop {
            tokio::select! {
                biased;
                head = connection.head() => return head,
                () = tokio::time::sleep(Duration::from_millis(10)) => {}
            }
            connection.write(b" ").await;
            dripped += 1;
        }
    };
    let head = within("an answer", answered).await;
    assert_eq!(
        (head.status, head.header("connection")),
        (408, Some("close"))
    );
    assert!(dripped < 1_000);
    until("the body to be released", || {
        held(&gate.gateway, "requests") == 0
    })
    .await;
}

#[tokio::test]
async fn client_still_sending_can_read_the_error() {
    let gate = TestGateway::with(HttpSettings::default(), narrow()).await;
    let client = gate.client().await;
    // More than the socket buffers hold, so the request is refused while it is being sent.
    let body = long_ping(12_000_000);
    let reply = client.post(&body).await;
    assert_eq!(reply.refusal(), r#"503 -32603 "request_memory_full" null"#);
}

#[tokio::test]
async fn client_limits_apply_before_the_body_is_read() {
    let gate = TestGateway::start().await;
    gate.gateway.replace_clients(&[ClientSettings {
        token: Some(TokenDigest::of(TOKEN)),
        max_calls: Some(1),
        rate: Some(Rate {
            per_minute: 1,
            burst: 3,
        }),
        ..ClientSettings::named("carol")
    }]);
    let mut carol = gate.new_client().with_token(TOKEN);
    carol.initialize("2025-06-18", "{}").await;
    let body = long_ping(BODY);
    // The permit is acquired before the body is read, and only once.
    let mut first = begin(&carol, "/mcp", &body).await;
    until("the body to be held", || {
        held(&gate.gateway, "requests") >= BODY - 1
    })
    .await;
    assert_eq!(gate.gateway.clients()[0].calls_in_flight, 1);
    for path in ["/mcp", "/rpc", "/api/mcp-gateway/up/rpc"] {
        let reply = begin(&carol, path, &body).await.reply().await;
        assert_eq!(
            reply.refusal(),
            r#"429 -32603 "too_many_requests" null"#,
            "{path}"
        );
        assert!(reply.header("retry-after").is_some(), "{path}");
    }
    first.write(b"}").await;
    assert_eq!(first.reply().await.json()["id"], 7);
    assert_eq!(carol.call("2", "echo").await.reply().await.json()["id"], 2);
    let reply = begin(&carol, "/mcp", &body).await.reply().await;
    assert_eq!(reply.refusal(), r#"429 -32603 "rate_limited" null"#);
}

/// More than the buffers on the path hold when sockets have small ones.
const ANSWER: usize = 1024 * 1024;
/// Enough memory for four answers.
const ANSWERS: usize = 4 * ANSWER + ANSWER / 2;

fn few_answers() -> Limits {
    Limits {
        max_response_bytes_total: ANSWERS,
        ..Limits::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_responses_apply_backpressure_upstream() {
    let http = HttpSettings {
        // No client is disconnected for reading slowly.
        write_timeout: Duration::from_secs(600),
        // A later response would be a stream, which keeps its last message for resumption.
        keep_alive: Duration::from_secs(600),
        ..HttpSettings::default()
    };
    let mut gate = TestGateway::with_small_buffers(http, few_answers()).await;
    let text = "x".repeat(ANSWER);
    let mut begun = Vec::new();
    for _ in 0..8 {
        let mut client = gate.new_client().with_small_buffer();
        client.initialize("2025-06-18", "{}").await;
        begun.push(client.call("1", "hold").await);
        let held = gate.upstream.held().await;
        let text = text.clone();
        tokio::spawn(async move { held.answer(&text).await });
    }
    let memory = gate.gateway.response_memory().clone();
    until("an answer to wait", || memory.is_waited_for()).await;
    assert!(
        memory.used() <= ANSWERS + ANSWER + 100_000,
        "{}",
        memory.used()
    );
    // Small answers for other clients do not wait, and no answer is lost.
    assert_eq!(
        gate.client()
            .await
            .call("1", "echo")
            .await
            .reply()
            .await
            .status,
        200
    );
    let mut reading = tokio::task::JoinSet::new();
    for mut connection in begun {
        reading.spawn(async move { connection.reply().await });
    }
    for reply in reading.join_all().await {
        assert!(reply.text().len() > ANSWER, "{}", reply.status);
    }
    until("the answers to be released", || {
        held(&gate.gateway, "responses") == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slowest_reader_of_a_shared_link_is_disconnected() {
    let gateway = Gateway::start(Settings {
        upstreams: vec![ServerSettings::new(
            "demo",
            UpstreamKind::Builtin(Builtin::Demo),
        )],
        limits: few_answers(),
        shape: ShapeChoice {
            on: Some(false),
            ..ShapeChoice::default()
        },
        ..Settings::default()
    });
    let listener = listener_with_small_buffers();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let http = HttpSettings::default();
    let served = tokio::spawn(narrows_serve::serve(
        listener,
        gateway.clone(),
        http,
        stop.clone(),
    ));
    let log = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"demo__sample_log","arguments":{"lines":20000}}}"#;
    let mut unread = Vec::new();
    for _ in 0..12 {
        let mut client = Client::new(address).with_small_buffer();
        client.initialize("2025-06-18", "{}").await;
        unread.push(client.begin(log).await);
    }
    let closed = || metric(&gateway, "narrows_slow_readers_closed_total", "") > 0.0;
    until("a reader to be closed", closed).await;
    let memory = gateway.response_memory().clone();
    until("what is held to fit", || memory.used() <= ANSWERS).await;
    // A client that reads gets its response, whatever the others do.
    let mut reader = Client::new(address);
    reader.initialize("2025-06-18", "{}").await;
    let reply = reader.post(log).await;
    assert_eq!(reply.json()["id"], 3);
    drop(unread);
    stop.cancel();
    within("the end", served).await.unwrap();
}
