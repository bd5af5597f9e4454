//! Tests names that exist, do not exist, or are hidden.

use std::sync::Arc;
use std::time::Duration;

use narrows_gateway::preset::{Denial, DenialReason, DenialSource};
use narrows_gateway::settings::{Expose, Transport};
use narrows_gateway::{ToolReport, UpstreamReport};
use narrows_upstream::{Failure, FailureKind, Found, State as UpstreamState};
use narrows_wire::{Raw, Revision};

use super::{EndpointTools, LeftOut, Verdict, judge};

fn server(id: &str, tools: &[(&str, &str)], state: UpstreamState) -> UpstreamReport {
    let tool = |(name, published): &(&str, &str)| ToolReport {
        name: (*name).to_owned(),
        published: (*published).to_owned(),
        raw: Raw::empty_object(),
        denied: None,
        needs_task: false,
    };
    UpstreamReport {
        id: id.to_owned(),
        slug: id.replace('.', "_"),
        transport: Transport::Stdio,
        state,
        tools: tools.iter().map(tool).collect(),
        prompts: 0,
        resources: 0,
        stderr: Vec::new(),
        templates: 0,
    }
}

/// Creates an endpoint with four servers. One tool of `files` is hidden.
fn offered(expose: Expose, listed: &[&str]) -> EndpointTools {
    let up = || UpstreamState::Up {
        revision: Revision::LATEST_LEGACY,
        took: Duration::ZERO,
        server_info: Raw::empty_object(),
        found: Found {
            transport: Transport::Stdio,
            how: None,
            era: None,
        },
    };
    let failure = Failure::new(FailureKind::NotFound, "no such program");
    let down = UpstreamState::Down {
        failure: Arc::new(failure),
        attempts: 1,
        next_try: Some(tokio::time::Instant::now()),
    };
    let mut report = vec![
        server(
            "files",
            &[
                ("read", "files__read"),
                ("list", "files__list"),
                ("write", "files__write"),
            ],
            up(),
        ),
        server(
            "io.x",
            &[("read", "io_x__read"), ("a b", "io_x__a_b")],
            up(),
        ),
        server("dead", &[], down),
        server("off", &[], UpstreamState::Disabled),
    ];
    report[0].tools[2].denied = Some(Arc::new(Denial {
        source: DenialSource::Preset("review".into()),
        why: DenialReason::Forbidden("!files/w*".into()),
    }));
    let listed = listed.iter();
    EndpointTools {
        endpoint: "here".to_owned(),
        expose,
        preset: Some("review".to_owned()),
        report,
        listed: listed
            .map(|name| ((*name).to_owned(), Raw::empty_object()))
            .collect(),
        recover: Some("recover_text".into()),
    }
}

fn verdict(name: &str, offered: &EndpointTools) -> Verdict {
    let left_out = [LeftOut {
        id: "search".into(),
        place: 4,
        transport: Transport::Http,
        kind: "unset_variable",
        reason: "environment variable T is not set".into(),
    }];
    judge(name, offered, &left_out)
}

#[track_caller]
fn check(name: &str, expected: &str) {
    check_on(&offered(Expose::All, &["recover_text"]), name, expected);
}

#[track_caller]
fn check_on(offered: &EndpointTools, name: &str, expected: &str) {
    let verdict = verdict(name, offered);
    assert_eq!(verdict.reason, expected);
    let is_there = !expected.starts_with("not offered") && expected.contains("available");
    let is_there = is_there && !expected.starts_with("server ");
    assert_eq!(verdict.there, is_there, "{name}");
}

#[test]
fn why_explains_availability() {
    check("files__read", "available: tool 'read' of server 'files'");
    check(
        "files/read",
        "tool 'read' of server 'files' is available under the name files__read",
    );
    check(
        "io.x:a b",
        "tool 'a b' of server 'io.x' is available under the name io_x__a_b",
    );
    check(
        "list",
        "tool 'list' of server 'files' is available under the name files__list",
    );
    check(
        "read",
        "several servers have this tool: files__read, io_x__read",
    );
    check(
        "files__reed",
        "server 'files' is up, but has no tool 'reed'; did you mean read?",
    );
    check("dead__x", "server 'dead' is not up: no such program");
    check(
        "off__x",
        "server 'off' is not up: disabled in the configuration",
    );
    check(
        "search__x",
        "server 'search' cannot be started: environment variable T is not set",
    );
    check(
        "file__read",
        "there is no such tool; did you mean files__read?",
    );
}

#[test]
fn why_explains_hidden_tools() {
    let reason = "not offered: `!files/w*` of preset 'review' forbids it";
    for name in ["files__write", "files/write", "write"] {
        check(name, reason);
    }
    let hidden = verdict("files__write", &offered(Expose::All, &[]));
    assert_eq!(hidden.preset.as_deref(), Some("review"));
    assert_eq!(hidden.rule.as_deref(), Some("!files/w*"));
    assert_eq!(hidden.server.as_deref(), Some("files"));
    // Hidden tools are not suggested either.
    check(
        "files__writ",
        "server 'files' is up, but has no tool 'writ'; available: read, list",
    );
    let unknown = verdict("file__write", &offered(Expose::All, &[]));
    assert!(!unknown.nearest.contains(&"files__write".to_owned()));
}

#[test]
fn why_explains_unlisted_tools() {
    let lazy = offered(Expose::Lazy, &["inspect", "exec"]);
    let through = "tool 'read' of server 'files' is available \
                   through exec(server_name: \"files\", tool_name: \"read\")";
    check_on(&lazy, "files__read", through);
    check_on(&lazy, "files/read", through);
    let hidden = "not offered: `!files/w*` of preset 'review' forbids it";
    check_on(&lazy, "files__write", hidden);
    let search = offered(Expose::Search, &["inspect", "exec", "files__list"]);
    let pinned = "available: tool 'list' of server 'files'";
    check_on(&search, "files__list", pinned);
}

#[test]
fn why_explains_the_gateways_own_tools() {
    let recover = "the gateway's own tool that recovers text cut from results";
    check("recover_text", &format!("available: {recover}"));
    let lazy = offered(Expose::Lazy, &["inspect", "exec"]);
    let through = "exec(server_name: \"narrows\", tool_name: \"recover_text\")";
    check_on(
        &lazy,
        "recover_text",
        &format!("{recover} is available through {through}"),
    );
    let mut uncut = offered(Expose::All, &[]);
    uncut.recover = None;
    check_on(
        &uncut,
        "recover_text",
        &format!("not offered: it is {recover}, but this endpoint cuts nothing (`shape`)"),
    );
    check_on(
        &lazy,
        "inspect",
        "available: the gateway's own tool that describes the others",
    );
    check(
        "exec",
        "not offered: it is the gateway's own tool on endpoints with \"expose\": \"lazy\" or \
         \"search\", but endpoint 'here' has \"all\"",
    );
    check_on(
        &lazy,
        "search_tools",
        "not offered: it is the gateway's own tool on endpoints with \"expose\": \"search\", but \
         endpoint 'here' has \"lazy\"",
    );
}
