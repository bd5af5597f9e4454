use std::sync::Arc;

use super::*;
use crate::exchange::{Asks, EventSink};

fn origin() -> Origin {
    Origin {
        session: 1,
        sink: EventSink::channel(1).0,
        asks: Asks {
            roots: true,
            ..Asks::default()
        },
        memory: None,
        cancel: Arc::default(),
    }
}

fn shown(recipient: &Recipient<'_>) -> &'static str {
    match recipient {
        Recipient::Link => "link",
        Recipient::Call(_) => "call",
        Recipient::ProgressToken => "token",
        Recipient::Asked => "asked",
        Recipient::Handler => "handler",
        Recipient::Refused(Refusal::NoOwner) => "no owner",
        Recipient::Refused(Refusal::NotSupported) => "not supported",
        Recipient::Refused(Refusal::NoAnswer) => "no answer",
        Recipient::Unknown => "unknown",
    }
}

/// Compares the recipients of a message under five rules: on the stream of a call, on the stream of
/// the link, and over a channel with no calls in flight, with calls of one session, and with calls
/// of several sessions.
#[track_caller]
fn check(message: ServerMessage<'_>, expected: [&str; 5]) {
    let origin = origin();
    let none = || CallsInFlight::None;
    let one = || CallsInFlight::OneSession(origin.clone());
    let several = || CallsInFlight::SeveralSessions;
    let rules = [
        LinkRule::Stream(Some(&origin)),
        LinkRule::Stream(None),
        LinkRule::Channel(&none),
        LinkRule::Channel(&one),
        LinkRule::Channel(&several),
    ];
    let found = rules.map(|rule| shown(&recipient(message, rule)));
    assert_eq!(found, expected, "{message:?}");
}

#[test]
fn notifications_are_routed() {
    use ServerMessage::Notification as Is;
    let owned = ["call", "handler", "handler", "call", "no owner"];
    check(Is("notifications/message"), owned);
    check(Is("notifications/elicitation/complete"), owned);
    check(Is("notifications/progress"), ["token"; 5]);
    for list in ["tools", "prompts", "resources"] {
        check(
            Is(&format!("notifications/{list}/list_changed")),
            ["handler"; 5],
        );
    }
    check(Is("notifications/resources/updated"), ["handler"; 5]);
    let other = ["call", "handler", "handler", "handler", "handler"];
    check(Is("notifications/tasks/status"), other);
    check(Is("message"), ["unknown"; 5]);
    check(Is(""), ["unknown"; 5]);
}

#[test]
fn cancellations_are_routed() {
    check(
        ServerMessage::Notification("notifications/cancelled"),
        ["call", "handler", "asked", "asked", "asked"],
    );
}

#[test]
fn server_requests_are_routed() {
    use ServerMessage::Ask as Is;
    check(Is("ping"), ["link"; 5]);
    check(
        Is("roots/list"),
        ["call", "handler", "handler", "call", "no owner"],
    );
    // The client of the call does not support sampling.
    let refused = "not supported";
    check(
        Is("sampling/createMessage"),
        [refused, "handler", "handler", refused, "no owner"],
    );
}
