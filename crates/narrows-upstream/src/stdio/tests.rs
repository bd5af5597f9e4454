//! Tests with real child processes: `sh` scripts, each of which misbehaves in one respect.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use narrows_testkit::{Folder, LIMIT, processes, until};
use narrows_wire::frame::Framing;
use tokio::time::timeout;

use super::{Channel, ChannelEvent, Failure, FailureKind, StdioSettings, open};
use crate::guard::LazyGuard;

const GRACE: Duration = Duration::from_secs(2);
const MAX: usize = 64 * 1024;

fn sh(script: &str) -> StdioSettings {
    StdioSettings {
        command: "sh".into(),
        args: vec!["-c".into(), script.into()],
        env: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
        cwd: None,
        framing: Framing::Newline,
    }
}

fn start(settings: &StdioSettings) -> Channel {
    open(
        settings,
        "test".into(),
        &LazyGuard::default(),
        "",
        None,
        MAX,
        GRACE,
    )
    .expect("the child starts")
}

fn refusal(settings: &StdioSettings) -> Failure {
    open(
        settings,
        "test".into(),
        &LazyGuard::default(),
        "",
        None,
        MAX,
        GRACE,
    )
    .err()
    .expect("the child does not start")
}

async fn next(channel: &mut Channel) -> ChannelEvent {
    let arrival = timeout(LIMIT, channel.incoming.next()).await;
    arrival
        .expect("something comes in time")
        .expect("the stream goes on")
}

async fn message(channel: &mut Channel) -> String {
    match next(channel).await {
        ChannelEvent::Message(bytes) => String::from_utf8(bytes.into()).expect("text"),
        ChannelEvent::TooLarge(max) => panic!("more than {max} bytes"),
        ChannelEvent::Unsent { id, error, .. } => panic!("{id} was not sent: {error:?}"),
        ChannelEvent::Ended(failure) => panic!("ended: {failure:?}"),
    }
}

async fn end(channel: &mut Channel) -> Failure {
    loop {
        if let ChannelEvent::Ended(failure) = next(channel).await {
            return failure;
        }
    }
}

fn pids(text: &str) -> Vec<u32> {
    text.split_whitespace()
        .map(|word| word.parse().expect("a pid"))
        .collect()
}

/// Runs a script that prints pids and ends it with `how`. All pids must end.
async fn check_tree(script: &str, how: impl AsyncFnOnce(Channel)) {
    let mut channel = start(&sh(script));
    let pids = pids(&message(&mut channel).await);
    assert!(
        pids.iter().all(|pid| processes::is_alive(*pid)),
        "{pids:?} live at first"
    );
    how(channel).await;
    processes::gone(pids.clone()).await;
    until("the child is reaped", || {
        !pids.iter().any(|pid| processes::is_unreaped(*pid))
    })
    .await;
}

async fn close(channel: Channel) {
    (channel.closer)().await;
}

async fn dropped(channel: Channel) {
    drop(channel);
}

#[tokio::test]
async fn newline_frames_work_both_ways() {
    let mut channel = start(&sh("cat"));
    for text in ["{\"a\":1}", "two\nlines", "3"] {
        channel
            .outgoing
            .send(Bytes::from(text))
            .await
            .expect("the writer lives");
    }
    assert_eq!(message(&mut channel).await, "{\"a\":1}");
    assert_eq!(message(&mut channel).await, "two lines");
    assert_eq!(message(&mut channel).await, "3");
    close(channel).await;
}

#[tokio::test]
async fn content_length_frames_work_both_ways() {
    let mut channel = start(&StdioSettings {
        framing: Framing::ContentLength,
        ..sh("cat")
    });
    for text in ["{\"a\":1}", "two\nlines"] {
        channel
            .outgoing
            .send(Bytes::from(text))
            .await
            .expect("the writer lives");
    }
    assert_eq!(message(&mut channel).await, "{\"a\":1}");
    assert_eq!(message(&mut channel).await, "two\nlines");
    close(channel).await;
}

