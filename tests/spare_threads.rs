//! Long work while other work on the spare threads never ends. A process of its own, since the threads are shared.

#![cfg(feature = "layer")]
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use cupel::layer::off_executor;

/// Number of spare threads of a process, as the documentation of `off_executor` says.
const SPARE_THREADS: usize = 8;

#[test]
fn work_that_gets_no_spare_thread_runs_here_in_the_end() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    let runtime = runtime.unwrap();
    let (release, busy) = channel::<()>();
    let busy = Arc::new(Mutex::new(busy));
    let held = Arc::clone(&busy);
    runtime.spawn_blocking(move || held.lock().unwrap().recv());

    let here = runtime.block_on(async {
        let started = Arc::new(Barrier::new(SPARE_THREADS + 1));
        let (end, ended) = channel::<()>();
        let ended = Arc::new(Mutex::new(ended));
        for _ in 0..SPARE_THREADS {
            let (started, ended) = (Arc::clone(&started), Arc::clone(&ended));
            let hangs = move || {
                started.wait();
                let _ = ended.lock().unwrap().recv();
            };
            tokio::spawn(off_executor(u64::MAX, hangs));
        }
        tokio::task::yield_now().await;
        let all_taken = thread::spawn(move || started.wait());
        while !all_taken.is_finished() {
            tokio::task::yield_now().await;
        }
        let here = off_executor(u64::MAX, || thread::current().id()).await;
        drop(end);
        here
    });
    drop(release);
    assert_eq!(here.unwrap(), thread::current().id());
}
