use std::sync::Arc;
use std::time::Duration;

use narrows_shape::prune::{Deadline, Lexical, Lines, OutOfTime, Ranking, SourceType};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::recovery_store::{MemoryStore, Receipt, StoreUnavailable};
use crate::settings::Binary;

const SOURCE: Source<'_> = Source {
    server: "s",
    tool: "t",
};

fn owner() -> Owner {
    Owner::pruner(None)
}

fn job(result: &Value, max_chars: usize) -> Job {
    Job {
        result: Raw::from_serialize(result),
        form: ResultKind::Tool,
        policy: Policy {
            max_chars,
            code_max_chars: max_chars,
            client_cap: usize::MAX,
            is_exact: true,
            guard: true,
            binary: Binary::Keep,
            goal_param: false,
            timeout: Duration::from_secs(20),
        },
        goal_hint: GoalHint::default(),
        find: None,
        owner: owner(),
        recover: RecoverTool {
            name: "recover_text".into(),
            form: RecoveryForm::Direct,
        },
        workers: WorkerShare::default(),
    }
}

#[tokio::test]
async fn unpolled_calls_release_their_workers() {
    let (shaping, _) = with_engine(Lexical);
    let all = shaping.workers.available_permits();
    let held = shaping.workers.clone().acquire_many_owned(all as u32);
    let held = held.await.expect("open");
    let shares: Vec<WorkerShare> = (0..all).map(|_| WorkerShare::default()).collect();
    let mut unpolled = Vec::new();
    for share in &shares {
        let mut waits = Box::pin(shaping.run(share, || ()));
        assert!(futures_util::poll!(waits.as_mut()).is_pending());
        unpolled.push(waits);
    }
    // The tasks are waiting for workers now.
    tokio::task::yield_now().await;
    drop(held);
    let done = shaping.run(&WorkerShare::default(), || 7).await;
    assert_eq!(done.ok(), Some(7));
}

#[tokio::test]
async fn one_session_cannot_occupy_all_workers() {
    let (shaping, _) = with_engine(Lexical);
    let share = WorkerShare::default();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Arc::new(std::sync::Mutex::new(held));
    // More tasks than workers, and none of them ends until released.
    let mut own = tokio::task::JoinSet::new();
    let shaping = Arc::new(shaping);
    for _ in 0..2 * cores() {
        let (shaping, share, held) = (shaping.clone(), share.clone(), held.clone());
        own.spawn(async move {
            let wait = move || held.lock().unwrap().recv().is_ok();
            shaping.run(&share, wait).await
        });
    }
    tokio::task::yield_now().await;
    if cores() > 1 {
        let done = shaping.run(&WorkerShare::default(), || 7).await;
        assert_eq!(done.ok(), Some(7));
    }
    drop(release);
    assert!(own.join_all().await.into_iter().all(|done| done.is_ok()));
}

fn lines(count: usize) -> String {
    (0..count)
        .map(|at| format!("line {at} of a text that is long\n"))
        .collect()
}

