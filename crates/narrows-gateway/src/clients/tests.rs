use std::net::{Ipv4Addr, Ipv6Addr};

use super::auth_throttle::{BURST, HALF, MAX_HELD};
use super::*;

const ALICE: &str = "nrw_alice-alice-alice-alice-alice-alice-alice";
const BOB: &str = "nrw_bob-bob-bob-bob-bob-bob-bob-bob-bob-bob-bo";

fn alice() -> ClientSettings {
    ClientSettings {
        token: Some(TokenDigest::of(ALICE)),
        ..ClientSettings::named("alice")
    }
}

fn bob() -> ClientSettings {
    ClientSettings {
        token: Some(TokenDigest::of(BOB)),
        ..ClientSettings::named("bob")
    }
}

fn client(name: &str) -> Principal {
    // The stamp of the first table.
    Principal::Client(KnownClient {
        name: name.into(),
        stamp: 1,
    })
}

const HERE: PeerAddress = PeerAddress {
    address: IpAddr::V4(Ipv4Addr::LOCALHOST),
    is_local: true,
};

fn there(last: u8) -> PeerAddress {
    PeerAddress {
        address: Ipv4Addr::new(192, 0, 2, last).into(),
        is_local: false,
    }
}

fn table(settings: &[ClientSettings]) -> Clients {
    Clients::new(settings, &Arc::default())
}

#[test]
fn digest_is_sha256_of_the_token() {
    // The example in FIPS 180-2, B.1.
    let digest = TokenDigest::of("abc").0;
    assert_eq!(digest[..4], [0xba, 0x78, 0x16, 0xbf]);
    assert_eq!(digest[28..], [0xf2, 0x00, 0x15, 0xad]);
}

#[tokio::test]
async fn without_clients_any_token_is_anonymous() {
    let clients = table(&[]);
    for token in [None, Some("wrong"), Some("")] {
        let who = clients.identify(token, there(1)).await;
        assert_eq!(who, Ok(Principal::Anonymous));
    }
    assert!(clients.may(&Principal::Anonymous, |_| false));
    assert!(clients.permit(&Principal::Anonymous).is_ok());
}

#[tokio::test]
async fn client_is_identified_by_its_token() {
    let clients = table(&[alice(), bob()]);
    for (token, expected) in [
        (Some(ALICE), Ok(client("alice"))),
        (Some(BOB), Ok(client("bob"))),
        (Some(&ALICE[1..]), Err(IdentifyError::Wrong)),
        (Some("alice"), Err(IdentifyError::Wrong)),
        (Some(""), Err(IdentifyError::Wrong)),
        (None, Err(IdentifyError::Missing)),
    ] {
        assert_eq!(clients.identify(token, HERE).await, expected, "{token:?}");
    }
}

#[tokio::test]
async fn empty_token_is_rejected_even_if_configured() {
    let empty = ClientSettings {
        token: Some(TokenDigest::of("")),
        ..ClientSettings::named("empty")
    };
    let clients = table(&[empty]);
    let who = clients.identify(Some(""), HERE).await;
    assert_eq!(who, Err(IdentifyError::Wrong));
}

#[tokio::test]
async fn oversized_token_is_rejected_even_if_configured() {
    let long = "x".repeat(MAX_TOKEN + 1);
    let longest = &long[1..];
    let named = |name: &str, token: &str| ClientSettings {
        token: Some(TokenDigest::of(token)),
        ..ClientSettings::named(name)
    };
    let clients = table(&[named("long", &long), named("longest", longest)]);
    let who = clients.identify(Some(&long), HERE).await;
    assert_eq!(who, Err(IdentifyError::Wrong));
    let who = clients.identify(Some(longest), HERE).await;
    assert_eq!(who, Ok(client("longest")));
}

#[tokio::test]
async fn anonymous_access_requires_a_local_peer() {
    let anonymous = ClientSettings::named(ClientSettings::ANONYMOUS);
    let clients = table(&[alice(), anonymous]);
    assert_eq!(clients.identify(None, HERE).await, Ok(client("anonymous")));
    let far = clients.identify(None, there(1)).await;
    assert_eq!(far, Err(IdentifyError::Missing));
    let proxied = PeerAddress {
        is_local: false,
        ..HERE
    };
    let far = clients.identify(None, proxied).await;
    assert_eq!(far, Err(IdentifyError::Missing));
    // A request with a wrong token is not treated as anonymous.
    let wrong = clients.identify(Some("wrong"), HERE).await;
    assert_eq!(wrong, Err(IdentifyError::Wrong));
}

