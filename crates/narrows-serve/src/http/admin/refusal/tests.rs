use axum::response::IntoResponse as _;
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use narrows_gateway::SwitchError;
use narrows_gateway::settings::Transport;
use utoipa::PartialSchema as _;

use super::{ErrorCode, Refusal};
use crate::admin::{LeftOutServer, Rejected};
use crate::error::Refused;

fn all() -> Vec<Refusal> {
    let (kind, name) = ("server", "files".to_owned());
    vec![
        Refusal::Edge(Refused::Host),
        Refusal::Edge(Refused::Origin),
        Refusal::Edge(Refused::UnknownPath),
        Refusal::Edge(Refused::Method),
        Refusal::Edge(Refused::RepeatedHeader),
        Refusal::Edge(Refused::ContentType),
        Refusal::Edge(Refused::TooLarge { max: 1 }),
        Refusal::Edge(Refused::TooSlow),
        Refusal::Edge(Refused::Unreadable),
        Refusal::Malformed("no".into()),
        Refusal::NoToken,
        Refusal::WrongToken,
        Refusal::NotLocal,
        Refusal::TooManyWrongTokens,
        Refusal::TooManyListeners,
        Refusal::Unknown {
            kind,
            name: name.clone(),
        },
        Refusal::Disabled("files".into()),
        Refusal::LeftOut(LeftOutServer {
            id: "files".into(),
            place: 0,
            transport: Transport::Stdio,
            reason: "no TOKEN".into(),
        }),
        Refusal::Rejected(Rejected::Unknown {
            kind,
            name: name.clone(),
        }),
        Refusal::Rejected(Rejected::Exists { kind, name }),
        Refusal::Rejected(Rejected::Invalid(vec!["one".into(), "two".into()])),
        Refusal::Rejected(Rejected::NoFile),
        Refusal::Rejected(Rejected::Unwritable("disk full".into())),
        Refusal::Broken,
    ]
}

#[test]
fn every_refusal_has_a_status_code_and_message() {
    let line = |refusal: &Refusal| {
        let status = refusal.status().as_u16();
        format!("{status} {} {}\n", refusal.code(), refusal.message())
    };
    let lines: String = all().iter().map(line).collect();
    expect_test::expect![[r#"
        403 forbidden Host is not allowed (see allowed_hosts)
        403 forbidden Origin is not allowed (see allowed_origins)
        404 unknown There is no such path
        405 method Method is not allowed at this path
        400 malformed A header that must be unique is repeated
        415 content_type Content-Type must be application/json
        413 too_large Message is larger than 1 bytes
        408 too_slow Request body arrived too slowly: it must not fall behind 16 KiB per second
        400 malformed Request body ended early
        400 malformed no
        401 unauthorized an admin token is required: `Authorization: Bearer nra_…`
        401 unauthorized the admin token is not valid
        403 forbidden the admin API accepts only clients on this machine (see admin.remote)
        429 too_many 8 requests with wrong tokens are already waiting; try again later
        429 too_many 16 clients already read the event stream; try again later
        404 unknown there is no server 'files'
        409 disabled server 'files' is disabled
        409 left_out server 'files' cannot be started: no TOKEN
        404 unknown there is no server 'files'
        409 exists server 'files' already exists
        422 invalid the resulting configuration would be invalid
        409 no_file there is no configuration file to write to
        500 unwritable the configuration file cannot be written: disk full
        500 internal the change did not complete; see the log
    "#]]
    .assert_eq(&lines);
}

#[test]
fn every_error_code_is_in_the_api_description() {
    let described = serde_json::to_value(ErrorCode::schema()).expect("JSON");
    let described = described["enum"].as_array().expect("words").clone();
    let body: Vec<_> = all().iter().map(|refusal| refusal.code()).collect();
    for word in &body {
        assert!(described.iter().any(|known| known == word), "{word}");
    }
    for word in &described {
        assert!(body.iter().any(|body| word == body), "{word}");
    }
}

#[test]
fn problems_are_listed_separately() {
    for refusal in all() {
        let body = serde_json::to_value(refusal.to_body()).expect("JSON");
        let problems = &body["error"]["problems"];
        match refusal {
            Refusal::Rejected(Rejected::Invalid(_)) => {
                assert_eq!(*problems, serde_json::json!(["one", "two"]));
            }
            _ => assert!(problems.is_null(), "{body}"),
        }
    }
}

#[test]
fn refusals_set_authenticate_and_retry_after_headers() {
    let answer = Refusal::WrongToken.into_response();
    assert_eq!(answer.headers()[WWW_AUTHENTICATE], "Bearer");
    assert!(!answer.headers().contains_key(RETRY_AFTER));
    let answer = Refusal::TooManyListeners.into_response();
    assert_eq!(answer.headers()[RETRY_AFTER], "1");
    assert!(!answer.headers().contains_key(WWW_AUTHENTICATE));
}

#[test]
fn unknown_preset_and_session_are_named() {
    let refusal = Refusal::from(SwitchError::UnknownPreset("dev".into()));
    assert_eq!(refusal.message(), "there is no preset 'dev'");
    let refusal = Refusal::from(SwitchError::UnknownSession(7));
    assert_eq!(refusal.message(), "there is no session '7'");
}