fn text_result(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn with_engine(engine: impl Engine + 'static) -> (Shaping, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::new(&Default::default()));
    (Shaping::new(store.clone(), Arc::new(engine)), store)
}

/// An engine that misbehaves.
struct Faulty(fn() -> Result<Vec<f32>, OutOfTime>);

impl Engine for Faulty {
    fn rank(
        &self,
        _: &Lines<'_>,
        _: &str,
        _: SourceType,
        _: &Deadline<'_>,
    ) -> Result<Ranking, OutOfTime> {
        (self.0)().map(Ranking::by_worth)
    }
}

/// Checks that the result passes unchanged and is counted as failed.
async fn check_fails_open(shaping: Shaping, job: Job) {
    let original = job.result.clone();
    assert_eq!(shaping.shape(SOURCE, job).await.0, original);
    let account: Value =
        serde_json::from_str(&shaping.account.report().expect("it is counted")).expect("JSON");
    assert_eq!(account["tools"][0]["failed"], 1);
    assert_eq!(account["tools"][0]["results"], 0);
}

#[tokio::test]
async fn engine_failure_keeps_the_result() {
    for wrong in [(|| panic!("a fault")) as fn() -> _, || Ok(vec![1.0])] {
        let mut job = job(&text_result(&lines(1_000)), 5_000);
        job.goal_hint.goal = Some("line 500".into());
        check_fails_open(with_engine(Faulty(wrong)).0, job).await;
    }
}

#[tokio::test]
async fn timed_out_result_is_unchanged() {
    let mut job = job(&text_result(&lines(1_000)), 5_000);
    job.policy.timeout = Duration::ZERO;
    job.goal_hint.goal = Some("line 500".into());
    check_fails_open(with_engine(Lexical).0, job).await;
}

#[tokio::test]
async fn engine_timeout_keeps_the_first_and_last_lines() {
    let text = lines(1_000);
    let mut job = job(&text_result(&text), 5_000);
    job.goal_hint.goal = Some("line 500".into());
    let (shaping, _) = with_engine(Faulty(|| Err(OutOfTime)));
    let shaped: Value = shaping.shape(SOURCE, job).await.0.decode().unwrap();
    let shaped = shaped["content"][0]["text"].as_str().expect("a text");
    assert!(shaped.chars().count() <= 5_000, "{shaped}");
    assert!(shaped.contains("line 0 of a text"), "{shaped}");
    assert!(shaped.contains("line 999 of a text"), "{shaped}");
}

struct FullStore;

impl RecoveryStore for FullStore {
    fn keep(&self, _: &Owner, _: Arc<str>) -> Result<Receipt, StoreUnavailable> {
        Err(StoreUnavailable)
    }

    fn fetch(&self, _: &Owner, _: &str) -> Option<Arc<str>> {
        None
    }

    fn purge(&self) {}
}

#[tokio::test]
async fn unstorable_result_is_compacted_but_not_cut() {
    let shaping = || Shaping::new(Arc::new(FullStore), Arc::new(Lexical));
    check_fails_open(shaping(), job(&text_result(&lines(1_000)), 5_000)).await;
    let rows: Vec<Value> = (0..100).map(|at| json!({ "id": at, "n": "x" })).collect();
    let pretty = format!("{:#}", json!(rows));
    let shaped = shaping()
        .shape(SOURCE, job(&text_result(&pretty), 2_000))
        .await
        .0;
    let shaped: Value = shaped.decode().expect("JSON");
    let text = shaped["content"][0]["text"].as_str().expect("a text");
    assert!(text.starts_with("[100]{id,n}:"), "{text}");
    let receipt = &shaped["_meta"]["narrows/receipt"];
    assert_eq!(
        (&receipt["prune_id"], &receipt["blocks"][0]["stages"]),
        (&Value::Null, &json!(["toon"]))
    );
}

#[tokio::test]
async fn unusual_result_without_countable_text_is_unchanged() {
    for odd in [
        json!({ "content": "x".repeat(5_000) }),
        json!({ "content": [{ "type": "text", "text": 5, "more": "x".repeat(5_000) }] }),
        json!({ "content": [["x".repeat(5_000)]] }),
        json!(["x".repeat(5_000)]),
        json!("x".repeat(5_000)),
        json!({ "task": { "id": "x".repeat(5_000) } }),
    ] {
        let job = job(&odd, 1_000);
        let original = job.result.clone();
        let (shaping, _) = with_engine(Lexical);
        assert_eq!(shaping.shape(SOURCE, job).await.0, original);
        assert_eq!(shaping.account.report(), None);
    }
}

/// Most readers use the last duplicate, so that one counts.
#[tokio::test]
async fn duplicate_members_do_not_bypass_the_budget() {
    let long = Raw::string(&lines(1_000));
    for result in [
        format!(r#"{{"content":[{{"type":"text","text":"a","text":{long:?}}}]}}"#),
        format!(r#"{{"content":[{{"type":"image","type":"text","text":{long:?}}}]}}"#),
        format!(r#"{{"content":[],"content":[{{"type":"text","text":{long:?}}}]}}"#),
    ] {
        let mut job = job(&json!({}), 5_000);
        job.result = Raw::parse(result.into()).expect("JSON");
        let (shaping, _) = with_engine(Lexical);
        let shaped: Value = shaping.shape(SOURCE, job).await.0.decode().expect("JSON");
        assert!(counted(&shaped, false) <= 5_000);
        assert!(shaped["_meta"]["narrows/receipt"]["prune_id"].is_string());
    }
}

#[tokio::test]
async fn server_meta_is_kept() {
    let mut result = text_result(&lines(1_000));
    result["_meta"] = json!({ "theirs": 1 });
    let (shaping, _) = with_engine(Lexical);
    let shaped = shaping.shape(SOURCE, job(&result, 5_000)).await.0;
    let meta: Value = shaped
        .member("_meta")
        .expect("there")
        .decode()
        .expect("JSON");
    assert_eq!(meta["theirs"], 1);
    assert!(meta["narrows/receipt"]["prune_id"].is_string());
}

/// Shapes a result and returns its texts.
fn shaped_texts(texts: &[String], structured: Option<Value>, max_chars: usize) -> Vec<String> {
    let items = texts
        .iter()
        .map(|text| json!({ "type": "text", "text": text }));
    let mut result = json!({ "content": items.collect::<Vec<Value>>() });
    if let Some(structured) = structured {
        result["structuredContent"] = structured;
    }
    let store = MemoryStore::new(&Default::default());
    let shaped = work::shape(&job(&result, max_chars), &store, &Lexical).expect("nothing fails");
    let shaped: Value = shaped.expect("it was too long").0.decode().expect("JSON");
    assert!(counted(&shaped, false) <= max_chars);
    let items = shaped["content"].as_array().expect("items").iter();
    let texts = items.map(|item| item["text"].as_str().expect("a text").to_owned());
    texts.collect()
}

/// Returns the number of characters outside the markers of a text.
fn beside_markers(text: &str) -> usize {
    let in_markers = text.split('⟦').skip(1);
    let in_markers = in_markers.map(|rest| rest.chars().take_while(|&c| c != '⟧').count() + 2);
    text.chars().count() - in_markers.sum::<usize>()
}

/// Returns the parts of a text outside its markers.
fn original_parts(text: &str) -> Vec<&str> {
    let (first, rest) = text.split_once('⟦').unwrap_or((text, ""));
    let mut parts = vec![first];
    for marker in rest.split('⟦') {
        parts.push(marker.split_once('⟧').expect("a whole marker").1);
    }
    parts
}

#[test]
fn texts_with_a_small_share_keep_some_content() {
    for (count, max_chars) in [(2, 1_000), (4, 1_000), (5, 1_000), (8, 2_000), (20, 6_000)] {
        let texts: Vec<String> = (0..count).map(|at| lines(300 + at)).collect();
        let shaped = shaped_texts(&texts, None, max_chars);
        assert_eq!(shaped.len(), count, "{count} texts in {max_chars}");
        for (text, original) in shaped.iter().zip(&texts) {
            let kept = beside_markers(text);
            let marker = text.chars().count() - kept;
            let share = max_chars / count;
            assert!(
                kept >= 20 && kept + marker + 60 >= share,
                "{kept} of {share}: {text}"
            );
            for part in original_parts(text) {
                assert!(original.contains(part.trim_start()), "{text}");
            }
        }
    }
}

/// The only marker of a text with a small share contains the call that returns all missing text, in
/// the form of the endpoint.
#[test]
fn marker_of_a_small_share_recovers_the_missing_text() {
    let long_line = "word ".repeat(2_000);
    let texts: Vec<String> = (0..5)
        .map(|at| {
            if at % 2 == 0 {
                lines(300)
            } else {
                long_line.clone()
            }
        })
        .collect();
    let items = texts
        .iter()
        .map(|text| json!({ "type": "text", "text": text }));
    let result = json!({ "content": items.collect::<Vec<Value>>() });
    for (form, call) in [
        (RecoveryForm::Direct, "recover_text prune_id="),
        (
            RecoveryForm::Exec,
            "exec(\"narrows\", \"recover_text\", {\"prune_id\": \"",
        ),
    ] {
        let store = MemoryStore::new(&Default::default());
        let mut job = job(&result, 1_050);
        job.recover.form = form;
        let shaped = work::shape(&job, &store, &Lexical).expect("nothing fails");
        let shaped: Value = shaped.expect("it was too long").0.decode().expect("JSON");
        let items = shaped["content"].as_array().expect("items");
        assert_eq!(items.len(), 5);
        for (item, original) in items.iter().zip(&texts) {
            let text = item["text"].as_str().expect("a text");
            let (head, rest) = text.split_once('⟦').expect("a marker");
            let (marker, tail) = rest.split_once('⟧').expect("a whole marker");
            let receipt = marker.split_once(call).expect(text).1;
            let stored = store.fetch(&owner(), &receipt[..Receipt::PLACEHOLDER.len()]);
            assert_eq!(stored.as_deref(), Some(&**original));
            let said: Vec<&str> = marker.split([' ', '-']).collect();
            let ["narrows:", unit, first, last, "of", ..] = said[..] else {
                panic!("{marker}");
            };
            let named = match (unit, form) {
                ("lines", RecoveryForm::Direct) => format!("ranges=\"{first}-{last}\""),
                ("lines", RecoveryForm::Exec) => format!("\"ranges\": \"{first}-{last}\""),
                (_, RecoveryForm::Direct) => format!("start_char={first} end_char={last}"),
                (_, RecoveryForm::Exec) => {
                    format!("\"start_char\": {first}, \"end_char\": {last}}}")
                }
            };
            assert!(marker.contains(&named), "{marker}");
            let [first, last] = [first, last].map(|at| at.parse::<usize>().expect("a number"));
            let cut = match unit {
                "lines" => {
                    let lines: Vec<&str> = original.split('\n').take(last).collect();
                    lines[first - 1..].join("\n")
                }
                _ => original.chars().take(last).skip(first - 1).collect(),
            };
            assert_eq!(format!("{head}{cut}{tail}"), *original);
            assert!(head.len() + tail.len() >= 20, "{text}");
        }
    }
}

#[test]
fn texts_and_structured_content_share_the_budget() {
    let rows: Vec<Value> = (0..400).map(|at| json!({ "id": at, "n": "x" })).collect();
    let texts: Vec<String> = (0..2).map(|at| lines(300 + at)).collect();
    let shaped = shaped_texts(&texts, Some(json!({ "rows": rows })), 1_000);
    // Data that is only in `structuredContent` becomes a text as well.
    assert_eq!(shaped.len(), 3);
    assert!(
        shaped.iter().all(|text| beside_markers(text) >= 20),
        "{shaped:?}"
    );
    assert!(shaped[2].contains("rows"), "{shaped:?}");
}

#[test]
fn first_of_too_many_texts_keep_a_share() {
    let texts: Vec<String> = (0..40).map(|at| lines(300 + at)).collect();
    let shaped = shaped_texts(&texts, None, 1_000);
    assert!((3..6).contains(&shaped.len()), "{}", shaped.len());
    assert!(beside_markers(&shaped[0]) >= 40, "{}", shaped[0]);
    let chars: usize = shaped.iter().map(|text| text.chars().count()).sum();
    assert!(chars >= 800, "{chars}");
}

#[test]
fn results_within_budget_are_not_parsed() {
    let policy = Policy {
        is_exact: false,
        ..job(&json!(null), 16_000).policy
    };
    let may_exceed = |result: &Value| Shaping::may_exceed(&Raw::from_serialize(result), &policy);
    assert!(!may_exceed(&text_result(&"x".repeat(10_000))));
    assert!(!may_exceed(&text_result(&"x".repeat(23_000))));
    assert!(may_exceed(&text_result(&"x".repeat(24_000))));
    // Every item after the hundredth has a cost.
    let items = vec![json!({ "type": "text", "text": "é" }); 650];
    assert!(may_exceed(&json!({ "content": items })));
    let exact = job(&json!(null), 16_000).policy;
    let long = Raw::from_serialize(&text_result(&"x".repeat(17_000)));
    assert!(Shaping::may_exceed(&long, &exact));
}

/// Words that never occur in the same line still rank the digest.
#[test]
fn query_without_matches_shows_lines_with_its_words() {
    let mut text: Vec<String> = (0..4_000)
        .map(|at| format!("[service unit-{at:04}]\nhost = 10.0.0.{}\n", at * 7 % 251))
        .collect();
    text[2_345] = "[service crane-station]\nhost = 10.0.0.9\n".to_owned();
    let mut job = job(&text_result(&text.concat()), 16_000);
    let find = Raw::from_serialize(&json!({ "query": "crane-station 9137" }));
    job.find = Some(Find::read(&find).unwrap_or_else(|_| panic!("a query")));
    let store = MemoryStore::new(&Default::default());
    let shaped = work::shape(&job, &store, &Lexical).expect("nothing fails");
    let shaped: Value = shaped.expect("it was searched").0.decode().expect("JSON");
    let shown = shaped["content"][0]["text"].as_str().expect("a text");
    let first = "⟦0 of 8000 lines match; each word alone: crane-station 1, 9137 0⟧\n";
    assert!(shown.starts_with(first), "{shown}");
    assert!(shown.contains("\n[service crane-station]\n"), "{shown}");
    assert!(shown.chars().count() <= 4_000, "{}", shown.chars().count());
}

/// A hundred thousand items in one result take no longer than parsing them.
#[tokio::test]
async fn very_many_items_are_shaped_quickly() {
    let item = json!({ "type": "text", "text": "é" });
    let items = vec![item; 100_000];
    let (shaping, store) = with_engine(Lexical);
    let shaped = shaping
        .shape(SOURCE, job(&json!({ "content": items }), 1_000))
        .await
        .0;
    assert!(shaped.len() < 100_000);
    let shaped: Value = shaped.decode().expect("JSON");
    let id = shaped["_meta"]["narrows/receipt"]["prune_id"]
        .as_str()
        .expect("a receipt");
    let kept: Vec<Value> =
        serde_json::from_str(&store.fetch(&owner(), id).expect("kept")).expect("JSON");
    let left = shaped["content"].as_array().expect("items").len() - 1;
    assert_eq!(kept.len() + left, 100_000);
}

/// Every item after the hundredth costs something, however short its text is.
#[tokio::test]
async fn very_many_tiny_items_exceed_the_budget() {
    let tiny = |count| json!({ "content": vec![json!({ "type": "text", "text": "é" }); count] });
    let (shaping, store) = with_engine(Lexical);
    let shape = async |count, max_chars| {
        let shaped = shaping.shape(SOURCE, job(&tiny(count), max_chars)).await.0;
        shaped.decode::<Value>().expect("JSON")
    };
    assert_eq!(shape(100, 1_000).await, tiny(100), "the first cost nothing");
    assert_eq!(
        shape(129, 1_000).await,
        tiny(129),
        "129 + 29 × 30 characters"
    );
    for (count, max_chars) in [(130, 1_000), (2_000, 5_000), (15_000, 16_000)] {
        let shaped = shape(count, max_chars).await;
        let left = shaped["content"].as_array().expect("items").len() - 1;
        assert!(
            left > 0 && left * 31 <= max_chars,
            "{left} of {count} items"
        );
        let id = shaped["_meta"]["narrows/receipt"]["prune_id"].as_str();
        let kept = store.fetch(&owner(), id.expect("a receipt")).expect("kept");
        let kept: Vec<Value> = serde_json::from_str(&kept).expect("JSON");
        assert_eq!(kept.len() + left, count);
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zé🦀\n ]{0,40}",
        "[a-z]{1,30}".prop_map(|word| format!("{word} {word}\n").repeat(60)),
        "[a-z\"\\\\é]{1,9}".prop_map(|word| word.repeat(400)),
        (1..200usize).prop_map(|rows| {
            let rows: Vec<Value> = (0..rows)
                .map(|at| json!({ "id": at, "name": "some name" }))
                .collect();
            json!({ "rows": rows }).to_string()
        }),
    ]
}

fn item() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => text().prop_map(|text| json!({ "type": "text", "text": text })),
        1 => text().prop_map(|text| json!({ "type": "resource", "resource": { "uri": "a.md", "text": text } })),
        1 => text().prop_map(|text| json!({ "type": "image", "data": text, "mimeType": "image/png" })),
        1 => Just(json!(null)),
    ]
}

/// Returns the number of characters that count. In these tests no text repeats the structured
/// content.
fn counted(result: &Value, note: bool) -> usize {
    let items = result["content"].as_array().expect("items");
    let texts = items.iter().filter_map(|item| {
        let text = if item["type"] == "text" {
            &item["text"]
        } else {
            &item["resource"]["text"]
        };
        text.as_str()
    });
    let binaries = items
        .iter()
        .filter(|_| note)
        .filter_map(|item| item["data"].as_str());
    let structured = match &result["structuredContent"] {
        Value::Null => 0,
        structured => structured.to_string().chars().count(),
    };
    texts
        .chain(binaries)
        .map(|text| text.chars().count())
        .sum::<usize>()
        + structured
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_result_fits_its_budget_and_is_recoverable(
        items in prop_oneof![
            3 => prop::collection::vec(item(), 0..12),
            1 => prop::collection::vec(item(), 60..120),
        ],
        structured in prop::option::of(1..2_000usize),
        note in any::<bool>(),
        goal in prop::option::of("[a-z]{1,9}"),
        max_chars in 1_000..6_000usize,
    ) {
        let mut result = json!({ "content": items });
        if let Some(rows) = structured {
            let rows: Vec<Value> = (0..rows).map(|at| json!({ "id": at, "n": "x" })).collect();
            result["structuredContent"] = json!({ "rows": rows });
        }
        let mut job = job(&result, max_chars);
        job.goal_hint.goal = goal;
        job.policy.binary = if note { Binary::Note } else { Binary::Keep };
        let store = MemoryStore::new(&Default::default());
        let shaped = work::shape(&job, &store, &Lexical).expect("nothing fails");
        let before = counted(&result, note);
        let Some((shaped, _)) = shaped else {
            prop_assert!(before <= max_chars);
            return Ok(());
        };
        let shaped: Value = shaped.decode().expect("JSON");
        prop_assert!(before > max_chars);
        prop_assert!(counted(&shaped, note) <= max_chars, "{} of {max_chars}", counted(&shaped, note));
        let account = shaped["_meta"].to_string().len();
        prop_assert!(account < 40_000, "{account}");
        for block in shaped["_meta"]["narrows/receipt"]["blocks"].as_array().expect("blocks") {
            let id = block["prune_id"].as_str().expect("a receipt");
            let kept = store.fetch(&owner(), id).expect("it is kept");
            prop_assert_eq!(kept.chars().count() as u64, block["chars"]["before"].as_u64().expect("a number"));
        }
        if !note {
            // Images have no share in the budget, so all of them are kept.
            let images = |items: &[Value]| -> Vec<Value> {
                let images = items.iter().filter(|item| item["type"] == "image");
                images.cloned().collect()
            };
            let left = shaped["content"].as_array().expect("items");
            prop_assert_eq!(images(left), images(&items));
        }
    }
}
