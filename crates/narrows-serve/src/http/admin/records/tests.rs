use std::time::UNIX_EPOCH;

use narrows_gateway::event_bus::{CallError, CallRecord};
use serde_json::json;

use crate::http::admin::answer::RecordedCall;
use crate::http::admin::ask::{CallFilter, Limit};
use crate::http::admin::given::Name;

fn record() -> CallRecord {
    CallRecord {
        at: UNIX_EPOCH.into(),
        session: 3,
        endpoint: "default".into(),
        client: Some("cursor".into()),
        method: "tools/call".into(),
        name: Some("files__read".into()),
        server: Some("files".into()),
        elapsed_us: 1500,
        bytes_in: 10,
        bytes_out: 20,
        error: None,
    }
}

fn all() -> CallFilter {
    CallFilter {
        limit: Limit(100),
        server: None,
        client: None,
        method: None,
        failed: None,
    }
}

#[test]
fn recorded_call_matches_its_event() {
    let failed = CallRecord {
        error: Some(CallError {
            code: "upstream_down",
            fault: "upstream",
        }),
        ..record()
    };
    for record in [record(), failed] {
        assert_eq!(json!(RecordedCall::from(&record)), json!(record));
    }
}

#[test]
fn calls_are_filtered_by_all_parameters() {
    let name = |text: &str| Some(Name(text.into()));
    let check =
        |which: CallFilter, fits: bool| assert_eq!(which.fits(&record()), fits, "{which:?}");
    check(all(), true);
    check(
        CallFilter {
            server: name("files"),
            ..all()
        },
        true,
    );
    check(
        CallFilter {
            server: name("file"),
            ..all()
        },
        false,
    );
    check(
        CallFilter {
            client: name("cursor"),
            ..all()
        },
        true,
    );
    check(
        CallFilter {
            client: name("Cursor"),
            ..all()
        },
        false,
    );
    check(
        CallFilter {
            method: name("tools/call"),
            ..all()
        },
        true,
    );
    check(
        CallFilter {
            method: name("tools/list"),
            ..all()
        },
        false,
    );
    check(
        CallFilter {
            failed: Some(false),
            ..all()
        },
        true,
    );
    check(
        CallFilter {
            failed: Some(true),
            ..all()
        },
        false,
    );
    let mixed = CallFilter {
        server: name("files"),
        client: name("other"),
        ..all()
    };
    check(mixed, false);
}
