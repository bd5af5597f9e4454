use std::thread;

use tokio::sync::{mpsc, oneshot};

use super::{LARGE, large, polled, run};

#[tokio::test]
async fn what_is_small_stays_where_it_is() {
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
async fn a_call_goes_elsewhere_from_what_is_large_on() {
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
async fn what_is_dropped_ends_wherever_it_is() {
    struct Told(Option<oneshot::Sender<()>>);
    impl Drop for Told {
        fn drop(&mut self) {
            let _ = self.0.take().unwrap().send(());
        }
    }
    let (sender, told) = oneshot::channel();
    let (begun, began) = oneshot::channel();
    let end = Told(Some(sender));
    let call = tokio::spawn(polled(Box::pin(async move {
        let _end = end;
        large(LARGE).await;
        begun.send(()).unwrap();
        std::future::pending::<()>().await;
    })));
    began.await.unwrap();
    call.abort();
    told.await.unwrap();
}

#[tokio::test]
async fn computations_of_a_call_do_not_wait_for_the_call() {
    let calls = (0..20).map(|number| {
        polled(Box::pin(async move {
            large(LARGE).await;
            // Begun before the call is elsewhere, and after it.
            let first = run(LARGE, move || number);
            tokio::task::yield_now().await;
            first.await + run(LARGE, || 1).await
        }))
    });
    let sum: usize = futures_util::future::join_all(calls).await.iter().sum();
    assert_eq!(sum, 190 + 20);
}