#[test]
fn rights_match_the_configured_entrypoints() {
    let all = AllowedEntrypoints::All;
    let some = AllowedEntrypoints::These(vec![
        EntrypointName::Endpoint("lazy".into()),
        EntrypointName::Server("files".into()),
    ]);
    let servers = AllowedEntrypoints::These(vec![EntrypointName::AnyServer]);
    let pruner = AllowedEntrypoints::These(vec![EntrypointName::Pruner]);
    let none = AllowedEntrypoints::These(Vec::new());
    let seen = |entrypoints: &AllowedEntrypoints| {
        let asked = [
            entrypoints.has_endpoint("default"),
            entrypoints.has_endpoint("lazy"),
            entrypoints.has_server("files"),
            entrypoints.has_server("lazy"),
            entrypoints.has_pruner(),
        ];
        asked.map(u8::from)
    };
    assert_eq!(seen(&all), [1, 1, 1, 1, 1]);
    assert_eq!(seen(&some), [0, 1, 1, 0, 0]);
    assert_eq!(seen(&servers), [0, 0, 1, 1, 0]);
    assert_eq!(seen(&pruner), [0, 0, 0, 0, 1]);
    assert_eq!(seen(&none), [0; 5]);
}

#[test]
fn unknown_clients_have_no_rights() {
    let clients = table(&[alice()]);
    assert!(clients.may(&client("alice"), |_| true));
    assert!(!clients.may(&client("bob"), |_| true));
    assert!(!clients.may(&Principal::Anonymous, |_| true));
    clients.replace(&[bob()]);
    assert!(!clients.may(&client("alice"), |_| true));
    let gone = clients.permit(&client("alice"));
    assert!(matches!(gone, Err(Error::SessionClosed)));
}

