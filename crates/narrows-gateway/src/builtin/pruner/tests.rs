//! Tests of the pruner's contract, with engines that fail in different ways.

use std::sync::mpsc;
use std::time::Duration;

use narrows_shape::prune::{OutOfTime, Ranking, SourceType};
use serde_json::{Value, json};

use super::*;
use crate::builtin::tests::TestConnection;

const TEN: &str = "l1\nl2\nl3\nl4\nl5\nl6\nl7\nl8\nl9\nl10\n";

fn pruner() -> Pruner {
    Pruner::in_memory(PrunerSettings::default(), &RecoverySettings::default())
}

fn with_engine(engine: impl Engine + 'static) -> Pruner {
    let store = Arc::new(MemoryStore::new(&RecoverySettings::default()));
    Pruner::new(Arc::new(engine), store, PrunerSettings::default())
}

fn prune_arguments(text: &str, options: Value) -> Value {
    let mut all = json!({ "max_prune_ratio": 0.5, "min_keep_lines": 0, "timeout_ms": 5000,
        "annotate_lines": false, "include_markers": true });
    for (key, value) in options.as_object().expect("an object") {
        all[key] = value.clone();
    }
    json!({ "text": text, "goal_hint": "l2", "source_type": "docs", "options": all })
}

async fn call(pruner: &Pruner, tool: &str, arguments: Value) -> Result<Value, PrunerError> {
    let arguments = Raw::from_serialize(&arguments);
    let result: Value = pruner
        .call(&Owner::pruner(None), tool, Some(arguments))
        .await?
        .decode()
        .expect("an object");
    let text = result["content"][0]["text"].as_str().expect("a text");
    let answer: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(answer, result["structuredContent"]);
    Ok(answer)
}

async fn prune(pruner: &Pruner, text: &str, options: Value) -> Value {
    let answer = call(pruner, "prune_text", prune_arguments(text, options)).await;
    answer.expect("pruning does not fail")
}

async fn recover(pruner: &Pruner, id: &Value, ranges: Value) -> Result<Value, PrunerError> {
    let arguments = json!({ "prune_id": id, "ranges": ranges, "include_line_numbers": false });
    call(pruner, "recover_text", arguments).await
}

#[tokio::test]
async fn pruned_text_is_recovered_only_by_its_client() {
    let pruner = pruner();
    let arguments = Raw::from_serialize(&prune_arguments(TEN, json!({})));
    let alice = Owner::pruner(Some("alice"));
    let pruned = pruner.call(&alice, "prune_text", Some(arguments)).await;
    let pruned: Value = pruned.unwrap().decode().unwrap();
    let id = &pruned["structuredContent"]["prune_id"];
    let ranges = json!([{ "start_line": 1, "end_line": 1 }]);
    let wanted = json!({ "prune_id": id, "ranges": ranges, "include_line_numbers": false });
    let wanted = Raw::from_serialize(&wanted);
    for (owner, readable) in [
        (alice, true),
        (Owner::pruner(Some("bob")), false),
        (Owner::pruner(None), false),
    ] {
        let read = pruner
            .call(&owner, "recover_text", Some(wanted.clone()))
            .await;
        assert_eq!(read.is_ok(), readable, "{owner:?}");
    }
}

/// The gateway names the client of each request on the shared link.
#[tokio::test]
async fn clients_of_one_link_cannot_read_each_others_texts() {
    let mut wire = TestConnection::open(PrunerServer(Arc::new(pruner())), json!({})).await;
    let mut tool = async |client: &str, name: &str, arguments: Value| {
        let meta = json!({ "narrows/principal": client });
        let params = json!({ "name": name, "arguments": arguments, "_meta": meta });
        wire.ask(1, "tools/call", params).await
    };
    let pruned = tool("alice", "prune_text", prune_arguments(TEN, json!({}))).await;
    let ranges = json!([{ "start_line": 1, "end_line": 1 }]);
    let wanted = json!({ "prune_id": pruned["structuredContent"]["prune_id"], "ranges": ranges,
        "include_line_numbers": false });
    for (client, readable) in [("alice", true), ("bob", false)] {
        let read = tool(client, "recover_text", wanted.clone()).await;
        assert_eq!(read["isError"] != true, readable, "{client}: {read}");
    }
}

/// Checks that the text is returned unchanged, with the warning.
#[track_caller]
fn check_fallback(answer: &Value, text: &str, warning: &str) {
    assert_eq!(answer["pruned_text"], text);
    assert_eq!(answer["annotations"], json!([]));
    assert_eq!(answer["stats"]["used_fallback"], true);
    assert_eq!(answer["stats"]["pruned_lines"], 0);
    assert_eq!(answer["warnings"], json!([warning]));
}

