//! Tests of repeated wrong tokens.

use super::{ALICE, WAYS, bearer, error, guarded};

#[tokio::test]
async fn too_many_wrong_tokens_are_throttled_but_valid_ones_pass() {
    let gate = guarded().await;
    let mut attempts = Vec::new();
    let refused = loop {
        // Uses all entrypoints in turn, because their failures are counted together.
        let (form, _) = WAYS[attempts.len() % WAYS.len()];
        let token = format!("nrw_attempt{}", attempts.len());
        let reply = form.go(&gate, &[("authorization", &bearer(&token))]).await;
        attempts.push(reply.status);
        if reply.status != 401 {
            break reply;
        }
        // The intervals double, so some attempt must come too early.
        assert!(attempts.len() < 20, "{attempts:?}");
    };
    assert!(attempts.len() > 10, "{attempts:?}");
    assert_eq!(refused.status, 429);
    let error = error(&refused);
    assert_eq!(error["data"]["code"], "too_many_attempts");
    assert!(error["data"]["retry_after_ms"].as_u64() > Some(0));
    assert!(refused.header("retry-after").is_some());
    for (form, _) in WAYS {
        let reply = form.go(&gate, &[("authorization", &bearer(ALICE))]).await;
        assert_eq!(reply.status, form.welcome(), "{form:?}");
        // A request without a token is not throttled.
        assert_eq!(form.go(&gate, &[]).await.status, 401, "{form:?}");
    }
}