#[tokio::test]
async fn long_queue_of_large_messages_arrives_complete() {
    let mut channel = start(&sh("cat"));
    let outgoing = channel.outgoing.clone();
    let large = |n: usize| format!("{n}{}", "x".repeat(40_000));
    tokio::spawn(async move {
        for n in 0..300 {
            outgoing
                .send(large(n).into())
                .await
                .expect("the writer lives");
        }
    });
    for n in 0..300 {
        assert_eq!(message(&mut channel).await, large(n));
    }
    close(channel).await;
}

#[tokio::test]
async fn environment_is_the_given_one_plus_own_variables() {
    let mut settings = sh("echo $(env | cut -d= -f1 | sort)");
    settings.env.push(("GIVEN".into(), "yes".into()));
    let mut channel = start(&settings);
    let names = message(&mut channel).await;
    // The shell sets some variables of its own.
    let names = names
        .split(' ')
        .filter(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["GIVEN", "NARROWS_CHAIN", "NARROWS_TREE", "PATH"]
    );
}

#[tokio::test]
async fn working_directory_is_applied() {
    let folder = Folder::new();
    let mut channel = start(&StdioSettings {
        cwd: Some(folder.path().into()),
        ..sh("pwd")
    });
    assert_eq!(
        message(&mut channel).await,
        folder.path().to_str().expect("text")
    );
}

#[tokio::test]
async fn non_json_lines_are_passed_on() {
    let mut channel = start(&sh("echo Welcome to the server; echo '{}'; cat"));
    assert_eq!(message(&mut channel).await, "Welcome to the server");
    assert_eq!(message(&mut channel).await, "{}");
}

#[tokio::test]
async fn oversized_line_is_skipped() {
    let mut channel = start(&sh(
        "head -c 200000 /dev/zero | tr '\\0' x; echo; echo after; cat",
    ));
    assert!(matches!(
        next(&mut channel).await,
        ChannelEvent::TooLarge(65_536)
    ));
    assert_eq!(message(&mut channel).await, "after");
}

#[tokio::test]
async fn exit_is_reported_with_status_and_last_stderr_lines() {
    let mut channel = start(&sh("echo one >&2; echo out; printf two >&2; exit 3"));
    assert_eq!(message(&mut channel).await, "out");
    let failure = end(&mut channel).await;
    assert_eq!(
        (failure.kind, failure.detail.as_str()),
        (FailureKind::Process, "exited with status 3")
    );
    assert_eq!(failure.stderr, ["one", "two"]);
    assert!(channel.incoming.next().await.is_none());
}

#[tokio::test]
async fn exit_by_signal_is_reported() {
    let failure = end(&mut start(&sh("kill -9 $$"))).await;
    assert_eq!(failure.detail, "was terminated by signal 9");
}

#[tokio::test]
async fn last_line_without_line_feed_is_read() {
    let mut channel = start(&sh("printf '{}'"));
    assert_eq!(message(&mut channel).await, "{}");
    assert_eq!(end(&mut channel).await.detail, "exited with status 0");
}

#[tokio::test]
async fn truncated_last_frame_is_explained_by_the_exit() {
    let settings = StdioSettings {
        framing: Framing::ContentLength,
        ..sh("printf 'Content-Length: 10\\r\\n\\r\\n{}'; exit 4")
    };
    assert_eq!(
        end(&mut start(&settings)).await.detail,
        "exited with status 4"
    );
}

#[tokio::test]
async fn closed_stdout_ends_the_channel() {
    let mut channel = start(&sh("echo $$; exec >&-; exec sleep 1000"));
    let pids = pids(&message(&mut channel).await);
    assert_eq!(end(&mut channel).await.detail, "closed its output");
    close(channel).await;
    processes::gone(pids).await;
}

#[tokio::test]
async fn stdout_held_by_a_grandchild_closes_with_the_server() {
    // The grandchild is in the group and ignores SIGTERM, so the pipe still has a writer when the
    // server has exited.
    let mut channel = start(&sh(
        "(trap '' TERM; sleep 1000; sleep 1000) & echo $!; exit 5",
    ));
    let pids = pids(&message(&mut channel).await);
    assert_eq!(end(&mut channel).await.detail, "exited with status 5");
    processes::gone(pids).await;
}

