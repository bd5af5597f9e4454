//! Tests of client permissions for each entrypoint.

use narrows_gateway::settings::{ClientSettings, EntrypointName};

use super::{ALICE, BOB, RequestForm, WAYS, bearer, guarded, guarded_by, named, only};
use crate::TestGateway;

#[tokio::test]
async fn without_clients_every_entrypoint_ignores_tokens() {
    let gate = TestGateway::start().await;
    gate.gateway.settled().await;
    for (form, _) in WAYS {
        for header in ["Bearer nonsense", "Basic x", ""] {
            let reply = form.go(&gate, &[("authorization", header)]).await;
            assert_eq!(reply.status, form.welcome(), "{form:?} {header}");
        }
        assert_eq!(form.go(&gate, &[]).await.status, form.welcome(), "{form:?}");
    }
}

#[tokio::test]
async fn with_clients_every_entrypoint_requires_a_token() {
    let gate = guarded().await;
    for (form, _) in WAYS {
        let reply = form.go(&gate, &[]).await;
        let expected = r#"401 -32600 "unauthorized" null"#;
        assert_eq!(reply.refusal(), expected, "{form:?}");
        let challenge = reply.header("www-authenticate");
        assert_eq!(challenge, Some(r#"Bearer realm="narrows""#), "{form:?}");
        for token in [ALICE, BOB] {
            let reply = form.go(&gate, &[("authorization", &bearer(token))]).await;
            assert_eq!(reply.status, form.welcome(), "{form:?}: {}", reply.text());
        }
    }
}

#[tokio::test]
async fn wrong_and_missing_tokens_get_different_errors() {
    for (form, _) in WAYS {
        // Wrong tokens are counted per gateway, so each case needs a new one.
        let gate = guarded().await;
        for header in [
            bearer("nrw_wrong"),
            bearer(&ALICE[..ALICE.len() - 1]),
            "Basic x".into(),
        ] {
            let reply = form.go(&gate, &[("authorization", &header)]).await;
            let expected = r#"401 -32600 "unauthorized" null"#;
            assert_eq!(reply.refusal(), expected, "{form:?}");
            let challenge = r#"Bearer realm="narrows", error="invalid_token""#;
            assert_eq!(
                reply.header("www-authenticate"),
                Some(challenge),
                "{form:?}"
            );
        }
    }
}

#[tokio::test]
async fn token_in_the_query_is_ignored() {
    let gate = guarded().await;
    for path in [
        "/ws?token=",
        "/ws?access_token=",
        "/ws?authorization=Bearer%20",
    ] {
        let path: &'static str = format!("{path}{ALICE}").leak();
        let reply = RequestForm::WebSocket(path).go(&gate, &[]).await;
        assert_eq!(reply.status, 401, "{path}");
    }
}

#[tokio::test]
async fn two_tokens_are_rejected() {
    let gate = guarded().await;
    let (alice, bob) = (bearer(ALICE), bearer(BOB));
    for (form, _) in WAYS {
        let both = [("authorization", &*alice), ("authorization", &*bob)];
        let reply = form.go(&gate, &both).await;
        let expected = r#"400 -32600 "repeated_header" null"#;
        assert_eq!(reply.refusal(), expected, "{form:?}");
    }
}

#[tokio::test]
async fn rights_apply_to_the_named_entrypoints() {
    let rights = [
        ("default", EntrypointName::Endpoint("default".into())),
        ("servers/up", EntrypointName::Server("up".into())),
        ("servers/up", EntrypointName::AnyServer),
        ("rpc", EntrypointName::Pruner),
    ];
    for (right, entrypoint) in rights {
        let alice = ClientSettings {
            entrypoints: only([entrypoint]),
            ..named("alice", ALICE)
        };
        let gate = guarded_by(&[alice]).await;
        for (form, needed) in WAYS {
            let reply = form.go(&gate, &[("authorization", &bearer(ALICE))]).await;
            if needed == right {
                assert_eq!(reply.status, form.welcome(), "{right}: {form:?}");
            } else {
                let expected = r#"403 -32600 "endpoint_not_allowed" null"#;
                assert_eq!(reply.refusal(), expected, "{right}: {form:?}");
            }
        }
    }
}

#[tokio::test]
async fn forbidden_and_unknown_servers_look_the_same() {
    let alice = ClientSettings {
        entrypoints: only([EntrypointName::Endpoint("default".into())]),
        ..named("alice", ALICE)
    };
    let gate = guarded_by(&[alice, named("bob", BOB)]).await;
    let client = |token: &str, path: &str| gate.new_client().at(path).with_token(token);
    for kind in ["mcp", "sse", "ws"] {
        for path in ["servers/up", "servers/nowhere"] {
            let path = format!("/{path}/{kind}");
            let reply = client(ALICE, &path).get(None).await.reply().await;
            assert_eq!(reply.status, 403, "{path}");
        }
        let path = format!("/servers/nowhere/{kind}");
        let reply = client(BOB, &path).get(None).await.reply().await;
        assert_eq!(reply.status, 404, "{path}");
    }
    for server in ["up", "nowhere"] {
        let path = format!("/api/mcp-gateway/{server}/rpc");
        let reply = client(ALICE, &path).post(super::PING).await;
        assert_eq!(reply.status, 403);
        let error = super::error(&reply);
        assert_eq!(error["data"]["server_name"], server);
        assert!(error["data"]["known"].is_null(), "{error}");
    }
}

#[tokio::test]
async fn only_allowed_servers_are_named_in_errors() {
    let entrypoints = only([EntrypointName::Server("gone".into())]);
    let alice = ClientSettings {
        entrypoints,
        ..named("alice", ALICE)
    };
    let gate = guarded_by(&[alice, named("bob", BOB)]).await;
    let path = "/api/mcp-gateway/gone/rpc";
    for (token, known) in [(ALICE, 0), (BOB, 1)] {
        let client = gate.new_client().at(path).with_token(token);
        let reply = client.post(super::PING).await;
        let error = super::error(&reply);
        assert_eq!(error["data"]["code"], "unknown_server");
        let named = error["data"]["known"].as_array().expect("a list").len();
        assert_eq!(named, known, "{error}");
    }
}

#[tokio::test]
async fn missing_token_is_anonymous_if_configured() {
    let anonymous = ClientSettings {
        entrypoints: only([EntrypointName::Endpoint("default".into())]),
        ..ClientSettings::named(ClientSettings::ANONYMOUS)
    };
    let gate = guarded_by(&[named("alice", ALICE), anonymous]).await;
    for (form, needed) in WAYS {
        let reply = form.go(&gate, &[]).await;
        match needed {
            "default" => assert_eq!(reply.status, form.welcome(), "{form:?}"),
            _ => assert_eq!(reply.status, 403, "{form:?}"),
        }
        // A request forwarded by a proxy may come from any machine.
        for header in ["x-forwarded-for", "forwarded", "via", "x-real-ip"] {
            let reply = form.go(&gate, &[(header, "for=192.0.2.1")]).await;
            assert_eq!(reply.status, 401, "{form:?} {header}");
        }
    }
    let wrong = [("authorization", "Bearer nrw_wrong")];
    assert_eq!(WAYS[0].0.go(&gate, &wrong).await.status, 401);
}

#[tokio::test]
async fn preflight_needs_no_token() {
    let gate = guarded().await;
    let asks = [
        ("origin", "http://localhost:3000"),
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "authorization,content-type",
        ),
    ];
    for (form, _) in WAYS {
        let (RequestForm::Post(path, _) | RequestForm::Stream(path)) = form else {
            continue;
        };
        let client = gate.new_client().at(path);
        let reply = client.send("OPTIONS", &asks, "").await.reply().await;
        assert_eq!(reply.status, 204, "{path}");
        let allowed = reply.header("access-control-allow-headers");
        assert_eq!(allowed, Some("authorization,content-type"), "{path}");
    }
    // The page can read the error response.
    let origin = [("origin", "http://localhost:3000")];
    let reply = WAYS[0].0.go(&gate, &origin).await;
    assert_eq!(reply.status, 401);
    let allowed = reply.header("access-control-allow-origin");
    assert_eq!(allowed, Some("http://localhost:3000"));
    let exposed = reply.header("access-control-expose-headers");
    assert!(exposed.is_some_and(|names| names.contains("www-authenticate")));
    // WebSockets have no preflight.
    let client = gate.new_client().at("/ws");
    let reply = client.send("OPTIONS", &asks, "").await.reply().await;
    assert_eq!(reply.status, 401);
}