#[tokio::test]
async fn pruned_text_can_be_recovered() {
    let pruner = pruner();
    let answer = prune(&pruner, TEN, json!({})).await;
    let stats = &answer["stats"];
    assert_eq!(stats["original_lines"], 10);
    assert_eq!(stats["used_fallback"], false);
    assert_eq!(answer["warnings"], json!([]));
    let (kept, pruned) = (&stats["kept_lines"], &stats["pruned_lines"]);
    assert_eq!(kept.as_u64().unwrap() + pruned.as_u64().unwrap(), 10);
    assert!(pruned.as_u64().unwrap() > 0, "{answer}");
    let id = &answer["prune_id"];
    let all: Vec<&str> = TEN.lines().collect();
    for block in answer["annotations"].as_array().unwrap() {
        let [start, end] = ["original_start_line", "original_end_line"].map(|key| &block[key]);
        let ranges = json!([{ "start_line": start, "end_line": end }]);
        let recovered = recover(&pruner, id, ranges).await.unwrap();
        let (start, end) = (
            start.as_u64().unwrap() as usize,
            end.as_u64().unwrap() as usize,
        );
        assert_eq!(recovered["raw_text"], all[start - 1..end].join("\n"));
        assert_eq!(block["pruned_line_count"], end - start + 1);
        let text = answer["pruned_text"].as_str().unwrap();
        assert!(text.contains(block["marker"].as_str().unwrap()));
    }
}

#[tokio::test]
async fn ranges_are_returned_in_order_and_clamped() {
    let pruner = pruner();
    let id = prune(&pruner, "a\r\nb\nc", json!({})).await["prune_id"].take();
    let arguments = json!({ "prune_id": id, "include_line_numbers": true, "ranges":
        [{ "start_line": 3, "end_line": 99 }, { "start_line": 1, "end_line": 2.0 }] });
    let answer = call(&pruner, "recover_range", arguments).await.unwrap();
    assert_eq!(
        answer,
        json!({
            "raw_text": "3│ c\n1│ a\r\n2│ b",
            "metadata": {
                "prune_id": id,
                "ranges": [{ "start_line": 3, "end_line": 3 }, { "start_line": 1, "end_line": 2 }],
                "line_numbering": "original",
                "total_lines": 3,
                "ends_with_newline": false,
            },
        })
    );
    let none = recover(&pruner, &id, json!([])).await.unwrap();
    assert_eq!(none["raw_text"], "");
}

#[tokio::test]
async fn ranges_outside_the_text_are_rejected() {
    let pruner = pruner();
    let id = prune(&pruner, TEN, json!({})).await["prune_id"].take();
    let enormous = 1e300;
    for (start, end) in [
        (json!(3), json!(2)),
        (json!(0), json!(2)),
        (json!(-1), json!(-1)),
        (json!(1), json!(0)),
        (json!(11), json!(12)),
        (json!(enormous), json!(enormous)),
    ] {
        let ranges =
            json!([{ "start_line": 1, "end_line": 1 }, { "start_line": start, "end_line": end }]);
        let answer = recover(&pruner, &id, ranges.clone()).await;
        assert_eq!(
            answer,
            Err(PrunerError::InvalidRange { max_line: 10 }),
            "{ranges}"
        );
        // The receipt is checked before the ranges.
        let unknown = recover(&pruner, &json!("prn_nope"), ranges).await;
        assert_eq!(unknown, Err(PrunerError::NotFound("prn_nope".into())));
    }
    let ranges = json!([{ "start_line": 10, "end_line": enormous }]);
    assert_eq!(
        recover(&pruner, &id, ranges).await.unwrap()["raw_text"],
        "l10"
    );
}

#[tokio::test]
async fn overlapping_ranges_over_the_size_limit_are_rejected() {
    let pruner = pruner();
    let text = "x".repeat(1_000_000);
    let id = prune(&pruner, &text, json!({})).await["prune_id"].take();
    let ranges = vec![json!({ "start_line": 1, "end_line": 1 }); 40];
    let answer = recover(&pruner, &id, json!(ranges)).await;
    assert!(
        matches!(answer, Err(PrunerError::Arguments(_))),
        "{answer:?}"
    );
}

