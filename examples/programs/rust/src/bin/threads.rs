//! Threads, channels, locks and atomics of the standard library.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock};
use std::thread;
use std::time::{Duration, Instant};

fn main() {
    let (to_workers, tasks) = mpsc::sync_channel::<u64>(4);
    let tasks = Arc::new(Mutex::new(tasks));
    let (to_main, results) = mpsc::channel();
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let (tasks, to_main) = (Arc::clone(&tasks), to_main.clone());
            thread::spawn(move || {
                loop {
                    let Ok(task) = tasks.lock().unwrap().recv() else { return };
                    to_main.send((task, (1..=task).filter(|n| task % n == 0).sum::<u64>())).unwrap();
                }
            })
        })
        .collect();
    drop(to_main);
    thread::spawn(move || (1..=200).for_each(|task| to_workers.send(task).unwrap()));
    let sums: BTreeMap<u64, u64> = results.iter().collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    println!("perfect: {:?}", sums.iter().filter(|(n, sum)| **sum == 2 * **n).map(|(n, _)| n).collect::<Vec<_>>());

    let (count, map, barrier) = (AtomicU64::new(0), RwLock::new(BTreeMap::new()), Barrier::new(5));
    let leaders = thread::scope(|scope| {
        let body = |id: u64| {
            let (count, map, barrier) = (&count, &map, &barrier);
            move || {
                (0..500).for_each(|_| _ = count.fetch_add(id, Ordering::Relaxed));
                map.write().unwrap().insert(id, map_len(id));
                barrier.wait().is_leader()
            }
        };
        let all: Vec<_> = (0..5).map(|id| scope.spawn(body(id))).collect();
        all.into_iter().map(|one| one.join().unwrap()).filter(|leads| *leads).count()
    });
    println!("count {} leaders {leaders} map {:?}", count.into_inner(), map.into_inner().unwrap());

    let failed = thread::Builder::new().name("broken".into()).spawn(|| panic!("on purpose")).unwrap().join();
    println!("{:?}", failed.unwrap_err().downcast_ref::<&str>());
    let poisoned = Arc::new(Mutex::new(1));
    let same = Arc::clone(&poisoned);
    let _ = thread::spawn(move || {
        let _guard = same.lock();
        panic!("with a lock")
    })
    .join();
    println!("poisoned {}", poisoned.is_poisoned());

    static ONCE: OnceLock<usize> = OnceLock::new();
    let begin = Instant::now();
    let (_sender, receiver) = mpsc::channel::<()>();
    println!("{:?}", receiver.recv_timeout(Duration::from_millis(3)) == Err(RecvTimeoutError::Timeout));
    let (lock, wakes) = (Mutex::new(false), Condvar::new());
    let waited = wakes.wait_timeout_while(lock.lock().unwrap(), Duration::from_millis(2), |done| !*done).unwrap();
    println!("{} {} {}", waited.1.timed_out(), begin.elapsed().as_millis() >= 5, ONCE.get_or_init(|| 12));
}

fn map_len(id: u64) -> String {
    "x".repeat(id as usize)
}
