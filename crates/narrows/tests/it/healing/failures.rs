//! Tests of failing servers.

use narrows_testkit::scripted::{Grandchild, Script, Step};
use narrows_testkit::{processes, until};
use serde_json::json;

use super::{fine, good, healed, strict};
use crate::gateway::{Gateway, error, text};

/// Checks a server that fails because of `failing` in its first process: it is ended with `reason`
/// and works after the restart.
async fn check(script: Script, failing: Vec<Step>, reason: &str) {
    let broken = script.plain_tool("break").plain_tool("work");
    let broken = broken.on_tool("break", [Step::Once("broken".into(), failing)]);
    let (broken, good) = (broken.install(), good());
    let config = strict([("bad", broken.config()), ("good", good.config())]);
    let gateway = Gateway::serve(&config).await;
    let mut session = gateway.session("/mcp").await;
    let answer = session.call_tool("bad__break", json!({})).await;
    assert_eq!(
        error(&answer),
        format!(
            "-32603 upstream_unavailable Server 'bad' is not available: {reason}; \
             the call may have been carried out, so it was not repeated"
        )
    );
    fine(&mut session).await;
    healed(
        &gateway,
        &broken,
        2,
        &["bad__break", "bad__work", "good__fine"],
    )
    .await;
    let answer = session.call_tool("bad__work", json!({})).await;
    assert_eq!(text(&answer), r#"bad called "work" with {}"#);
    assert_eq!(broken.count_received(r#""break""#), 1);
}

const UNANSWERED: &str = "it did not answer 2 health checks (0.5 s each)";

#[tokio::test]
async fn unresponsive_server_is_restarted() {
    let steps = vec![Step::Mute, Step::Stall];
    check(Script::new("bad"), steps, UNANSWERED).await;
}

#[tokio::test]
async fn non_reading_server_is_restarted() {
    let never = vec![Step::Block("never".into())];
    check(Script::new("bad"), never, UNANSWERED).await;
}

#[tokio::test]
async fn server_that_ignores_signals_is_restarted() {
    let script = Script::new("bad").with(|script| {
        script.ignore_sigterm = true;
        script.ignore_eof = true;
    });
    let steps = vec![
        Step::Spawn(Grandchild::InGroup),
        Step::Block("never".into()),
    ];
    check(script, steps, UNANSWERED).await;
}

#[tokio::test]
async fn server_that_prints_garbage_is_restarted() {
    let garbage = [Step::Say("Traceback:".into()), Step::Say("{".into())];
    let script = Script::new("bad").on("ping", garbage);
    let steps = vec![Step::Mute, Step::Say("oops".into()), Step::Stall];
    check(script, steps, UNANSWERED).await;
}

#[tokio::test]
async fn server_that_closes_stdout_is_restarted() {
    let script = Script::new("bad").with(|script| script.ignore_eof = true);
    check(script, vec![Step::CloseOutput], "closed its output").await;
}

#[tokio::test]
async fn killed_idle_server_is_restarted() {
    let killed = Script::new("bad").plain_tool("work").install();
    let good = good();
    let config = strict([("bad", killed.config()), ("good", good.config())]);
    let gateway = Gateway::serve(&config).await;
    let mut session = gateway.session("/mcp").await;
    fine(&mut session).await;
    processes::kill(killed.server_pids()[0]);
    healed(&gateway, &killed, 2, &["bad__work", "good__fine"]).await;
    let answer = session.call_tool("bad__work", json!({})).await;
    assert_eq!(text(&answer), r#"bad called "work" with {}"#);
}

#[tokio::test]
async fn unresponsive_session_owned_server_is_restarted() {
    let broken = Script::new("bad").plain_tool("break").on_tool(
        "break",
        [
            Step::Once("broken".into(), vec![Step::Mute, Step::Stall]),
            Step::text("alive"),
        ],
    );
    let (broken, good) = (broken.install(), good());
    let mut server = broken.config();
    server["sharing"] = json!("session");
    let gateway = Gateway::serve(&strict([("bad", server), ("good", good.config())])).await;
    let mut session = gateway.session("/mcp").await;
    let answer = session.call_tool("bad__break", json!({})).await;
    assert!(error(&answer).contains(UNANSWERED), "{answer}");
    let answer = session.call_tool("bad__break", json!({})).await;
    assert_eq!(text(&answer), "alive");
    fine(&mut session).await;
    // The shared process and two of the session, the first of which has ended.
    let pids = broken.server_pids();
    assert_eq!(pids.len(), 3);
    let alive = || pids.iter().filter(|pid| processes::is_alive(**pid)).count();
    until("one is gone", || alive() == 2).await;
}

/// A server that handles one call at a time is not restarted during that call, while an idle server
/// that does not respond is restarted repeatedly.
#[tokio::test]
async fn busy_server_is_not_restarted() {
    let busy = Script::new("busy").plain_tool("work").on_tool(
        "work",
        [
            Step::Reach("work".into()),
            Step::Block("done".into()),
            Step::text("done"),
        ],
    );
    let idle = Script::new("idle").on("ping", [Step::Block("never".into())]);
    let (busy, idle) = (busy.install(), idle.install());
    let mut config = strict([("busy", busy.config()), ("idle", idle.config())]);
    config["health"]["busy_s"] = json!(600);
    let gateway = Gateway::serve(&config).await;
    let mut session = gateway.session("/mcp").await;
    let mut call = session.begin_tool("busy__work", json!({})).await;
    busy.reached("work").await;
    let before = idle.server_pids().len();
    until("the idle one was given up twice", || {
        idle.server_pids().len() >= before + 2
    })
    .await;
    busy.release("done");
    assert_eq!(text(&call.read_response().await.message()), "done");
    assert_eq!(busy.server_pids().len(), 1, "it was restarted");
}

#[tokio::test]
async fn server_without_ping_support_counts_as_alive() {
    let old = Script::new("old").plain_tool("work");
    let old = old.on("ping", [Step::error(-32601, "Method not found")]);
    let old = old.install();
    let gateway = Gateway::serve(&strict([("old", old.config())])).await;
    let mut session = gateway.session("/mcp").await;
    until("it was asked four times", || {
        old.count_received(r#""ping""#) >= 4
    })
    .await;
    let answer = session.call_tool("old__work", json!({})).await;
    assert_eq!(text(&answer), r#"old called "work" with {}"#);
    assert_eq!(old.server_pids().len(), 1, "it was restarted");
}

#[tokio::test]
async fn no_pings_are_sent_if_health_checks_are_disabled() {
    let quiet = Script::new("quiet").install();
    let asked = Script::new("asked").install();
    let mut server = quiet.config();
    server["health"] = json!(false);
    let config = strict([("quiet", server), ("asked", asked.config())]);
    let _gateway = Gateway::serve(&config).await;
    until("the other was asked", || {
        asked.count_received(r#""ping""#) >= 2
    })
    .await;
    assert_eq!(quiet.count_received(r#""ping""#), 0);
}

#[tokio::test]
async fn calls_to_a_down_server_fail_with_the_next_attempt_time() {
    let dead = json!({ "command": "/nowhere/at-all" });
    let good = good();
    let gateway = Gateway::serve(&strict([("dead", dead), ("good", good.config())])).await;
    let mut session = gateway.session("/mcp").await;
    // While an attempt is running, the error contains no time.
    let limit = std::time::Instant::now() + narrows_testkit::LIMIT;
    let answer = loop {
        let answer = session.call_tool("dead__tool", json!({})).await;
        if error(&answer).contains("; next attempt in ") {
            break answer;
        }
        assert!(std::time::Instant::now() < limit, "{answer}");
    };
    let data = &answer["error"]["data"];
    assert_eq!(data["server"], "dead");
    assert!(
        data["retry_after_ms"].as_u64().is_some_and(|ms| ms > 0),
        "{answer}"
    );
    fine(&mut session).await;
}