#[tokio::test]
async fn arguments_must_match_the_schema() {
    let pruner = pruner();
    let good = prune_arguments("a", json!({}));
    let refused = async |change: &dyn Fn(&mut Value), expected: &str| {
        let mut arguments = good.clone();
        change(&mut arguments);
        let answer = call(&pruner, "prune_text", arguments).await;
        assert_eq!(answer, Err(PrunerError::Arguments(expected.into())));
    };
    let remove = |key: &'static str| {
        move |arguments: &mut Value| drop(arguments.as_object_mut().unwrap().remove(key))
    };
    refused(&remove("text"), "Missing argument 'text' of 'prune_text'").await;
    refused(
        &remove("options"),
        "Missing argument 'options' of 'prune_text'",
    )
    .await;
    refused(
        &|all| all["text"] = json!(5),
        "Argument 'text' must be a string, not 5",
    )
    .await;
    let half = r#"{"text":"a\ud800b","goal_hint":"","source_type":"docs","options":{}}"#;
    let half = pruner
        .call(
            &Owner::pruner(None),
            "prune_text",
            Some(Raw::parse(half.into()).unwrap()),
        )
        .await;
    assert!(matches!(half, Err(PrunerError::Arguments(_))), "{half:?}");
    refused(
        &|all| all["zzz"] = json!(5),
        "Unknown argument 'zzz': 'prune_text' takes text, goal_hint, source_type, options",
    )
    .await;
    refused(
        &|all| all["source_type"] = json!("html"),
        "Argument 'source_type': 'html' is not one of code, logs, docs",
    )
    .await;
    for (option, value, expected) in [
        (
            "max_prune_ratio",
            json!(1.5),
            "Argument 'max_prune_ratio' must be a number from 0 to 1, not 1.5",
        ),
        (
            "max_prune_ratio",
            json!("0"),
            "Argument 'max_prune_ratio' must be a number from 0 to 1, not \"0\"",
        ),
        (
            "min_keep_lines",
            json!(-1),
            "Argument 'min_keep_lines' must be a whole number of at least 0, not -1",
        ),
        (
            "min_keep_lines",
            json!(1.5),
            "Argument 'min_keep_lines' must be a whole number of at least 0, not 1.5",
        ),
        (
            "timeout_ms",
            json!(0),
            "Argument 'timeout_ms' must be a whole number of at least 1, not 0",
        ),
        (
            "annotate_lines",
            json!(1),
            "Argument 'annotate_lines' must be true or false, not 1",
        ),
        (
            "include_markers",
            json!(null),
            "Argument 'include_markers' must be true or false, not null",
        ),
    ] {
        refused(&|all| all["options"][option] = value.clone(), expected).await;
    }
    let answer = call(&pruner, "health", json!({ "x": 1 })).await;
    assert!(matches!(answer, Err(PrunerError::Arguments(_))));
    let answer = call(&pruner, "zzz", json!({})).await;
    assert_eq!(answer, Err(PrunerError::UnknownTool("zzz".into())));
    for arguments in [
        json!({ "prune_id": "x", "ranges": [5], "include_line_numbers": false }),
        json!({ "prune_id": "x", "ranges": {}, "include_line_numbers": false }),
        json!({ "prune_id": "x", "ranges": [{ "start_line": 1 }], "include_line_numbers": false }),
        json!({ "prune_id": "x", "ranges": [{ "start_line": 1, "end_line": "2" }], "include_line_numbers": false }),
        json!({ "prune_id": "x", "ranges": [{ "start_line": 1, "end_line": 2, "z": 3 }], "include_line_numbers": false }),
        json!({ "prune_id": "x", "ranges": [] }),
    ] {
        let answer = call(&pruner, "recover_text", arguments.clone()).await;
        assert!(
            matches!(answer, Err(PrunerError::Arguments(_))),
            "{arguments}: {answer:?}"
        );
    }
}

#[tokio::test]
async fn min_keep_lines_above_the_line_count_cuts_nothing() {
    let pruner = pruner();
    let answer = prune(&pruner, TEN, json!({ "min_keep_lines": 11 })).await;
    check_fallback(&answer, TEN, "constraints_unmet");
    let ranges = json!([{ "start_line": 10, "end_line": 10 }]);
    let recovered = recover(&pruner, &answer["prune_id"], ranges).await.unwrap();
    assert_eq!(recovered["raw_text"], "l10");
}

#[tokio::test]
async fn nothing_to_prune_is_not_a_fallback() {
    let pruner = pruner();
    let guarded = format!("⟦NO_PRUNE_BEGIN⟧\n{TEN}⟦NO_PRUNE_END⟧");
    for (text, options) in [
        (TEN, json!({ "max_prune_ratio": 0 })),
        (TEN, json!({ "min_keep_lines": 10 })),
        (&guarded, json!({ "max_prune_ratio": 0.9 })),
        ("", json!({})),
    ] {
        let answer = prune(&pruner, text, options).await;
        assert_eq!(answer["pruned_text"], text);
        assert_eq!(answer["stats"]["used_fallback"], false, "{answer}");
        assert_eq!(answer["warnings"], json!([]));
    }
}

