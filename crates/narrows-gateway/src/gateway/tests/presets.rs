use narrows_policy::preset::{Preset, Rule};

use super::*;
use crate::SwitchError;

fn preset(id: &str, rules: &[&str]) -> Preset {
    let rule = |text: &&str| Rule::parse(text).expect("a rule");
    Preset::new(id, Some(rules.iter().map(rule).collect()), None, None)
}

fn with(upstream: ServerSettings, presets: Vec<Preset>, default: Option<&str>) -> Settings {
    let mut settings = settings(vec![upstream]);
    settings.presets = presets;
    settings.endpoints[0].preset = default.map(str::to_owned);
    settings
}

#[tokio::test]
async fn preset_switch_notifies_only_affected_sessions() {
    let one = script("one").install();
    let a = server("a", &one);
    let presets = vec![preset("first", &["a/one"]), preset("second", &["a/two"])];
    let gateway = started(with(a.clone(), presets.clone(), None)).await;
    let mut here = TestClient::open(&gateway, Entrypoint::Endpoint("default")).await;
    let mut there = TestClient::open(&gateway, Entrypoint::Endpoint("other")).await;
    for (id, left) in [("first", "a__one"), ("second", "a__two")] {
        let applied = gateway.apply(with(a.clone(), presets.clone(), Some(id)));
        assert_eq!(applied.endpoints, ["default"]);
        assert_eq!(here.tools().await, [left]);
        assert_eq!(here.notices(), [CHANGED]);
    }
    let refused = here.call("a__one").await.expect_err("it is not allowed");
    assert_eq!(refused.as_str(), "not_allowed");
    assert_eq!(there.tools().await, ["a__one", "a__two"]);
    assert_eq!(there.notices(), Vec::<String>::new());
    assert_eq!(one.server_pids().len(), 1, "no server begins anew for it");
    gateway.shutdown().await;
}

#[tokio::test]
async fn preset_change_applies_to_open_sessions() {
    let one = script("one").install();
    let a = server("a", &one);
    let gateway = started(with(a.clone(), vec![preset("p", &["a/one"])], Some("p"))).await;
    let mut client = TestClient::open(&gateway, Entrypoint::Endpoint("default")).await;
    assert_eq!(client.tools().await, ["a__one"]);
    let applied = gateway.apply(with(a.clone(), vec![preset("p", &["a/*"])], Some("p")));
    assert_eq!(applied.presets, ["p"]);
    assert_eq!(client.tools().await, ["a__one", "a__two"]);
    assert_eq!(client.notices(), [CHANGED]);
    // A removed preset allows nothing.
    gateway.apply(with(a, Vec::new(), Some("p")));
    assert_eq!(client.tools().await, Vec::<String>::new());
    gateway.shutdown().await;
}

#[tokio::test]
async fn single_session_can_switch_presets() {
    let one = script("one").install();
    let a = server("a", &one);
    let presets = vec![preset("first", &["a/one"])];
    let gateway = started(with(a.clone(), presets.clone(), None)).await;
    let mut own = TestClient::open(&gateway, Entrypoint::Endpoint("default")).await;
    let mut other = TestClient::open(&gateway, Entrypoint::Endpoint("default")).await;
    let number = own.session.serial();
    assert_eq!(gateway.switch_session(number, Some("first")), Ok(()));
    assert_eq!(own.tools().await, ["a__one"]);
    assert_eq!(own.notices(), [CHANGED]);
    assert_eq!(other.tools().await.len(), 2);
    assert_eq!(other.notices(), Vec::<String>::new());
    let report = gateway.sessions();
    assert_eq!(report[0].own_preset.as_deref(), Some("first"));
    assert_eq!(report[0].presets, ["first"]);
    assert_eq!(report[1].presets, Vec::<String>::new());

    // The chosen preset survives other changes, until it is reset.
    gateway.apply(with(changed(a, "1"), presets, None));
    assert_eq!(own.tools().await, ["a__one"]);
    assert_eq!(gateway.switch_session(number, None), Ok(()));
    assert_eq!(own.tools().await.len(), 2);

    let unknown = SwitchError::UnknownPreset("none".to_owned());
    assert_eq!(gateway.switch_session(number, Some("none")), Err(unknown));
    let unknown = SwitchError::UnknownSession(99);
    assert_eq!(gateway.switch_session(99, None), Err(unknown));
    assert!(gateway.end_session(number) && own.session.is_closed());
    assert!(!gateway.end_session(number));
    gateway.shutdown().await;
}
