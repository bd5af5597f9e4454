use std::time::Duration;

use serde_json::json;

use super::super::tests::{outgoing, waiting_client};
use super::*;
use crate::memory::{Memory, SMALL};

#[test]
fn large_progress_is_charged_to_the_client() {
    let memory = Memory::new(1_000_000, 1_000_000).client();
    let client = waiting_client();
    let origin = crate::request::Origin {
        memory: Some(memory.clone()),
        ..client.origin
    };
    let progress = Progress::default();
    let timeout = Arc::new(RenewableTimeout::new(Duration::from_secs(5)));
    let outgoing = outgoing(origin, Duration::from_secs(5));
    let _watched = progress.watch(7, &outgoing, &timeout).expect("a token");
    let params = json!({"progressToken": 7, "progress": 1, "message": "x".repeat(SMALL)});
    progress.forward(&"files".into(), &Raw::from_serialize(&params));
    assert!(memory.responses.used() >= SMALL);
}