#[tokio::test]
async fn oversized_text_is_not_pruned() {
    let settings = PrunerSettings { max_input_chars: 9 };
    let pruner = Pruner::in_memory(settings, &RecoverySettings::default());
    // The limit counts characters, not bytes.
    let fits = "é\né\né\né\né";
    assert_eq!(
        prune(&pruner, fits, json!({})).await["stats"]["used_fallback"],
        false
    );
    let answer = prune(&pruner, "é\né\né\né\né\n", json!({})).await;
    check_fallback(&answer, "é\né\né\né\né\n", "input_too_large");
    let ranges = json!([{ "start_line": 5, "end_line": 5 }]);
    let recovered = recover(&pruner, &answer["prune_id"], ranges).await.unwrap();
    assert_eq!(recovered["raw_text"], "é");
}

#[tokio::test]
async fn text_that_cannot_be_stored_is_not_pruned() {
    let recovery = RecoverySettings {
        max_bytes: 10,
        ..RecoverySettings::default()
    };
    let pruner = Pruner::in_memory(PrunerSettings::default(), &recovery);
    let answer = prune(&pruner, TEN, json!({})).await;
    check_fallback(&answer, TEN, "recovery_unavailable");
    let id = answer["prune_id"].as_str().unwrap();
    assert!(id.starts_with("prn_"));
    let lost = recover(&pruner, &answer["prune_id"], json!([])).await;
    assert_eq!(lost, Err(PrunerError::NotFound(id.into())));
}

/// An engine that runs until its deadline, ignores its deadline, or panics.
struct MisbehavingEngine {
    misbehaviour: Misbehaviour,
    /// True if the engine claims that short texts take no time.
    claims_to_be_quick: bool,
}

enum Misbehaviour {
    KeepsDeadline,
    /// Runs until the sender is dropped.
    IgnoresDeadline(std::sync::Mutex<mpsc::Receiver<()>>),
    Panics,
}

impl Engine for MisbehavingEngine {
    fn rank(
        &self,
        lines: &Lines<'_>,
        _goal: &str,
        _source: SourceType,
        deadline: &Deadline<'_>,
    ) -> Result<Ranking, OutOfTime> {
        match &self.misbehaviour {
            Misbehaviour::KeepsDeadline => loop {
                deadline.check()?;
            },
            Misbehaviour::IgnoresDeadline(until) => {
                let _ = until.lock().unwrap().recv();
                Ok(Ranking::by_worth(vec![0.0; lines.len()]))
            }
            Misbehaviour::Panics => panic!("an engine that breaks"),
        }
    }

    fn quick_up_to(&self) -> usize {
        if self.claims_to_be_quick { 1_000 } else { 0 }
    }
}

#[tokio::test]
async fn failing_engines_prune_nothing() {
    let (hold, held) = mpsc::channel();
    for (misbehaviour, claims_to_be_quick, limit, warning) in [
        (Misbehaviour::KeepsDeadline, false, 20, "timeout"),
        (Misbehaviour::KeepsDeadline, true, 20, "timeout"),
        (
            Misbehaviour::IgnoresDeadline(held.into()),
            false,
            20,
            "timeout",
        ),
        (Misbehaviour::Panics, false, 60_000, "internal_error"),
        (Misbehaviour::Panics, true, 60_000, "internal_error"),
    ] {
        let pruner = with_engine(MisbehavingEngine {
            misbehaviour,
            claims_to_be_quick,
        });
        let answer = prune(&pruner, TEN, json!({ "timeout_ms": limit })).await;
        check_fallback(&answer, TEN, warning);
        let ranges = json!([{ "start_line": 1, "end_line": 1 }]);
        let recovered = recover(&pruner, &answer["prune_id"], ranges).await.unwrap();
        assert_eq!(recovered["raw_text"], "l1");
    }
    drop(hold);
}

#[tokio::test]
async fn maximum_timeout_is_accepted() {
    let answer = prune(&pruner(), TEN, json!({ "timeout_ms": u64::MAX })).await;
    assert_eq!(answer["stats"]["used_fallback"], false);
}

