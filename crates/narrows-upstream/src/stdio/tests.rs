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
async fn messages_go_both_ways_in_newline_frames() {
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
async fn messages_go_both_ways_in_content_length_frames() {
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
async fn a_long_queue_of_large_messages_arrives_whole() {
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
async fn the_environment_is_what_was_given_and_our_own_variables() {
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
async fn a_working_directory_is_entered() {
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
async fn lines_that_are_no_json_are_passed_on() {
    let mut channel = start(&sh("echo Welcome to the server; echo '{}'; cat"));
    assert_eq!(message(&mut channel).await, "Welcome to the server");
    assert_eq!(message(&mut channel).await, "{}");
}

#[tokio::test]
async fn a_line_that_is_too_long_is_skipped() {
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
async fn an_exit_is_told_with_status_and_last_words() {
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
async fn a_death_by_signal_is_told() {
    let failure = end(&mut start(&sh("kill -9 $$"))).await;
    assert_eq!(failure.detail, "was terminated by signal 9");
}

#[tokio::test]
async fn a_last_line_without_a_line_feed_counts() {
    let mut channel = start(&sh("printf '{}'"));
    assert_eq!(message(&mut channel).await, "{}");
    assert_eq!(end(&mut channel).await.detail, "exited with status 0");
}

#[tokio::test]
async fn half_a_frame_at_the_end_is_explained_by_the_end() {
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
async fn an_output_that_is_closed_ends_the_channel() {
    let mut channel = start(&sh("echo $$; exec >&-; exec sleep 1000"));
    let pids = pids(&message(&mut channel).await);
    assert_eq!(end(&mut channel).await.detail, "closed its output");
    close(channel).await;
    processes::gone(pids).await;
}

#[tokio::test]
async fn an_output_held_open_by_a_grandchild_ends_with_the_server() {
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
async fn a_child_that_never_reads_blocks_nobody() {
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
async fn what_was_queued_is_written_before_a_close() {
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
async fn closing_lets_a_server_leave_by_itself() {
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
async fn closing_terminates_a_server_that_stays() {
    let folder = Folder::new();
    let script = format!(
        "trap 'echo term > {}; exit' TERM; echo $$; while :; do sleep 0.05; done",
        folder.file("said").display()
    );
    check_tree(&script, close).await;
    assert_eq!(folder.read("said"), "term\n");
}

#[tokio::test]
async fn closing_kills_what_ignores_sigterm_within_the_grace() {
    let started = Instant::now();
    let script = "trap '' TERM; sleep 1000 & echo $$ $!; while :; do sleep 0.05; done";
    check_tree(script, close).await;
    assert!(started.elapsed() < 4 * GRACE);
}

#[tokio::test]
async fn a_tree_ends_when_the_channel_is_dropped() {
    let started = Instant::now();
    check_tree("trap '' TERM; sleep 1000 & echo $$ $!; wait; wait", dropped).await;
    assert!(started.elapsed() < GRACE / 2, "dropping waits for nothing");
}

#[tokio::test]
async fn a_tree_ends_in_other_groups_too() {
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
fn a_tree_ends_with_the_runtime() {
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
async fn closing_what_is_gone_already_returns() {
    let mut channel = start(&sh("exit 0"));
    end(&mut channel).await;
    timeout(LIMIT, close(channel))
        .await
        .expect("closing returns");
}

#[tokio::test]
async fn our_own_close_is_no_accident() {
    let mut channel = start(&sh("cat"));
    (std::mem::replace(&mut channel.closer, Box::new(|| Box::pin(async {}))))().await;
    assert_eq!(end(&mut channel).await.kind, FailureKind::Closed);
}

#[tokio::test]
async fn a_flood_on_stderr_is_drained_and_its_end_kept() {
    let mut channel = start(&sh("seq 1 300000 >&2; echo done; exit 1"));
    assert_eq!(message(&mut channel).await, "done");
    let failure = end(&mut channel).await;
    assert_eq!(failure.stderr.len(), 20);
    assert_eq!(failure.stderr.last().map(String::as_str), Some("300000"));
}

#[tokio::test]
async fn a_missing_command_is_told_without_the_path() {
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
async fn other_reasons_not_to_start_are_told_apart() {
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
async fn many_servers_end_together_within_the_grace() {
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
