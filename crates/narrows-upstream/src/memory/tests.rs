use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;

use super::{ClientMemory, Memory, MemoryFull, SMALL};

const LIMIT: usize = 400_000;

fn memory() -> Memory {
    Memory::new(LIMIT, LIMIT)
}

fn message(bytes: usize) -> Bytes {
    vec![b'x'; bytes].into()
}

#[test]
fn charge_lasts_until_the_last_slice_is_dropped() {
    let memory = memory();
    let client = memory.client();
    let held = client.responses.hold(message(50_000));
    let slice = held.slice(10..20);
    drop(held);
    assert_eq!(
        (memory.responses.used(), client.responses.used()),
        (50_000, 50_000)
    );
    drop(slice);
    assert_eq!((memory.responses.used(), client.responses.used()), (0, 0));
    assert_eq!(client.responses.hold(message(SMALL - 1)).len(), SMALL - 1);
    assert_eq!(memory.requests.used(), 0);
}

#[test]
fn client_uses_at_most_a_quarter() {
    let memory = memory();
    let [one, other] = [memory.client(), memory.client()];
    let mut permit = one.requests.permit();
    assert_eq!(permit.try_grow(100_000), Ok(()));
    assert_eq!(permit.try_grow(1), Err(MemoryFull));
    assert_eq!(one.requests.check(1), Err(MemoryFull));
    assert_eq!(other.requests.check(100_000), Ok(()));
    assert_eq!(
        (memory.requests.used(), memory.requests.refused()),
        (100_000, 2)
    );
    drop(permit);
    assert_eq!(one.requests.check(100_000), Ok(()));
}

#[test]
fn all_clients_together_stay_within_the_budget() {
    let memory = memory();
    let clients: Vec<ClientMemory> = (0..5).map(|_| memory.client()).collect();
    let mut permits: Vec<_> = clients
        .iter()
        .map(|client| client.requests.permit())
        .collect();
    let grown: Vec<_> = (permits.iter_mut())
        .map(|permit| permit.try_grow(100_000).is_ok())
        .collect();
    assert_eq!(grown, [true, true, true, true, false]);
    // A refused charge does not count toward the client's share either.
    assert_eq!(clients[4].requests.used(), 0);
}

#[tokio::test]
async fn waiting_client_continues_when_memory_is_released() {
    let memory = memory();
    let client = memory.client();
    // Holds the only overdraft permit, so that no client can exceed the limit.
    let overdraft = memory.responses.overdraft.clone().acquire_owned().await;
    let held = client.responses.charge(90_000);
    let mut permit = client.responses.permit();
    let mut growing = Box::pin(permit.grow(20_000));
    assert!(growing.as_mut().now_or_never().is_none());
    assert!(memory.responses.is_waited_for());
    drop(held);
    growing.await;
    assert_eq!((permit.bytes(), client.responses.used()), (20_000, 20_000));
    assert!(!memory.responses.is_waited_for());
    drop(overdraft);
}

#[tokio::test]
async fn half_read_responses_do_not_deadlock() {
    let memory = memory();
    let client = memory.client();
    let mut permits: Vec<_> = (0..4).map(|_| client.responses.permit()).collect();
    for permit in &mut permits {
        permit.grow(25_000).await;
    }
    // The share is full. One response may exceed it and completes, which lets the others complete.
    let growing = permits.into_iter().map(|mut permit| async move {
        permit.grow(25_000).await;
        tokio::task::yield_now().await;
        drop(permit);
    });
    futures_util::future::join_all(growing).await;
    assert_eq!(memory.responses.used(), 0);
}

#[tokio::test]
async fn charge_beyond_the_limit_is_reported() {
    let memory = memory();
    let clients: Vec<ClientMemory> = (0..5).map(|_| memory.client()).collect();
    let held: Vec<_> = (clients.iter())
        .map(|client| client.responses.charge(90_000))
        .collect();
    assert!(memory.responses.is_over());
    memory.responses.under_pressure().await;
    assert!(clients.iter().all(|client| !client.responses.is_over()));
    drop(held);
    assert!(!memory.responses.is_over());
}

#[test]
fn part_of_a_charge_can_be_split_off() {
    let memory = memory();
    let client = memory.client();
    let mut permit = client.responses.charge(50_000);
    let part = permit.split(20_000);
    permit.shrink_to(10_000);
    assert_eq!((part.bytes(), permit.bytes()), (20_000, 10_000));
    // More than the permit contains, so the rest is charged.
    let more = permit.split(15_000);
    assert_eq!((more.bytes(), permit.bytes()), (15_000, 0));
    assert_eq!(memory.responses.used(), 35_000);
    drop((part, more, permit));
    assert_eq!(Arc::strong_count(&client.responses), 1);
    assert_eq!(memory.responses.used(), 0);
}
