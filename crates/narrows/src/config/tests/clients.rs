//! Tests of clients, their tokens and their rights.

use expect_test::expect;
use narrows_gateway::settings::{
    AllowedEntrypoints, ClientSettings, EntrypointName, Rate, TokenDigest,
};

use super::settings::checked;
use super::{check, outcome};
use crate::config::AdminChecked;
use crate::config::clients::written;

/// Returns a file with these clients and one server, `files`.
fn file(clients: &str) -> String {
    format!(
        r#"{{"mcpServers": {{"files": {{"command": "x"}}}}, "presets": {{"review": {{"tools": ["files/*"]}}}},
"clients": {clients}}}"#
    )
}

fn digest(token: &str) -> String {
    written(&TokenDigest::of(token))
}

#[test]
fn client_settings_are_parsed() {
    let (a, b, admin) = (digest("a"), digest("b").to_uppercase(), digest("admin"));
    let b = b.replace("SHA256", "sha256");
    let checked = checked(&format!(
        r#"{{"mcpServers": {{"files": {{"command": "x"}}}}, "presets": {{"review": {{"tools": ["files/*"]}}}},
            "clients": {{
                "cursor": {{"token": "{a}", "endpoints": ["default", "lazy", "servers/files", "servers/*", "rpc"],
                            "preset": "review", "rate": {{"per_minute": 600, "burst": 60}},
                            "max_calls": 16, "max_sessions": 8}},
                "x.Y_z-1": {{"token": "{b}", "rate": 25}},
                "anonymous": {{"endpoints": ["default"], "rate": {{"per_minute": 5}}}}}},
            "admin": {{"token": "{admin}", "remote": true, "open_metrics": true}}}}"#
    ));
    let cursor = ClientSettings {
        token: Some(TokenDigest::of("a")),
        entrypoints: AllowedEntrypoints::These(vec![
            EntrypointName::Endpoint("default".into()),
            EntrypointName::Endpoint("lazy".into()),
            EntrypointName::Server("files".into()),
            EntrypointName::AnyServer,
            EntrypointName::Pruner,
        ]),
        preset: Some("review".into()),
        rate: Some(Rate {
            per_minute: 600,
            burst: 60,
        }),
        max_calls: Some(16),
        max_sessions: Some(8),
        ..ClientSettings::named("cursor")
    };
    let other = ClientSettings {
        token: Some(TokenDigest::of("b")),
        rate: Some(Rate {
            per_minute: 25,
            burst: 2,
        }),
        ..ClientSettings::named("x.Y_z-1")
    };
    let anonymous = ClientSettings {
        entrypoints: AllowedEntrypoints::These(vec![EntrypointName::Endpoint("default".into())]),
        rate: Some(Rate {
            per_minute: 5,
            burst: 1,
        }),
        ..ClientSettings::named("anonymous")
    };
    assert_eq!(checked.gateway.clients, [cursor, other, anonymous]);
    let admin = AdminChecked {
        token: Some(TokenDigest::of("admin")),
        remote: true,
        open_metrics: true,
    };
    assert_eq!(checked.admin, admin);
}

