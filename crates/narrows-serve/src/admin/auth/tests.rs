use std::sync::Arc;

use futures_util::future::BoxFuture;
use narrows_gateway::settings::TokenDigest;

use super::{AdminAuth, AdminToken, TokenOrigin};
use crate::admin::{Change, Changed, ConfigurationStatus, Keep, Operations, Rejected};

/// An `Operations` that these tests never call.
struct Closed;

impl Operations for Closed {
    fn change(&self, _: Change, _: Keep) -> BoxFuture<'_, Result<Changed, Rejected>> {
        Box::pin(async { Err(Rejected::NoFile) })
    }

    fn status(&self) -> ConfigurationStatus {
        ConfigurationStatus::default()
    }
}

fn auth() -> AdminAuth {
    let token = |origin, text| AdminToken {
        origin,
        digest: TokenDigest::of(text),
    };
    let tokens = vec![
        token(TokenOrigin::Configured, "nra_configured"),
        token(TokenOrigin::ThisRun, "nra_run"),
    ];
    AdminAuth::new(Arc::new(Closed), tokens)
}

#[test]
fn token_is_recognised_with_its_origin() {
    let auth = auth();
    let known = auth.recognise("nra_configured");
    assert_eq!(known, Some(TokenOrigin::Configured));
    assert_eq!(auth.recognise("nra_run"), Some(TokenOrigin::ThisRun));
    for wrong in ["", "nra_", "nra_run ", "nrw_client"] {
        assert_eq!(auth.recognise(wrong), None, "{wrong:?}");
    }
}

#[test]
fn debug_output_contains_no_token() {
    let shown = format!("{:?}", auth());
    assert_eq!(shown, "AdminAuth { tokens: 2, remote: false, .. }");
}
