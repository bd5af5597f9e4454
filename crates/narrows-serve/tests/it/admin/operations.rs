//! Who changes the configuration, in these tests: notes what is asked for and
//! answers what the test says.

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
    /// One more with every change that comes in.
    arrived: Semaphore,
    /// A change takes one of these before it is made.
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
    /// What was asked for since the last time, and made or rejected.
    pub(super) fn asked(&self) -> Vec<(Change, Keep)> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    pub(super) fn reject(&self, with: Rejected) {
        *self.rejects.lock().unwrap() = Some(with);
    }

    /// Says that a server cannot be started as it is configured.
    pub(super) fn leave_out(&self, server: LeftOutServer) {
        self.left_out.lock().unwrap().push(server);
    }

    /// Lets no change be made until `resume`.
    pub(super) fn hold(&self) {
        self.leave.forget_permits(1_000);
    }

    /// Waits until a change has come in, made or not.
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