#[tokio::test]
async fn non_reading_child_does_not_block_close() {
    let mut channel = start(&sh("echo $$; exec sleep 1000"));
    let pids = pids(&message(&mut channel).await);
    // More than the pipe and the queue can hold.
    while channel.outgoing.try_send(vec![b'x'; 10_000].into()).is_ok() {}
    let started = Instant::now();
    close(channel).await;
    assert!(started.elapsed() < GRACE + Duration::from_secs(1));
    processes::gone(pids).await;
}

#[tokio::test]
async fn queued_messages_are_written_before_close() {
    let folder = Folder::new();
    let channel = start(&sh(&format!("cat > {}", folder.file("got").display())));
    for n in 0..100 {
        channel
            .outgoing
            .send(Bytes::from(n.to_string()))
            .await
            .expect("the writer lives");
    }
    close(channel).await;
    assert_eq!(folder.read("got").lines().count(), 100);
}

#[tokio::test]
async fn close_lets_a_server_exit_by_itself() {
    let folder = Folder::new();
    let script = format!(
        "echo $$; cat >/dev/null; echo bye > {}",
        folder.file("said").display()
    );
    let started = Instant::now();
    check_tree(&script, close).await;
    assert_eq!(folder.read("said"), "bye\n");
    assert!(
        started.elapsed() < GRACE / 2,
        "closing does not wait for a server that has exited"
    );
}

#[tokio::test]
async fn close_terminates_a_server_that_stays() {
    let folder = Folder::new();
    let script = format!(
        "trap 'echo term > {}; exit' TERM; echo $$; while :; do sleep 0.05; done",
        folder.file("said").display()
    );
    check_tree(&script, close).await;
    assert_eq!(folder.read("said"), "term\n");
}

#[tokio::test]
async fn close_kills_within_the_grace_if_sigterm_is_ignored() {
    let started = Instant::now();
    let script = "trap '' TERM; sleep 1000 & echo $$ $!; while :; do sleep 0.05; done";
    check_tree(script, close).await;
    assert!(started.elapsed() < 4 * GRACE);
}

#[tokio::test]
async fn drop_kills_the_process_tree() {
    let started = Instant::now();
    check_tree("trap '' TERM; sleep 1000 & echo $$ $!; wait; wait", dropped).await;
    assert!(started.elapsed() < GRACE / 2, "dropping waits for nothing");
}

#[tokio::test]
async fn process_tree_in_other_groups_is_killed() {
    // `setsid` leaves the group and the session.
    let script =
        "setsid sleep 1000 & sleep 1001 & echo $$ $(pgrep -P $$ sleep | xargs); cat >/dev/null";
    check_tree(script, close).await;
    check_tree(script, dropped).await;
}

#[tokio::test]
async fn grandchildren_end_when_the_server_dies() {
    for leader in ["kill -9 $$", "exit 0"] {
        let script = format!("sleep 1000 & echo $!; read line; {leader}");
        check_tree(&script, async |channel| {
            channel
                .outgoing
                .send("go".into())
                .await
                .expect("the writer lives");
            // The channel is kept, so that the server exits by itself and not because of a close or
            // a drop.
            tokio::spawn(async move {
                tokio::time::sleep(LIMIT).await;
                drop(channel);
            });
        })
        .await;
    }
}

#[tokio::test]
async fn orphans_in_other_sessions_end_when_the_server_dies() {
    // When the table is read, the parent has exited and init has adopted the process, so only the
    // mark identifies it.
    let script = "setsid sh -c 'sleep 1000 & echo $!; wait' & read line; kill -9 $$";
    check_tree(script, async |channel| {
        channel
            .outgoing
            .send("go".into())
            .await
            .expect("the writer lives");
        tokio::spawn(async move {
            tokio::time::sleep(LIMIT).await;
            drop(channel);
        });
    })
    .await;
}

