use std::time::Duration;

use super::memory::OVERHEAD;
use super::*;

fn store(ttl_s: u64, texts_of_a_kilobyte: usize) -> MemoryStore {
    MemoryStore::new(&RecoverySettings {
        ttl: Duration::from_secs(ttl_s),
        max_bytes: texts_of_a_kilobyte * (1_000 + OVERHEAD),
        path: None,
    })
}

/// Returns a text of 1,000 bytes that LZ4 cannot compress.
fn kilobyte(seed: char) -> Arc<str> {
    noise(seed, 1_000)
}

fn noise(seed: char, length: usize) -> Arc<str> {
    let mut random = fastrand::Rng::with_seed(seed.into());
    let text: String = (0..length).map(|_| random.alphanumeric()).collect();
    text.into()
}

#[tokio::test(start_paused = true)]
async fn text_is_returned_until_it_expires() {
    let store = store(600, 10);
    let receipt = store.keep(&Owner::pruner(None), "one\ntwo".into()).unwrap();
    assert_eq!(
        store
            .fetch(&Owner::pruner(None), receipt.as_str())
            .as_deref(),
        Some("one\ntwo")
    );
    tokio::time::advance(Duration::from_millis(599_999)).await;
    assert_eq!(
        store
            .fetch(&Owner::pruner(None), receipt.as_str())
            .as_deref(),
        Some("one\ntwo")
    );
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(store.fetch(&Owner::pruner(None), receipt.as_str()), None);
    assert_eq!(store.fetch(&Owner::pruner(None), "prn_nope"), None);
}

#[tokio::test(start_paused = true)]
async fn oldest_texts_are_evicted_and_the_newest_stays() {
    let store = store(600, 3);
    let receipts: Vec<Receipt> = "abcdef"
        .chars()
        .map(|letter| store.keep(&Owner::pruner(None), kilobyte(letter)).unwrap())
        .collect();
    // Fetching a text does not extend its lifetime.
    store
        .fetch(&Owner::pruner(None), receipts[3].as_str())
        .unwrap();
    let there = |receipt: &Receipt| {
        store
            .fetch(&Owner::pruner(None), receipt.as_str())
            .is_some()
    };
    let found: Vec<bool> = receipts.iter().map(there).collect();
    assert_eq!(found, [false, false, false, true, true, true]);
    let newest = store.keep(&Owner::pruner(None), kilobyte('g')).unwrap();
    assert!(there(&newest) && !there(&receipts[3]));
}

#[tokio::test(start_paused = true)]
async fn oversized_text_evicts_nothing() {
    let store = store(600, 1);
    let small = store.keep(&Owner::pruner(None), kilobyte('a')).unwrap();
    assert_eq!(
        store.keep(&Owner::pruner(None), noise('b', 1_001)),
        Err(StoreUnavailable)
    );
    assert!(store.fetch(&Owner::pruner(None), small.as_str()).is_some());
}

#[tokio::test(start_paused = true)]
async fn expired_texts_free_their_memory() {
    let store = store(600, 3);
    for letter in "abc".chars() {
        store.keep(&Owner::pruner(None), kilobyte(letter)).unwrap();
    }
    tokio::time::advance(Duration::from_secs(601)).await;
    store.purge();
    assert_eq!(store.usage(), StoreUsage { texts: 0, bytes: 0 });
}

#[test]
fn text_counts_with_its_compressed_size() {
    let store = store(600, 2);
    let log: Arc<str> = "2026-01-01 INFO the service is up\n".repeat(10_000).into();
    let receipt = store.keep(&Owner::pruner(None), log.clone()).unwrap();
    assert!(store.usage().bytes < 2 * (1_000 + OVERHEAD) as u64);
    assert_eq!(
        store.fetch(&Owner::pruner(None), receipt.as_str()),
        Some(log)
    );
}

#[test]
fn text_is_returned_only_to_its_owner() {
    let store = store(600, 10);
    let alice = Owner::client(None, "default", Some("review"));
    let receipt = store.keep(&alice, kilobyte('a')).unwrap();
    for other in [
        Owner::pruner(None),
        Owner::client(None, "default", None),
        Owner::client(None, "default", Some("")),
        Owner::client(None, "other", Some("review")),
    ] {
        assert_eq!(store.fetch(&other, receipt.as_str()), None, "{other:?}");
    }
    assert!(store.fetch(&alice, receipt.as_str()).is_some());
}

#[test]
fn receipts_are_ulids() {
    let of = |unix_ms, random| Receipt::at(unix_ms, random).to_string();
    assert_eq!(of(0, 0), "prn_00000000000000000000000000");
    // The time in the example of the ULID specification.
    assert_eq!(of(1_469_918_176_385, 42), "prn_01ARY000000000000000000042");
    assert_eq!(of(u64::MAX, u64::MAX), "prn_7ZZZZ000006744073709551615");
    assert_ne!(Receipt::new(), Receipt::new());
}
