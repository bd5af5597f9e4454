use std::pin::pin;
use std::thread;

use futures_util::poll;
use narrows_testkit::LIMIT;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::{LARGE, large, polled, run, run_off, threads};

#[tokio::test]
async fn small_work_stays_on_its_thread() {
    let here = thread::current().id();
    assert_eq!(run(LARGE - 1, || thread::current().id()).await, here);
    assert_ne!(run(LARGE, || thread::current().id()).await, here);
    let small = polled(Box::pin(async {
        large(LARGE - 1).await;
        thread::current().id()
    }));
    assert_eq!(small.await, here);
}

#[tokio::test]
async fn large_work_moves_the_call_to_another_thread() {
    let here = thread::current().id();
    let (sender, waiting) = oneshot::channel();
    let call = polled(Box::pin(async move {
        let before = thread::current().id();
        large(LARGE).await;
        let after = thread::current().id();
        let heard: u32 = waiting.await.unwrap();
        (before, after, thread::current().id(), heard)
    }));
    let call = tokio::spawn(call);
    tokio::task::yield_now().await;
    sender.send(7).unwrap();
    let (before, after, last, heard) = call.await.unwrap();
    assert_eq!((before, heard), (here, 7));
    assert!(after != here && last != here);
}

#[tokio::test]
async fn no_wake_up_is_lost() {
    let (sender, mut numbers) = mpsc::channel(1);
    let call = tokio::spawn(polled(Box::pin(async move {
        large(LARGE).await;
        let mut sum = 0;
        while let Some(number) = numbers.recv().await {
            sum += number;
        }
        sum
    })));
    for number in 1..=1_000_u64 {
        sender.send(number).await.unwrap();
    }
    drop(sender);
    assert_eq!(call.await.unwrap(), 500_500);
}

#[tokio::test]
async fn dropped_work_ends_on_any_thread() {
    struct SignalOnDrop(Option<oneshot::Sender<()>>);
    impl Drop for SignalOnDrop {
        fn drop(&mut self) {
            let _ = self.0.take().unwrap().send(());
        }
    }
    let (sender, reported) = oneshot::channel();
    let (begun, began) = oneshot::channel();
    let end = SignalOnDrop(Some(sender));
    let call = tokio::spawn(polled(Box::pin(async move {
        let _end = end;
        large(LARGE).await;
        begun.send(()).unwrap();
        std::future::pending::<()>().await;
    })));
    began.await.unwrap();
    call.abort();
    reported.await.unwrap();
}

#[tokio::test]
async fn blocking_work_of_a_call_does_not_wait_for_the_call() {
    let calls = (0..20).map(|number| {
        polled(Box::pin(async move {
            large(LARGE).await;
            // One computation begins before the call is moved to the blocking pool, and one after
            // it.
            let first = run(LARGE, move || number);
            tokio::task::yield_now().await;
            first.await + run(LARGE, || 1).await
        }))
    });
    let sum: usize = futures_util::future::join_all(calls).await.iter().sum();
    assert_eq!(sum, 190 + 20);
}

/// The call of a client that does not read is no longer polled.
#[tokio::test]
async fn unpolled_future_does_not_lose_its_slot() {
    let turns = threads();
    let all = turns.available_permits();
    let held = turns.clone().acquire_many_owned(all as u32).await.unwrap();
    let mut unpolled = Vec::new();
    for _ in 0..all {
        let mut waits = Box::pin(run_off(&turns, || ()));
        assert!(poll!(waits.as_mut()).is_pending());
        unpolled.push(waits);
    }
    let mut next = pin!(run_off(&turns, || 7));
    assert!(poll!(next.as_mut()).is_pending());
    // The tasks now wait for permits in this order.
    tokio::task::yield_now().await;
    drop(held);
    assert_eq!(timeout(LIMIT, next).await, Ok(7));
}

#[tokio::test]
async fn work_dropped_before_its_turn_does_not_run() {
    let turns = threads();
    let all = turns.available_permits();
    let held = turns.clone().acquire_many_owned(all as u32).await.unwrap();
    let (sender, ran) = oneshot::channel::<()>();
    let mut waits = Box::pin(run_off(&turns, move || sender.send(())));
    assert!(poll!(waits.as_mut()).is_pending());
    // The task now waits for a permit.
    tokio::task::yield_now().await;
    drop(waits);
    drop(held);
    assert!(timeout(LIMIT, ran).await.expect("its end").is_err());
}