#[test]
fn without_clients_access_is_open_and_admin_local() {
    let checked = checked(r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    assert_eq!(checked.gateway.clients, []);
    assert_eq!(checked.admin, AdminChecked::default());
    check(
        &file("{}"),
        expect![[r#"
            warning: narrows.json:2:12: `clients` is empty, so anyone who can reach the gateway may use it
              path: clients
              help: `narrows token NAME` creates a token for a client
            files stdio "x" [] Newline
        "#]],
    );
}

#[test]
fn invalid_digest_is_not_repeated() {
    let token = "nrw_Jq2mVx8ZkR4cY7wP1nLs6Jd3GfH5aUeB0oCiM9tXyz1";
    let short = &digest("x")[..70];
    let other = digest("x").replace("sha256", "md5");
    for wrong in [
        token,
        &token[4..],
        short,
        &other,
        "",
        "${NARROWS_TOKEN}",
        "sha256:é",
    ] {
        let reported = outcome(&file(&format!(r#"{{"a": {{"token": "{wrong}"}}}}"#)));
        assert!(reported.starts_with("error: "), "{reported}");
        assert!(reported.contains("`narrows token --hash`"), "{reported}");
        assert!(wrong.is_empty() || !reported.contains(wrong), "{reported}");
        let reported = outcome(&format!(
            r#"{{"mcpServers": {{"a": {{"command": "x"}}}}, "admin": {{"token": "{wrong}"}}}}"#
        ));
        assert!(reported.contains("`narrows token --hash`"), "{reported}");
        assert!(wrong.is_empty() || !reported.contains(wrong), "{reported}");
    }
}

#[test]
fn invalid_clients_are_reported() {
    let (a, empty) = (digest("a"), digest(""));
    check(
        &file(&format!(
            r#"{{
"none": {{}},
"anonymous": {{"token": "{a}"}},
"one": {{"token": "{a}"}},
"two": {{"token": "{a}"}},
"empty": {{"token": "{empty}"}},
"a b": {{"token": 5}},
"": [],
"limits": {{"token": "sha256:", "max_call": 1, "max_calls": 0, "max_sessions": -1, "rate": 0}},
"rates": {{"token": null, "rate": {{"burst": 2}}, "preset": "revue"}},
"more": {{"rate": {{"per_minute": 5, "burst": 0, "per_hour": 1}}, "endpoints": "default"}},
"much": {{"rate": 1000001}},
"text": {{"rate": "often"}}}}"#
        )),
        expect![[r#"
            error: narrows.json:3:1: a client needs a token
              path: clients.none
              help: `narrows token NAME` creates one; only `anonymous` has none
            error: narrows.json:4:24: `anonymous` stands for clients without a token, so it cannot have one
              path: clients.anonymous.token
              help: give the client another name
            error: narrows.json:6:18: client `one` has the same token
              path: clients.two.token
              help: give each client its own token; `narrows token` creates one
            error: narrows.json:7:20: this is the digest of an empty token
              path: clients.empty.token
              help: `narrows token` creates a token
            error: narrows.json:8:1: this is not a valid client name
              path: clients["a b"]
              help: use 1 to 64 letters, digits, dots, underscores or dashes
            error: narrows.json:8:18: expected a string, found a number
              path: clients["a b"].token
              help: put the value in quotes
            error: narrows.json:9:5: expected an object, found an array
              path: clients[""]
            error: narrows.json:10:21: this is not the digest of a token; tokens themselves do not belong here
              path: clients.limits.token
              help: write "sha256:" and 64 hex digits; `narrows token --hash` prints the digest of a token
            error: narrows.json:10:32: unknown key `max_call`
              path: clients.limits.max_call
              help: did you mean `max_calls`?
            error: narrows.json:10:60: this limit must be at least 1
              path: clients.limits.max_calls
              help: to lock a client out, remove it
            error: narrows.json:10:79: expected a whole number, 0 or more
              path: clients.limits.max_sessions
            error: narrows.json:10:91: a rate must be 1 to 1000000 requests
              path: clients.limits.rate
            error: narrows.json:11:1: a client needs a token
              path: clients.rates
              help: `narrows token NAME` creates one; only `anonymous` has none
            error: narrows.json:11:34: `per_minute` is missing
              path: clients.rates.rate
              help: write {"per_minute": 600, "burst": 60}
            error: narrows.json:11:58: there is no preset `revue`
              path: clients.rates.preset
              help: did you mean `review`?
            error: narrows.json:12:1: a client needs a token
              path: clients.more
              help: `narrows token NAME` creates one; only `anonymous` has none
            error: narrows.json:12:18: a rate must be 1 to 1000000 requests
              path: clients.more.rate
            error: narrows.json:12:48: unknown key `per_hour`
              path: clients.more.rate.per_hour
            error: narrows.json:12:77: expected an array of strings, found a string
              path: clients.more.endpoints
              help: put the value in brackets: ["..."]
            error: narrows.json:13:1: a client needs a token
              path: clients.much
              help: `narrows token NAME` creates one; only `anonymous` has none
            error: narrows.json:13:18: a rate must be 1 to 1000000 requests
              path: clients.much.rate
            error: narrows.json:14:1: a client needs a token
              path: clients.text
              help: `narrows token NAME` creates one; only `anonymous` has none
            error: narrows.json:14:18: expected a number or an object, found a string
              path: clients.text.rate
        "#]],
    );
}

#[test]
fn unknown_and_invalid_entrypoints_are_reported() {
    let a = digest("a");
    check(
        &file(&format!(
            r#"{{"a": {{"token": "{a}", "endpoints": ["defualt", "servers/file", "servers/x", "nowhere"]}}}}"#
        )),
        expect![[r#"
            warning: narrows.json:2:117: no endpoint is called `defualt`
              path: clients.a.endpoints[0]
              help: did you mean `default`?
            warning: narrows.json:2:128: no server is called `file`
              path: clients.a.endpoints[1]
              help: did you mean `servers/files`?
            warning: narrows.json:2:144: no server is called `x`
              path: clients.a.endpoints[2]
            warning: narrows.json:2:157: no endpoint is called `nowhere`
              path: clients.a.endpoints[3]
            files stdio "x" [] Newline
        "#]],
    );
    check(
        &file(&format!(
            r#"{{"a": {{"token": "{a}", "endpoints": ["/mcp", "servers/", "", "mcp/lazy"]}},
"b": {{"token": "{}", "endpoints": []}}}}"#,
            digest("b")
        )),
        expect![[r#"
            error: narrows.json:2:117: `/mcp` is not an endpoint
              path: clients.a.endpoints[0]
              help: write the name of an endpoint (`default` is at /mcp), servers/ID, servers/* or rpc
            error: narrows.json:2:125: `servers/` is not an endpoint
              path: clients.a.endpoints[1]
              help: write the name of an endpoint (`default` is at /mcp), servers/ID, servers/* or rpc
            error: narrows.json:2:137: `` is not an endpoint
              path: clients.a.endpoints[2]
              help: write the name of an endpoint (`default` is at /mcp), servers/ID, servers/* or rpc
            error: narrows.json:2:141: `mcp/lazy` is not an endpoint
              path: clients.a.endpoints[3]
              help: write the name of an endpoint (`default` is at /mcp), servers/ID, servers/* or rpc
            warning: narrows.json:3:104: this client may not use any endpoint
              path: clients.b.endpoints
              help: leave `endpoints` out to allow all of them
        "#]],
    );
}

#[test]
fn token_must_be_unique() {
    let a = digest("a");
    let text = file(&format!(
        r#"{{"a": {{"token": "{a}"}}}}, "admin": {{"token": "{a}", "remot": true}}"#
    ));
    check(
        &text,
        expect![[r#"
        error: narrows.json:2:124: client `a` has the same token
          path: admin.token
          help: `narrows token --admin` creates an admin token
        error: narrows.json:2:199: unknown key `remot`
          path: admin.remot
          help: did you mean `remote`?
    "#]],
    );
}

#[test]
fn number_of_clients_is_limited() {
    let clients = |count: usize| {
        let client = |n: usize| format!(r#""c{n}": {{"token": "{}"}}"#, digest(&n.to_string()));
        let all: Vec<String> = (0..count).map(client).collect();
        file(&format!("{{{}}}", all.join(",\n")))
    };
    assert!(!outcome(&clients(1_000)).contains("error"));
    let reported = outcome(&clients(1_001));
    assert!(
        reported.contains("there are more than 1000 clients"),
        "{reported}"
    );
}

#[test]
fn documented_example_has_no_warnings() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/access.md"));
    let (_, rest) = page.split_once("```jsonc\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let reported = outcome(example);
    let words = ["error: ", "warning: ", "note: "];
    assert!(
        !words.iter().any(|word| reported.contains(word)),
        "{reported}"
    );
    assert_eq!(checked(example).gateway.clients.len(), 2);
}
