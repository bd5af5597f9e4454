use std::time::UNIX_EPOCH;

use narrows_gateway::feed::{CallError, CallRecord};
use serde_json::json;

use crate::http::admin::answer::Call;
use crate::http::admin::ask::{Calls, Limit};
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

fn all() -> Calls {
    Calls {
        limit: Limit(100),
        server: None,
        client: None,
        method: None,
        failed: None,
    }
}

#[test]
fn a_call_is_told_as_the_event_of_it_tells_it() {
    let failed = CallRecord {
        error: Some(CallError {
            code: "upstream_down",
            fault: "upstream",
        }),
        ..record()
    };
    for record in [record(), failed] {
        assert_eq!(json!(Call::from(&record)), json!(record));
    }
}

#[test]
fn calls_are_chosen_by_all_that_is_asked_for() {
    let name = |text: &str| Some(Name(text.into()));
    let check = |which: Calls, fits: bool| assert_eq!(which.fits(&record()), fits, "{which:?}");
    check(all(), true);
    check(
        Calls {
            server: name("files"),
            ..all()
        },
        true,
    );
    check(
        Calls {
            server: name("file"),
            ..all()
        },
        false,
    );
    check(
        Calls {
            client: name("cursor"),
            ..all()
        },
        true,
    );
    check(
        Calls {
            client: name("Cursor"),
            ..all()
        },
        false,
    );
    check(
        Calls {
            method: name("tools/call"),
            ..all()
        },
        true,
    );
    check(
        Calls {
            method: name("tools/list"),
            ..all()
        },
        false,
    );
    check(
        Calls {
            failed: Some(false),
            ..all()
        },
        true,
    );
    check(
        Calls {
            failed: Some(true),
            ..all()
        },
        false,
    );
    let mixed = Calls {
        server: name("files"),
        client: name("other"),
        ..all()
    };
    check(mixed, false);
}
