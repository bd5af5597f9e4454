use narrows_testkit::processes;
use narrows_testkit::scripted::Step;

use super::*;

#[tokio::test]
async fn applying_equal_settings_changes_nothing() {
    let one = script("one").install();
    let gateway = started(settings(vec![server("a", &one)])).await;
    let mut client = TestClient::open(&gateway, Entrypoint::Endpoint("default")).await;
    let applied = gateway.apply(settings(vec![server("a", &one)]));
    assert!(applied.is_empty(), "{applied:?}");
    client.lists(&["a__one", "a__two"]).await;
    assert_eq!(client.notices(), Vec::<String>::new());
    assert_eq!(one.server_pids().len(), 1);
    gateway.shutdown().await;
}

#[tokio::test]
async fn servers_can_be_added_and_removed_during_a_session() {
    let (one, two) = (script("one").install(), script("two").install());
    let gateway = started(settings(vec![server("a", &one)])).await;
    let mut client = TestClient::open(&gateway, Entrypoint::Endpoint("default")).await;
    let applied = gateway.apply(settings(vec![server("a", &one), server("b", &two)]));
    assert_eq!(applied.added, ["b"]);
    client
        .lists(&["a__one", "a__two", "b__one", "b__two"])
        .await;
    assert_eq!(client.notices(), [CHANGED]);
    assert!(
        client
            .call("b__one")
            .await
            .expect("a result")
            .contains("two called")
    );

    let applied = gateway.apply(settings(vec![server("b", &two)]));
    assert_eq!(applied.removed, ["a"]);
    client.lists(&["b__one", "b__two"]).await;
    assert_eq!(client.notices(), [CHANGED]);
    let refused = client.call("a__one").await.expect_err("it is gone");
    assert_eq!(refused.as_str(), "unknown_tool");
    processes::gone(one.server_pids()).await;
    assert_eq!(
        two.server_pids().len(),
        1,
        "the other one has not begun anew"
    );
    gateway.shutdown().await;
    processes::gone(two.server_pids()).await;
}

#[tokio::test]
async fn only_the_changed_server_restarts() {
    let (one, two) = (script("one").install(), script("two").install());
    let (a, b) = (server("a", &one), server("b", &two));
    let gateway = started(settings(vec![a.clone(), b.clone()])).await;
    let mut client = TestClient::open(&gateway, Entrypoint::Endpoint("default")).await;
    let before = client.tools().await;
    let applied = gateway.apply(settings(vec![changed(a, "1"), b]));
    assert_eq!(applied.restarted, ["a"]);
    // The lists stay available at once, and a call waits for its server.
    assert_eq!(client.tools().await, before);
    assert!(
        client
            .call("a__one")
            .await
            .expect("a result")
            .contains("one called")
    );
    assert_eq!(one.server_pids().len(), 2);
    assert_eq!(two.server_pids().len(), 1);
    assert_eq!(client.notices(), Vec::<String>::new());
    processes::gone([one.server_pids()[0]]).await;
    gateway.shutdown().await;
}

#[tokio::test]
async fn call_in_flight_finishes_on_its_old_link() {
    let slow = [
        Step::Reach("there".into()),
        Step::Wait("go".into()),
        Step::text("old"),
    ];
    let one = script("one").on_tool("one", slow).install();
    let two = script("two").install();
    let a = server("a", &one);
    let gateway = started(settings(vec![a])).await;
    let client = TestClient::open(&gateway, Entrypoint::Endpoint("default")).await;
    let calling = client.call("a__one");
    let changing = async {
        one.reached("there").await;
        // Another program under the same id.
        gateway.apply(settings(vec![server("a", &two)]));
        let next = client.call("a__two").await.expect("a result");
        assert!(next.contains("two called"), "{next}");
        assert!(processes::is_alive(one.server_pids()[0]));
        one.release("go");
    };
    let (answer, ()) = tokio::join!(calling, changing);
    assert!(answer.expect("it was not lost").contains("old"));
    processes::gone(one.server_pids()).await;
    gateway.shutdown().await;
}

#[tokio::test]
async fn server_can_be_disabled_and_enabled() {
    let (one, two) = (script("one").install(), script("two").install());
    let (a, b) = (server("a", &one), server("b", &two));
    let gateway = started(settings(vec![a.clone(), b.clone()])).await;
    let mut client = TestClient::open(&gateway, Entrypoint::Endpoint("default")).await;
    let mut off = a.clone();
    off.upstream.enabled = false;
    gateway.apply(settings(vec![off, b.clone()]));
    client.lists(&["b__one", "b__two"]).await;
    let refused = client.call("a__one").await.expect_err("it is off");
    assert!(refused.to_string().contains("disabled"), "{refused}");
    processes::gone(one.server_pids()).await;
    gateway.apply(settings(vec![a, b]));
    client
        .lists(&["a__one", "a__two", "b__one", "b__two"])
        .await;
    assert_eq!(client.notices(), [CHANGED, CHANGED]);
    gateway.shutdown().await;
}

