//! Tests of the explanation of a shaped result.

use std::time::Duration;

use expect_test::{Expect, expect};
use narrows_gateway::ResultTraits;
use narrows_gateway::settings::{Builtin, ServerSettings, Settings, ShapeChoice, UpstreamKind};
use narrows_wire::Raw;
use serde_json::{Value, json};

use super::{CallLimits, lines};

const IN_MEMORY: CallLimits = CallLimits {
    budget: 80_000,
    kept: None,
};

#[track_caller]
fn check(receipt: &Value, terms: CallLimits, expected: Expect) {
    let result = json!({ "content": [], "_meta": { "narrows/receipt": receipt } });
    expected.assert_eq(&described(&result, terms));
}

fn described(result: &Value, terms: CallLimits) -> String {
    let lines = lines(&Raw::from_serialize(result), terms);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn block(at: &str, stages: &[&str], cuts: Value) -> Value {
    json!({
        "at": at, "prune_id": "prn_1", "chars": { "before": 1200345, "after": 79980 },
        "tokens": { "before": 310000, "after": 20100 }, "stages": stages,
        "goal": null, "source": null, "cuts": cuts,
    })
}

fn receipt(blocks: Vec<Value>) -> Value {
    json!({
        "prune_id": "prn_1", "chars": { "before": 1200345, "after": 79980 },
        "tokens": { "before": 310000, "after": 20100 }, "blocks": blocks,
    })
}

#[test]
fn result_pruned_to_a_goal_is_described() {
    let mut pruned = block(
        "content[0].text",
        &["pruned"],
        json!([{ "lines": [201, 5012] }, { "lines": [7, 7] }, { "chars": [1, 500] }]),
    );
    pruned["goal"] = json!("find the retry");
    pruned["source"] = json!("logs");
    check(
        &receipt(vec![pruned]),
        IN_MEMORY,
        expect![[r#"
            budget:     80,000 characters
            shaped:     1,200,345 -> 79,980 characters, ~310,000 -> ~20,100 tokens
              content[0].text: 1,200,345 -> 79,980 characters, ~310,000 -> ~20,100 tokens
                how:  read as logs; pruned to the goal 'find the retry' (from the arguments or --goal)
                cut:  lines 201-5012, line 7, characters 1-500
                back: recover_text prune_id=prn_1
              without `recovery.path`, the whole text is lost when this command exits
        "#]],
    );
}

#[test]
fn every_shaping_stage_is_described() {
    let stages = [
        "compact",
        "toon",
        "base64",
        "rows",
        "pruned",
        "digest",
        "searched",
        "masked",
        "ne\u{1b}w",
    ];
    let all = block("structuredContent", &stages, json!([]));
    let bare = block("content[1].data", &[], json!([]));
    check(
        &receipt(vec![all, bare]),
        CallLimits {
            budget: 5_000,
            kept: Some(Duration::from_secs(3600)),
        },
        expect![[r#"
            budget:     5,000 characters
            shaped:     1,200,345 -> 79,980 characters, ~310,000 -> ~20,100 tokens
              structuredContent: 1,200,345 -> 79,980 characters, ~310,000 -> ~20,100 tokens
                how:  JSON white space removed; as TOON; base64 replaced by a note; rows were cut; pruned; digest of rare and typical parts; searched with find; the middle was cut; ne\u{1b}w
                back: recover_text prune_id=prn_1
              content[1].data: 1,200,345 -> 79,980 characters, ~310,000 -> ~20,100 tokens
                back: recover_text prune_id=prn_1
              `recovery.path` keeps the whole text for 3,600 seconds
        "#]],
    );
}

#[test]
fn large_receipt_is_summarised_in_a_few_lines() {
    let cuts: Vec<Value> = (1..=12)
        .map(|line| json!({ "lines": [line * 10, line * 10 + 5] }))
        .collect();
    let mut long = block("content[0].text", &["pruned"], json!(cuts));
    long["more_cuts"] = json!(1000);
    long["goal"] = json!("x\n".repeat(100));
    let mut blocks = vec![long];
    blocks.extend((1..22).map(|index| block(&format!("content[{index}].text"), &[], json!([]))));
    let result = json!({ "_meta": { "narrows/receipt": receipt(blocks) } });
    let described = described(&result, IN_MEMORY);
    let lines: Vec<&str> = described.lines().collect();
    assert!(
        lines[3].ends_with(r"x\nx\n...' (from the arguments or --goal)"),
        "{}",
        lines[3]
    );
    assert!(
        lines[4].ends_with("lines 100-105 and 1,002 more"),
        "{}",
        lines[4]
    );
    assert_eq!(lines.len(), 2 + 4 + 19 * 2 + 2);
    assert_eq!(lines[lines.len() - 2], "  and 2 more blocks");
}

#[test]
fn result_without_a_receipt_is_reported_as_unshaped() {
    for result in [json!({}), json!({ "_meta": {} }), json!({ "_meta": [1] })] {
        assert_eq!(described(&result, IN_MEMORY), "shaped:     no\n");
    }
}

#[test]
fn invalid_receipt_is_ignored() {
    let whole = receipt(vec![block("a", &["masked"], json!([{ "lines": [1, 2] }]))]);
    let changed = |pointer: &str, value: Value| {
        let mut receipt = whole.clone();
        *receipt.pointer_mut(pointer).expect("it is there") = value;
        receipt
    };
    let wrong = [
        json!(null),
        json!("prn_1"),
        json!([]),
        json!({}),
        changed("/chars", json!(5)),
        changed("/chars/before", json!(-5)),
        changed("/tokens/after", json!(1.5)),
        changed("/blocks", json!({})),
        changed("/blocks/0", json!(null)),
        changed("/blocks/0/stages", json!("masked")),
        changed("/blocks/0/cuts/0", json!({ "lines": [1] })),
        changed("/blocks/0/cuts/0", json!({ "words": [1, 2] })),
    ];
    for receipt in wrong {
        let result = json!({ "_meta": { "narrows/receipt": receipt } });
        assert_eq!(described(&result, IN_MEMORY), "", "{receipt}");
    }
    let deep = format!(
        r#"{{"_meta":{{"narrows/receipt":{}}}}}"#,
        "[".repeat(10_000) + &"]".repeat(10_000)
    );
    let deep = Raw::parse(deep.into_bytes().into()).expect("it is JSON");
    assert!(lines(&deep, IN_MEMORY).is_empty());
}

#[test]
fn tool_overrides_server_overrides_endpoint_overrides_top() {
    let most = |max_chars| ShapeChoice {
        max_chars: Some(max_chars),
        ..ShapeChoice::default()
    };
    let mut settings = Settings::default();
    let kind = UpstreamKind::Builtin(Builtin::Demo);
    settings.upstreams.push(ServerSettings::new("a", kind));
    let traits = |cap| ResultTraits { reads: None, cap };
    let target = Some(("a", "echo"));
    let terms = |settings: &Settings| CallLimits::of(settings, target, traits(usize::MAX));
    assert_eq!(terms(&settings).budget, 16_000);
    settings.shape = most(4_000);
    assert_eq!(terms(&settings).budget, 4_000);
    settings.endpoints[0].shape = most(3_000);
    assert_eq!(terms(&settings).budget, 3_000);
    settings.upstreams[0].shape = most(2_000);
    assert_eq!(terms(&settings).budget, 2_000);
    let tools = &mut settings.upstreams[0].tool_shapes;
    tools.insert("echo".to_owned(), most(1_000));
    tools.insert("other".to_owned(), most(1_500));
    assert_eq!(terms(&settings).budget, 1_000);
    assert_eq!(CallLimits::of(&settings, target, traits(900)).budget, 900);
    let of_endpoint = CallLimits::of(&settings, None, traits(usize::MAX));
    assert_eq!(of_endpoint.budget, 3_000);
    assert_eq!(terms(&settings).kept, None);
    settings.recovery.path = Some("cut".into());
    assert_eq!(terms(&settings).kept, Some(Duration::from_secs(3600)));
}
