use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use narrows_policy::Principal;
use narrows_upstream::exchange::{Ask, AskKey, AskReply, AskResponder};
use narrows_wire::{ClientHello, Id, Raw};
use parking_lot::Mutex;

use super::parked::ParkedCalls;
use super::question::Questions;
use super::seal::{BadState, Binding, Sealer};

fn raw(text: &str) -> Raw {
    Raw::parse(Bytes::copy_from_slice(text.as_bytes())).expect("valid JSON")
}

fn binding_of(principal: &Principal, endpoint: &str, method: &str, params: &str) -> Binding {
    Binding::new(principal, (false, endpoint), method, Some(&raw(params)))
}

fn binding(params: &str) -> Binding {
    binding_of(&Principal::Anonymous, "default", "tools/call", params)
}

const LONG: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_state_opens_only_for_its_own_request_and_in_time() {
    let sealer = Sealer::new();
    let own = binding(r#"{"name":"a","arguments":{"x":1}}"#);
    let state = sealer.seal(7, &own, LONG);
    assert_eq!(sealer.open(&state, &own), Ok(7));
    // The members of a retry do not count, and neither does the order of members.
    let retry = r#"{"arguments":{"x":1},"_meta":{"a":1},"requestState":"s","inputResponses":{},"name":"a"}"#;
    assert_eq!(sealer.open(&state, &binding(retry)), Ok(7));
    for params in [
        r#"{"name":"b","arguments":{"x":1}}"#,
        r#"{"name":"a","arguments":{"x":2}}"#,
        r#"{"name":"a"}"#,
    ] {
        let found = sealer.open(&state, &binding(params));
        assert_eq!(found, Err(BadState::OtherRequest), "{params}");
    }
    let params = r#"{"name":"a","arguments":{"x":1}}"#;
    let other = binding_of(&Principal::Anonymous, "default", "prompts/get", params);
    assert_eq!(sealer.open(&state, &other), Err(BadState::OtherRequest));
    for other in [
        binding_of(&Principal::Local, "default", "tools/call", params),
        binding_of(&Principal::Anonymous, "other", "tools/call", params),
        Binding::new(
            &Principal::Anonymous,
            (true, "default"),
            "tools/call",
            Some(&raw(params)),
        ),
    ] {
        assert_eq!(sealer.open(&state, &other), Err(BadState::OtherClient));
    }
    tokio::time::advance(LONG).await;
    assert_eq!(sealer.open(&state, &own), Err(BadState::Expired));
}

#[tokio::test]
async fn a_forged_state_does_not_open() {
    let sealer = Sealer::new();
    let own = binding("{}");
    let state = sealer.seal(7, &own, LONG);
    assert_eq!(Sealer::new().open(&state, &own), Err(BadState::Forged));
    for at in 0..state.len() {
        let mut forged = state.clone().into_bytes();
        forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
        let forged = String::from_utf8(forged).expect("ASCII");
        // The last character has unused bits.
        assert_ne!(sealer.open(&forged, &own), Ok(8), "{at}");
        if at + 1 < state.len() {
            assert_eq!(sealer.open(&forged, &own), Err(BadState::Forged), "{at}");
        }
    }
    let long = "A".repeat(100_000);
    for forged in [
        "",
        "A",
        &state[1..],
        &format!("{state}A"),
        &format!("{state}-X"),
        &long,
    ] {
        assert_eq!(sealer.open(forged, &own), Err(BadState::Forged));
    }
}

#[tokio::test]
async fn a_parked_call_is_taken_once() {
    let parked = ParkedCalls::new();
    let own = binding("{}");
    let (_, state, place) = parked.park("call", &own);
    assert_eq!(parked.take(&state, &own), Ok("call"));
    assert!(place.left.is_cancelled());
    assert_eq!(parked.take(&state, &own), Err(BadState::Expired));
    let (id, state, _) = parked.park("call", &own);
    parked.forget(id);
    assert_eq!(parked.take(&state, &own), Err(BadState::Expired));
    assert_eq!(parked.len(), 0);
}

#[tokio::test]
async fn the_oldest_parked_call_makes_room() {
    let parked = ParkedCalls::new();
    let own = binding("{}");
    let other = binding_of(&Principal::Local, "default", "tools/call", "{}");
    let (_, of_other, _) = parked.park(0, &other);
    let first = parked.park(1, &own);
    for _ in 0..1_000 {
        parked.park(2, &own);
    }
    // One client cannot take the places of others.
    assert_eq!(parked.len(), 129);
    assert!(first.2.left.is_cancelled());
    assert_eq!(parked.take(&first.1, &own), Err(BadState::Expired));
    assert_eq!(parked.take(&of_other, &other), Ok(0));
    for n in 0..1_000 {
        let endpoint = format!("e{n}");
        let each = binding_of(&Principal::Anonymous, &endpoint, "tools/call", "{}");
        parked.park(3, &each);
    }
    assert_eq!(parked.len(), 512);
}

/// A server that records the answers to its requests.
#[derive(Default)]
struct Server(Mutex<Vec<String>>);

impl AskResponder for Server {
    fn answer(&self, id: &Id, body: Result<Raw, Raw>) {
        let (kind, body) = match body {
            Ok(body) => ("ok", body),
            Err(body) => ("error", body),
        };
        let line = format!("{} {kind} {}", id.as_raw().as_str(), body.as_str());
        self.0.lock().push(line);
    }

    fn notify(&self, _: &str, _: Option<Raw>) {}
}

fn ask(server: &Arc<Server>, id: Id, method: &str, params: &str) -> Ask {
    Ask {
        server: "up".into(),
        method: method.into(),
        params: Some(raw(params)),
        input_key: None,
        key: AskKey {
            link: 1,
            id: id.clone(),
        },
        reply: AskReply::new(server.clone(), id),
    }
}

fn client(capabilities: &str) -> ClientHello {
    ClientHello {
        capabilities: raw(capabilities),
        client_info: raw("{}"),
    }
}

#[test]
fn questions_are_asked_and_answered_by_key() {
    let server = Arc::new(Server::default());
    let client = client(r#"{"elicitation":{},"sampling":{},"roots":{}}"#);
    let mut questions = Questions::default();
    let form = r#"{"message":"m","_meta":{"progressToken":1}}"#;
    let add = |questions: &mut Questions, id, method: &str, params: &str| {
        let added = questions.add(ask(&server, id, method, params), &client);
        added.expect("the client can be asked");
    };
    add(&mut questions, Id::number(4), "elicitation/create", form);
    add(
        &mut questions,
        Id::string("own"),
        "sampling/createMessage",
        "{}",
    );
    add(&mut questions, Id::string("own"), "roots/list", "{}");
    assert_eq!(
        questions.encode().as_str(),
        r#"{"up:1":{"method":"elicitation/create","params":{"message":"m"}},"own":{"method":"sampling/createMessage","params":{}},"up:3":{"method":"roots/list","params":{}}}"#
    );
    // Unknown keys and invalid answers leave the questions open.
    for answers in [
        "[]",
        r#"{"x":{"action":"accept"}}"#,
        r#"{"up:1":7,"own":{},"up:3":{"roots":{}}}"#,
        r#"{"up:1":{"action":"maybe"}}"#,
    ] {
        questions.answer(Some(&raw(answers)));
    }
    assert_eq!(*server.0.lock(), [""; 0]);
    questions.answer(Some(&raw(
        r#"{"up:3":{"roots":[]},"up:1":{"action":"decline"}}"#,
    )));
    assert_eq!(
        *server.0.lock(),
        [r#""own" ok {"roots":[]}"#, r#"4 ok {"action":"decline"}"#]
    );
    assert_eq!(
        questions.encode().as_str(),
        r#"{"own":{"method":"sampling/createMessage","params":{}}}"#
    );
}

#[test]
fn the_key_that_a_server_chose_is_kept() {
    let server = Arc::new(Server::default());
    let client = client(r#"{"roots":{}}"#);
    let mut questions = Questions::default();
    for id in [1, 2] {
        let mut asked = ask(&server, Id::number(id), "roots/list", "{}");
        asked.input_key = Some("chosen".into());
        questions
            .add(asked, &client)
            .expect("the client can be asked");
    }
    assert_eq!(
        questions.encode().as_str(),
        r#"{"chosen":{"method":"roots/list","params":{}},"up:2":{"method":"roots/list","params":{}}}"#
    );
}

#[test]
fn questions_of_a_client_that_does_not_return_are_declined() {
    let server = Arc::new(Server::default());
    let client = client(r#"{"elicitation":{},"roots":{}}"#);
    let mut questions = Questions::default();
    for (id, method) in [
        (1, "elicitation/create"),
        (2, "roots/list"),
        (3, "roots/list"),
    ] {
        let added = questions.add(ask(&server, Id::number(id), method, "{}"), &client);
        added.expect("the client can be asked");
    }
    questions.withdraw(&AskKey {
        link: 1,
        id: Id::number(3),
    });
    questions.decline();
    let answers = server.0.lock().clone();
    assert_eq!(answers[0], r#"1 ok {"action":"cancel"}"#);
    assert!(answers[1].starts_with("2 error "), "{answers:?}");
    assert_eq!(answers.len(), 2);
}

#[test]
fn a_question_needs_the_capability() {
    #[track_caller]
    fn check(capabilities: &str, method: &str, params: &str, missing: Option<&str>) {
        let server = Arc::new(Server::default());
        let mut questions = Questions::default();
        let asked = ask(&server, Id::number(1), method, params);
        let found = questions.add(asked, &client(capabilities)).err();
        let found = found.map(|error| error.to_string());
        let expected = missing.map(|missing| {
            format!("The server sent '{method}', but the client did not declare the capability: {missing}")
        });
        assert_eq!(found, expected, "{capabilities} {params}");
    }
    let (elicit, sample) = ("elicitation/create", "sampling/createMessage");
    check("{}", "roots/list", "{}", Some(r#"{"roots":{}}"#));
    check("{}", sample, "{}", Some(r#"{"sampling":{}}"#));
    check(r#"{"sampling":{}}"#, sample, "{}", None);
    let tools = r#"{"tools":[]}"#;
    check(
        r#"{"sampling":{}}"#,
        sample,
        tools,
        Some(r#"{"sampling":{"tools":{}}}"#),
    );
    check(r#"{"sampling":{"tools":{}}}"#, sample, tools, None);
    check("{}", elicit, "{}", Some(r#"{"elicitation":{}}"#));
    check(r#"{"elicitation":{}}"#, elicit, "{}", None);
    check(r#"{"elicitation":{"form":{}}}"#, elicit, "{}", None);
    let url = r#"{"mode":"url"}"#;
    check(
        r#"{"elicitation":{}}"#,
        elicit,
        url,
        Some(r#"{"elicitation":{"url":{}}}"#),
    );
    check(r#"{"elicitation":{"url":{}}}"#, elicit, url, None);
    check(
        r#"{"elicitation":{"url":{}}}"#,
        elicit,
        "{}",
        Some(r#"{"elicitation":{"form":{}}}"#),
    );
}