#[tokio::test]
async fn restart_replaces_the_process_only() {
    let one = script("one")
        .resource(r#"{"uri":"x://one","name":"one"}"#)
        .install();
    let gateway = started(settings(vec![server("a", &one)])).await;
    let client = TestClient::open(&gateway, Entrypoint::Endpoint("default")).await;
    client
        .request("resources/subscribe", r#"{"uri":"x://one"}"#)
        .await
        .expect("subscribed");
    assert!(gateway.restart("a"));
    assert!(!gateway.restart("unknown"));
    client.call("a__one").await.expect("a result");
    assert_eq!(one.server_pids().len(), 2);
    // The gateway restores the subscriptions in the new process.
    until("it is subscribed again", || {
        one.count_received("resources/subscribe") == 2
    })
    .await;
    gateway.shutdown().await;
}

#[tokio::test]
async fn rapid_changes_converge_on_the_last() {
    let one = script("one").install();
    let a = server("a", &one);
    let gateway = started(settings(vec![a.clone()])).await;
    let client = TestClient::open(&gateway, Entrypoint::Endpoint("default")).await;
    for number in 0..30 {
        let mut next = changed(a.clone(), &number.to_string());
        next.upstream.enabled = number % 3 != 0;
        gateway.apply(settings(vec![next]));
    }
    client.lists(&["a__one", "a__two"]).await;
    assert!(
        client
            .call("a__one")
            .await
            .expect("a result")
            .contains("one called")
    );
    let pids = one.server_pids();
    until("one process is left", || {
        pids.iter().filter(|pid| processes::is_alive(**pid)).count() == 1
    })
    .await;
    gateway.shutdown().await;
    processes::gone(one.server_pids()).await;
}

#[tokio::test]
async fn sessions_close_when_their_entrypoint_is_removed() {
    let (one, two) = (script("one").install(), script("two").install());
    let (a, b) = (server("a", &one), server("b", &two));
    let gateway = started(settings(vec![a, b.clone()])).await;
    let default = TestClient::open(&gateway, Entrypoint::Endpoint("default")).await;
    let other = TestClient::open(&gateway, Entrypoint::Endpoint("other")).await;
    let single = TestClient::open(&gateway, Entrypoint::Server("a")).await;
    let stays = TestClient::open(&gateway, Entrypoint::Server("b")).await;
    let mut less = settings(vec![b]);
    less.endpoints.pop();
    let applied = gateway.apply(less);
    assert_eq!(applied.endpoints, ["other"]);
    assert!(other.session.is_closed() && single.session.is_closed());
    assert!(!default.session.is_closed() && !stays.session.is_closed());
    stays.lists(&["one", "two"]).await;
    assert!(!gateway.has_entrypoint(Entrypoint::Endpoint("other")));
    assert!(!gateway.has_entrypoint(Entrypoint::Server("a")));
    gateway.shutdown().await;
}

#[tokio::test]
async fn start_only_settings_are_reported_and_unchanged() {
    let gateway = started(settings(Vec::new())).await;
    let mut next = settings(Vec::new());
    next.limits.max_sessions = 1;
    let applied = gateway.apply(next);
    assert_eq!(applied.at_next_start, ["limits"]);
    let _one = TestClient::open(&gateway, Entrypoint::Endpoint("default")).await;
    let _two = TestClient::open(&gateway, Entrypoint::Endpoint("default")).await;
    gateway.shutdown().await;
}

#[tokio::test]
async fn result_settings_change_without_reconnecting() {
    let one = script("one")
        .on_tool("one", [Step::ReplyLength(5_000)])
        .install();
    let a = server("a", &one);
    let gateway = started(settings(vec![a.clone()])).await;
    let client = TestClient::open(&gateway, Entrypoint::Endpoint("default")).await;
    assert!(client.call("a__one").await.expect("a result").len() > 5_000);
    let mut less = a;
    less.shape.on = Some(true);
    less.shape.max_chars = Some(1_000);
    let applied = gateway.apply(settings(vec![less]));
    assert_eq!(applied.adjusted, ["a"]);
    assert!(client.call("a__one").await.expect("a result").len() < 3_000);
    assert_eq!(one.server_pids().len(), 1);
    gateway.shutdown().await;
}
