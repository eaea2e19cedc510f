//! The measurements, the same for all engines.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::task::LocalSet;

/// Calls in a sample.
const CALLS: u64 = 2000;
/// Samples of calls that wait, and of calls that do not; they take turns.
const SAMPLES: usize = 400;

/// What a call takes.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Costs {
    /// If the host function's future is ready at once.
    pub(crate) ready_ns: f64,
    /// If it is ready at its second poll.
    pub(crate) waits_ns: f64,
    /// An instance before its call.
    pub(crate) instance_bytes: f64,
    /// An instance with a call that waits.
    pub(crate) waiting_bytes: f64,
    /// To wake a call, resume and end it, one of many.
    pub(crate) resume_ns: f64,
}

/// How the host function of an instance waits.
#[derive(Clone, Debug)]
pub(crate) enum Wait {
    /// Not at all.
    Ready,
    /// For one poll.
    Once,
    /// Until all are woken.
    All(Arc<Gathering>),
}

/// Calls that wait for the same.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    waiting: AtomicUsize,
    notify: Notify,
}

impl Wait {
    pub(crate) async fn wait(&self) {
        match self {
            Wait::Ready => {}
            Wait::Once => {
                let mut polls = 0;
                poll_fn(|_| {
                    polls += 1;
                    if polls == 1 { Poll::Pending } else { Poll::Ready(()) }
                })
                .await
            }
            Wait::All(gathering) => {
                let notified = gathering.notify.notified();
                gathering.waiting.fetch_add(1, Relaxed);
                notified.await
            }
        }
    }
}

/// An engine with a guest whose function `ask(x)` calls the host function `later(x)`, which waits and gives x. The guest
/// counts its calls, and gives the sum of that, x, and what the host function gives.
pub(crate) trait Host {
    type Instance: 'static;

    /// Makes an instance.
    async fn create(&mut self, wait: Wait) -> Result<Self::Instance>;

    /// Calls `ask`.
    fn ask(instance: &mut Self::Instance, x: i64) -> impl Future<Output = Result<i64>>;
}

pub(crate) fn costs<H: Host>(host: &mut H, count: usize) -> Result<Costs> {
    let runtime = Builder::new_current_thread().build()?;
    let (ready_ns, waits_ns) = one(host, &runtime)?;
    let (instance_bytes, waiting_bytes, resume_ns) = many(host, &runtime, count)?;
    Ok(Costs { ready_ns, waits_ns, instance_bytes, waiting_bytes, resume_ns })
}

/// Calls that do not wait, and calls that do, polled by hand.
fn one<H: Host>(host: &mut H, runtime: &tokio::runtime::Runtime) -> Result<(f64, f64)> {
    let mut instances = [runtime.block_on(host.create(Wait::Ready))?, runtime.block_on(host.create(Wait::Once))?];
    let mut least = [f64::INFINITY; 2];
    let mut calls = 0;
    for _ in 0..SAMPLES {
        for (waits, (instance, least)) in instances.iter_mut().zip(&mut least).enumerate() {
            let begin = Instant::now();
            let mut sum = 0;
            for x in 0..CALLS {
                sum += poll_by_hand(H::ask(instance, x as i64), waits)?;
            }
            *least = least.min(begin.elapsed().as_nanos() as f64 / CALLS as f64);
            let x = (CALLS * (CALLS - 1) / 2) as i64;
            let counts = (1..=CALLS as i64).map(|call| calls + call).sum::<i64>();
            ensure!(sum == 2 * x + counts, "wrong results: their sum is {sum}");
        }
        calls += CALLS as i64;
    }
    Ok((least[0], least[1]))
}

/// The result of a future that is pending so often.
fn poll_by_hand(future: impl Future<Output = Result<i64>>, waits: usize) -> Result<i64> {
    let mut context = Context::from_waker(Waker::noop());
    let mut future = pin!(future);
    for _ in 0..waits {
        ensure!(future.as_mut().poll(&mut context).is_pending(), "it does not wait");
    }
    // More than once if the host has taken the processor away for the whole turn of a guest.
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
    }
}

/// Memory of instances before and in calls that wait at once, and the time to resume a call.
fn many<H: Host>(host: &mut H, runtime: &tokio::runtime::Runtime, count: usize) -> Result<(f64, f64, f64)> {
    let gathering = Arc::new(Gathering::default());
    runtime.block_on(LocalSet::new().run_until(async {
        let mut instances = Vec::with_capacity(count);
        let before = peer_common::instances::memory_bytes()?;
        for _ in 0..count {
            instances.push(host.create(Wait::All(gathering.clone())).await?);
        }
        let made = peer_common::instances::memory_bytes()?;
        let calls = instances.into_iter().enumerate().map(|(x, mut instance)| {
            tokio::task::spawn_local(
                async move { H::ask(&mut instance, x as i64).await.map(|answer| (answer, instance)) },
            )
        });
        let calls: Vec<_> = calls.collect();
        while gathering.waiting.load(Relaxed) < count {
            tokio::task::yield_now().await;
        }
        let waiting = peer_common::instances::memory_bytes()?;
        let begin = peer_common::cpu_seconds()?;
        gathering.notify.notify_waiters();
        let mut ended = Vec::with_capacity(count);
        for call in calls {
            ended.push(call.await.context("a task")??);
        }
        let seconds = peer_common::cpu_seconds()? - begin;
        for (x, (answer, _)) in ended.iter().enumerate() {
            ensure!(*answer == 2 * x as i64 + 1, "call {x} gives {answer}");
        }
        let each = |bytes: f64| (bytes - before) / count as f64;
        Ok((each(made), each(waiting), seconds * 1e9 / count as f64))
    }))
}