#[test]
fn runtime_shutdown_kills_the_process_tree() {
    let runtime = || tokio::runtime::Runtime::new().expect("a runtime");
    let first = runtime();
    let (channel, pids) = first.block_on(async {
        let mut channel = start(&sh("trap '' TERM; sleep 1000 & echo $$ $!; wait"));
        let pids = pids(&message(&mut channel).await);
        (channel, pids)
    });
    drop(first);
    runtime().block_on(processes::gone(pids.clone()));
    let reaped = until("the child is reaped", || !processes::is_unreaped(pids[0]));
    runtime().block_on(reaped);
    drop(channel);
}

#[tokio::test]
async fn close_returns_after_the_process_has_exited() {
    let mut channel = start(&sh("exit 0"));
    end(&mut channel).await;
    timeout(LIMIT, close(channel))
        .await
        .expect("closing returns");
}

#[tokio::test]
async fn own_close_is_not_a_failure() {
    let mut channel = start(&sh("cat"));
    (std::mem::replace(&mut channel.closer, Box::new(|| Box::pin(async {}))))().await;
    assert_eq!(end(&mut channel).await.kind, FailureKind::Closed);
}

#[tokio::test]
async fn stderr_flood_is_drained_and_its_end_kept() {
    let mut channel = start(&sh("seq 1 300000 >&2; echo done; exit 1"));
    assert_eq!(message(&mut channel).await, "done");
    let failure = end(&mut channel).await;
    assert_eq!(failure.stderr.len(), 20);
    assert_eq!(failure.stderr.last().map(String::as_str), Some("300000"));
}

#[tokio::test]
async fn missing_command_error_omits_the_path_value() {
    let mut settings = sh("");
    settings.command = "no-such-command".into();
    settings.env = vec![("PATH".into(), "/nowhere:/bin".into())];
    let failure = refusal(&settings);
    assert_eq!(failure.kind, FailureKind::NotFound);
    assert_eq!(failure.detail, "'no-such-command' was not found in PATH");

    settings.command = "/no/such/file".into();
    assert_eq!(refusal(&settings).detail, "'/no/such/file' does not exist");

    settings.command = "npx -y thing".into();
    assert!(
        refusal(&settings)
            .detail
            .ends_with("arguments belong in 'args', not in 'command'")
    );

    settings.env.clear();
    assert!(refusal(&settings).detail.contains("has no PATH"));
}

#[tokio::test]
async fn other_spawn_errors_are_distinguished() {
    let folder = Folder::new();
    let plain = folder.write("plain", "#!/bin/sh\n");
    let mut settings = StdioSettings {
        command: plain.display().to_string(),
        ..sh("")
    };
    let failure = refusal(&settings);
    assert_eq!(failure.kind, FailureKind::Process);
    assert!(
        failure.detail.contains("ermission denied"),
        "{}",
        failure.detail
    );

    let script = folder.write("script", "#!/no/such/interpreter\n");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("our file");
    settings.command = script.display().to_string();
    let failure = refusal(&settings);
    assert_eq!(failure.kind, FailureKind::Process);
    assert!(failure.detail.contains("interpreter"), "{}", failure.detail);

    let failure = refusal(&StdioSettings {
        cwd: Some("/no/such/folder".into()),
        ..sh("")
    });
    assert_eq!(failure.kind, FailureKind::Process);
    assert!(
        failure
            .detail
            .contains("working directory '/no/such/folder'"),
        "{}",
        failure.detail
    );
}

#[tokio::test]
async fn many_servers_stop_together_within_the_grace() {
    let mut channels: Vec<Channel> = (0..40).map(|_| start(&sh("echo $$; cat"))).collect();
    let mut pids = Vec::new();
    for channel in &mut channels {
        pids.extend(self::pids(&message(channel).await));
    }
    let started = Instant::now();
    futures_util::future::join_all(channels.into_iter().map(close)).await;
    assert!(started.elapsed() < GRACE, "{:?}", started.elapsed());
    assert!(!pids.iter().any(|pid| processes::is_alive(*pid)));
}