#[tokio::test(start_paused = true)]
async fn texts_expire() {
    let recovery = RecoverySettings {
        ttl: Duration::from_secs(600),
        ..RecoverySettings::default()
    };
    let pruner = Pruner::in_memory(PrunerSettings::default(), &recovery);
    let id = prune(&pruner, TEN, json!({})).await["prune_id"].take();
    tokio::time::advance(Duration::from_secs(599)).await;
    assert!(recover(&pruner, &id, json!([])).await.is_ok());
    tokio::time::advance(Duration::from_secs(1)).await;
    let gone = PrunerError::NotFound(id.as_str().unwrap().into());
    assert_eq!(recover(&pruner, &id, json!([])).await, Err(gone));
}

#[tokio::test]
async fn text_is_not_pruned_if_the_store_is_disabled() {
    let recovery = RecoverySettings {
        ttl: Duration::ZERO,
        ..RecoverySettings::default()
    };
    let pruner = Pruner::in_memory(PrunerSettings::default(), &recovery);
    let answer = prune(&pruner, TEN, json!({})).await;
    check_fallback(&answer, TEN, "recovery_unavailable");
}

/// Clients rely on these schemas, so they must not change.
#[test]
fn input_schemas_match_the_document() {
    let list: Value = pruner().tools().decode().unwrap();
    let options = json!({
        "type": "object",
        "properties": {
            "max_prune_ratio": { "type": "number", "minimum": 0, "maximum": 1 },
            "min_keep_lines": { "type": "integer", "minimum": 0 },
            "timeout_ms": { "type": "integer", "minimum": 1 },
            "annotate_lines": { "type": "boolean" },
            "include_markers": { "type": "boolean" },
        },
        "required": ["max_prune_ratio", "min_keep_lines", "timeout_ms", "annotate_lines", "include_markers"],
        "additionalProperties": false,
    });
    assert_eq!(
        list["tools"][0]["inputSchema"],
        json!({
            "type": "object",
            "properties": {
                "text": { "type": "string" },
                "goal_hint": { "type": "string" },
                "source_type": { "type": "string", "enum": ["code", "logs", "docs"] },
                "options": options,
            },
            "required": ["text", "goal_hint", "source_type", "options"],
            "additionalProperties": false,
        })
    );
    let range = json!({
        "type": "object",
        "properties": {
            "start_line": { "type": "integer", "minimum": 1 },
            "end_line": { "type": "integer", "minimum": 1 },
        },
        "required": ["start_line", "end_line"],
        "additionalProperties": false,
    });
    assert_eq!(
        list["tools"][1]["inputSchema"],
        json!({
            "type": "object",
            "properties": {
                "prune_id": { "type": "string" },
                "ranges": { "type": "array", "items": range },
                "include_line_numbers": { "type": "boolean" },
            },
            "required": ["prune_id", "ranges", "include_line_numbers"],
            "additionalProperties": false,
        })
    );
}

#[tokio::test]
async fn pruner_works_over_mcp() {
    let mut wire = TestConnection::open(PrunerServer(Arc::new(pruner())), json!({})).await;
    let list = wire.ask(1, "tools/list", json!({})).await;
    let names: Vec<&str> = list["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["prune_text", "recover_text", "health"]);
    let params = json!({ "name": "prune_text", "arguments": prune_arguments(TEN, json!({})) });
    let answer = wire.ask(2, "tools/call", params).await;
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(text).unwrap(),
        answer["structuredContent"]
    );
    assert_eq!(answer["isError"], Value::Null);
    let id = answer["structuredContent"]["prune_id"].clone();
    for (arguments, code, more) in [
        (
            json!({ "prune_id": "prn_nope", "ranges": [], "include_line_numbers": false }),
            "prune_id_not_found",
            json!({ "prune_id": "prn_nope" }),
        ),
        (
            json!({ "prune_id": id, "ranges": [{ "start_line": 11, "end_line": 11 }], "include_line_numbers": false }),
            "invalid_range",
            json!({ "max_line": 10 }),
        ),
    ] {
        let answer = wire
            .ask(
                3,
                "tools/call",
                json!({ "name": "recover_text", "arguments": arguments }),
            )
            .await;
        assert_eq!(answer["isError"], true);
        let said: Value =
            serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(said["code"], code);
        for (key, value) in more.as_object().unwrap() {
            assert_eq!(said[key], *value);
        }
    }
    let answer = wire
        .ask(
            4,
            "tools/call",
            json!({ "name": "prune_text", "arguments": {} }),
        )
        .await;
    assert_eq!(answer["code"], -32602);
    let answer = wire.ask(5, "tools/call", json!({ "name": "zzz" })).await;
    assert_eq!(answer["code"], -32602);
}
