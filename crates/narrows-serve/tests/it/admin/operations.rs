//! An `Operations` implementation that records changes and returns the results set by the test.

use std::sync::Mutex;

use futures_util::future::BoxFuture;
use narrows_gateway::Applied;
use narrows_serve::admin::{
    Change, Changed, ConfigurationStatus, Keep, LeftOutServer, Operations, Rejected,
};
use tokio::sync::Semaphore;

pub(super) struct Recorder {
    asked: Mutex<Vec<(Change, Keep)>>,
    rejects: Mutex<Option<Rejected>>,
    left_out: Mutex<Vec<LeftOutServer>>,
    /// Holds a permit for every change received.
    arrived: Semaphore,
    /// Grants a permit for every change that may complete.
    leave: Semaphore,
}

impl Default for Recorder {
    fn default() -> Self {
        Recorder {
            asked: Mutex::default(),
            rejects: Mutex::default(),
            left_out: Mutex::default(),
            arrived: Semaphore::new(0),
            leave: Semaphore::new(1_000),
        }
    }
}

impl Recorder {
    /// Returns the changes recorded since the last call, including rejected ones.
    pub(super) fn asked(&self) -> Vec<(Change, Keep)> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    pub(super) fn reject(&self, with: Rejected) {
        *self.rejects.lock().unwrap() = Some(with);
    }

    /// Reports a server as left out.
    pub(super) fn leave_out(&self, server: LeftOutServer) {
        self.left_out.lock().unwrap().push(server);
    }

    /// Blocks all changes until `resume`.
    pub(super) fn hold(&self) {
        self.leave.forget_permits(1_000);
    }

    /// Waits until a change has been received, completed or not.
    pub(super) async fn arrived(&self) {
        self.arrived.acquire().await.unwrap().forget();
    }

    pub(super) fn resume(&self) {
        self.leave.add_permits(1_000);
    }
}

impl Operations for Recorder {
    fn change(&self, change: Change, keep: Keep) -> BoxFuture<'_, Result<Changed, Rejected>> {
        Box::pin(async move {
            self.arrived.add_permits(1);
            let _leave = self.leave.acquire().await.unwrap();
            self.asked.lock().unwrap().push((change, keep));
            match self.rejects.lock().unwrap().clone() {
                Some(rejected) => Err(rejected),
                None => Ok(Changed {
                    applied: Applied {
                        added: vec!["a".into()],
                        removed: vec!["b".into()],
                        enabled: Vec::new(),
                        disabled: Vec::new(),
                        restarted: vec!["c".into()],
                        adjusted: vec!["d".into()],
                        endpoints: vec!["e".into()],
                        presets: vec!["f".into()],
                        clients: vec!["g".into()],
                        settings: Vec::new(),
                        at_next_start: vec!["h".into()],
                    },
                    left_out: vec!["j".into()],
                    saved_to: (keep == Keep::File).then(|| "/etc/narrows.json".into()),
                    created: false,
                    written: keep == Keep::File,
                    entry_created: false,
                    warnings: vec!["i".into()],
                }),
            }
        })
    }

    fn status(&self) -> ConfigurationStatus {
        ConfigurationStatus {
            file: Some("/etc/narrows.json".into()),
            watched: true,
            applied_at: "2026-07-28T10:00:00.000Z".into(),
            problems: vec!["line 3".into()],
            unsaved: vec!["server 'x' added".into()],
            left_out: self.left_out.lock().unwrap().clone(),
        }
    }
}
