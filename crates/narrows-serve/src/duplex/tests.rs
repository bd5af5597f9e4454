use std::sync::atomic::{AtomicUsize, Ordering};

use narrows_gateway::settings::Settings;

use super::*;

/// A client that sends the same message over and over, as fast as the source is read.
struct Chatter<'a> {
    message: Bytes,
    said: &'a AtomicUsize,
}

impl Source for Chatter<'_> {
    async fn next(&mut self) -> Option<Input> {
        self.said.fetch_add(1, Ordering::Relaxed);
        Some(Input::Frame(self.message.clone()))
    }
}

/// Returns the number of messages that are accepted from a client that reads nothing.
async fn taken_in(message: Bytes) -> usize {
    let settings = DuplexSettings {
        max_calls: 1,
        queue: 1,
        grace: Duration::ZERO,
        hello_within: None,
    };
    let (outgoing, _unread) = mpsc::channel(settings.queue);
    let gateway = Gateway::start(Settings::default());
    let stop = CancellationToken::new();
    let duplex = Duplex::new(
        gateway,
        Entrypoint::Endpoint("x"),
        DuplexClient::Local,
        narrows_upstream::memory::ClientMemory::unlimited(),
        settings,
        outgoing,
        stop,
    );
    let said = AtomicUsize::new(0);
    let running = duplex.run(Chatter {
        message,
        said: &said,
    });
    // Time is paused, so it advances only when no task can make progress.
    let ended = timeout(Duration::from_secs(1), running).await;
    assert!(ended.is_err(), "{ended:?}");
    said.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn input_is_read_up_to_a_limit_if_output_is_blocked() {
    // Two are answered: one answer is in the queue, one in `unsent`. The others wait.
    assert_eq!(taken_in(Bytes::from_static(b"{")).await, 2 + BACKLOG);
    let third = Bytes::from(vec![b'x'; BACKLOG_BYTES / 3 + 1]);
    assert_eq!(taken_in(third).await, 2 + 3);
    let large = Bytes::from(vec![b'x'; 2 * BACKLOG_BYTES]);
    assert_eq!(taken_in(large).await, 2 + 1);
}