#[tokio::test(start_paused = true)]
async fn rate_limit_is_a_refilling_bucket() {
    let rate = Some(Rate {
        per_minute: 60,
        burst: 3,
    });
    let clients = table(&[ClientSettings { rate, ..alice() }]);
    let who = client("alice");
    let refused = |outcome: Result<(), Error>| match outcome {
        Err(Error::RateLimited { after, .. }) => after,
        other => panic!("{other:?}"),
    };
    for _ in 0..3 {
        clients.pass(&who).unwrap();
    }
    assert_eq!(refused(clients.pass(&who)), Duration::from_secs(1));
    assert_eq!(refused(clients.permit(&who).map(drop)).as_millis(), 1000);
    tokio::time::advance(Duration::from_millis(999)).await;
    assert_eq!(refused(clients.pass(&who)), Duration::from_millis(1));
    tokio::time::advance(Duration::from_millis(1)).await;
    clients.pass(&who).unwrap();
    refused(clients.pass(&who));
    // A long pause does not fill the bucket beyond its size.
    tokio::time::advance(Duration::from_secs(3600)).await;
    for _ in 0..3 {
        clients.pass(&who).unwrap();
    }
    refused(clients.pass(&who));
    let [report] = &clients.report()[..] else {
        panic!("one client")
    };
    assert_eq!((report.calls, report.refused), (7, 5));
    assert_eq!(report.calls_in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn new_rate_starts_with_a_full_bucket() {
    let rate = |per_minute, burst| ClientSettings {
        rate: Some(Rate { per_minute, burst }),
        ..alice()
    };
    let clients = table(&[rate(1, 10)]);
    let who = client("alice");
    for _ in 0..10 {
        clients.pass(&who).unwrap();
    }
    clients.replace(&[rate(60, 2)]);
    // Used tokens remain used, within the size of the new bucket.
    assert!(clients.pass(&who).is_err());
    tokio::time::advance(Duration::from_secs(1)).await;
    clients.pass(&who).unwrap();
}

#[test]
fn in_flight_calls_are_counted_by_held_permits() {
    let max_calls = Some(2);
    let clients = table(&[ClientSettings {
        max_calls,
        ..alice()
    }]);
    let who = client("alice");
    let first = clients.permit(&who).unwrap();
    let _second = clients.permit(&who).unwrap();
    let third = clients.permit(&who);
    assert!(matches!(third, Err(Error::ClientBusy { max: 2, .. })));
    drop(first);
    let _third = clients.permit(&who).unwrap();
    let report = clients.report().remove(0);
    assert_eq!(report.calls_in_flight, 2);
    assert_eq!((report.calls, report.refused), (3, 1));
}

#[test]
fn rate_limited_request_does_not_stay_in_flight() {
    let rate = Some(Rate {
        per_minute: 1,
        burst: 1,
    });
    let clients = table(&[ClientSettings { rate, ..alice() }]);
    drop(clients.permit(&client("alice")).unwrap());
    assert!(clients.permit(&client("alice")).is_err());
    assert_eq!(clients.report()[0].calls_in_flight, 0);
}

#[test]
fn session_permits_survive_a_replacement() {
    let max_sessions = Some(1);
    let limited = || ClientSettings {
        max_sessions,
        ..alice()
    };
    let clients = table(&[limited()]);
    let session_permit = clients.session_permit(&client("alice"), 100).unwrap();
    clients.replace(&[bob(), limited()]);
    let second = clients.session_permit(&client("alice"), 100);
    assert!(matches!(second, Err(Error::ClientSessions { max: 1, .. })));
    drop(session_permit);
    let _seat = clients.session_permit(&client("alice"), 100).unwrap();
}

#[test]
fn one_client_cannot_use_all_sessions() {
    let clients = table(&[alice(), bob()]);
    let seats: Vec<_> = (0..3)
        .map(|_| clients.session_permit(&client("alice"), 5))
        .collect();
    assert!(seats.iter().all(Result::is_ok));
    let next = clients.session_permit(&client("alice"), 5);
    assert!(matches!(next, Err(Error::ClientSessions { max: 3, .. })));
    assert!(clients.session_permit(&client("bob"), 5).is_ok());
    // The client's own limit replaces its share, and a single client has no share.
    let own = ClientSettings {
        max_sessions: Some(4),
        ..alice()
    };
    clients.replace(&[own, bob()]);
    let fourth = clients.session_permit(&client("alice"), 5);
    assert!(fourth.is_ok());
    clients.replace(&[alice()]);
    assert!(clients.session_permit(&client("alice"), 5).is_ok());
}

#[test]
fn revoked_token_loses_its_rights() {
    let clients = table(&[alice(), bob()]);
    let (old_alice, old_bob) = (client("alice"), client("bob"));
    let may = |who: &Principal| clients.may(who, |_| true);
    assert!(may(&old_alice) && may(&old_bob));
    let other_token = ClientSettings {
        token: Some(TokenDigest::of("nrw_another")),
        ..alice()
    };
    clients.replace(&[other_token, bob()]);
    assert!(!may(&old_alice) && may(&old_bob));
    assert!(clients.session_permit(&old_alice, 100).is_err() && clients.pass(&old_alice).is_err());
    // Restoring the old token does not restore its old rights.
    clients.replace(&[alice(), bob()]);
    assert!(!may(&old_alice) && may(&old_bob));
}

/// Sends a number of wrong tokens from one address and returns the responses.
async fn wrong(clients: &Clients, peer: PeerAddress, times: u32) -> Vec<IdentifyError> {
    let mut answers = Vec::new();
    for _ in 0..times {
        answers.push(clients.identify(Some("wrong"), peer).await.unwrap_err());
    }
    answers
}

#[tokio::test(start_paused = true)]
async fn wrong_tokens_are_delayed_then_refused() {
    let clients = table(&[alice()]);
    let start = Instant::now();
    let early = wrong(&clients, there(1), BURST).await;
    assert!(early.iter().all(|answer| *answer == IdentifyError::Wrong));
    assert_eq!(start.elapsed(), Duration::ZERO);
    // One refusal is held back, and the address is blocked in the meantime.
    let (held, closed) = tokio::join!(
        clients.identify(Some("wrong"), there(1)),
        clients.identify(Some("wrong"), there(1)),
    );
    assert_eq!(held, Err(IdentifyError::Wrong));
    assert!(start.elapsed() >= HOLD);
    let after = Duration::from_secs(1);
    assert_eq!(closed, Err(IdentifyError::Throttled { after }));
    // The pauses double, up to one minute.
    let mut pauses = Vec::new();
    for _ in 0..8 {
        let answer = wrong(&clients, there(1), 1).await;
        assert_eq!(answer, [IdentifyError::Wrong]);
        let [IdentifyError::Throttled { after }] = wrong(&clients, there(1), 1).await[..] else {
            panic!("the door is open");
        };
        // Adds the second for which the response was held back.
        pauses.push((after + HOLD).as_secs());
        tokio::time::advance(after).await;
    }
    // Timers have millisecond resolution.
    assert!(
        pauses
            .iter()
            .zip([2, 4, 8, 16, 32, 60, 60, 60])
            .all(|(a, b)| a.abs_diff(b) <= 1),
        "{pauses:?}"
    );
    // Other addresses and correct tokens are not affected.
    assert_eq!(wrong(&clients, there(2), 1).await, [IdentifyError::Wrong]);
    let right = clients.identify(Some(ALICE), there(1)).await;
    assert_eq!(right, Ok(client("alice")));
    // The address is forgotten after a while.
    tokio::time::advance(Duration::from_secs(700)).await;
    let start = Instant::now();
    let early = wrong(&clients, there(1), BURST).await;
    assert!(early.iter().all(|answer| *answer == IdentifyError::Wrong));
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[test]
fn ipv6_network_counts_as_one_mapped_ipv4_as_ipv4() {
    let auth_throttle = AuthThrottle::default();
    for last in 0..20 {
        auth_throttle.record_failure(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, last, last).into());
    }
    assert_eq!(auth_throttle.known(), 1);
    auth_throttle.record_failure(Ipv6Addr::new(0x2001, 0xdb8, 0, 2, 0, 0, 0, 0).into());
    assert_eq!(auth_throttle.known(), 2);
    auth_throttle.record_failure(Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped().into());
    auth_throttle.record_failure(Ipv4Addr::new(192, 0, 2, 1).into());
    auth_throttle.record_failure(Ipv4Addr::new(192, 0, 2, 2).to_ipv6_mapped().into());
    assert_eq!(auth_throttle.known(), 4);
}

#[test]
fn address_table_is_bounded_and_keeps_active_addresses() {
    let auth_throttle = AuthThrottle::default();
    let constant = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    for _ in 0..BURST {
        auth_throttle.record_failure(constant);
    }
    for number in 0..(3 * HALF as u32) {
        auth_throttle.record_failure(Ipv4Addr::from(0x0a00_0000 + number).into());
        if number % 1000 == 0 {
            auth_throttle.record_failure(constant);
        }
    }
    assert!(
        auth_throttle.known() <= 2 * HALF,
        "{}",
        auth_throttle.known()
    );
    assert!(matches!(
        auth_throttle.record_failure(constant),
        ThrottleDecision::Refused { .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn all_addresses_share_a_failure_limit() {
    let auth_throttle = AuthThrottle::default();
    let verdicts =
        (0..1000).map(|number| auth_throttle.record_failure(Ipv4Addr::from(number).into()));
    let answer_locally = verdicts.filter(|verdict| matches!(verdict, ThrottleDecision::RefuseNow));
    assert_eq!(answer_locally.count(), 200);
    tokio::time::advance(Duration::from_secs(1)).await;
    let verdict = auth_throttle.record_failure(Ipv4Addr::from(5000).into());
    assert!(matches!(verdict, ThrottleDecision::RefuseNow));
}

#[tokio::test(start_paused = true)]
async fn number_of_delayed_refusals_is_limited() {
    let auth_throttle = AuthThrottle::default();
    let mut held = Vec::new();
    for number in 0..=MAX_HELD as u32 {
        let address = Ipv4Addr::from(number).into();
        for _ in 0..BURST {
            auth_throttle.record_failure(address);
        }
        // Avoids the limit for all addresses.
        tokio::time::advance(Duration::from_secs(5)).await;
        held.push(auth_throttle.record_failure(address));
    }
    let is_held =
        |verdict: &ThrottleDecision| matches!(verdict, ThrottleDecision::RefuseDelayed(_));
    assert!(held[..MAX_HELD].iter().all(is_held));
    assert!(matches!(held[MAX_HELD], ThrottleDecision::Refused { .. }));
    held.clear();
    tokio::time::advance(Duration::from_secs(5)).await;
    assert!(is_held(
        &auth_throttle.record_failure(Ipv4Addr::from(0).into())
    ));
}
