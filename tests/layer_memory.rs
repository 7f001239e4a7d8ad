//! Ten thousand calls at once need memory for handles, not for text.

#![cfg(feature = "layer")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "layer/common.rs"]
mod common;

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use common::{Echo, Request, budget, item, layer_with, request};
use cupel::ContextItem;
use cupel::gather::Source;
use futures::stream;
use tokio::sync::Semaphore;
use tower::limit::ConcurrencyLimitLayer;
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

const CALLS: usize = 10_000;
const MIB: usize = 1024 * 1024;

/// The tests measure the whole process, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Memory of this process in bytes; none where the system does not say.
fn resident() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

fn grown_since(before: Option<usize>) -> usize {
    resident().zip(before).map_or(0, |(now, before)| now.saturating_sub(before))
}

/// Texts of ten KiB each.
fn texts(prefix: &str, count: usize) -> Vec<ContextItem> {
    let filler = "x".repeat(10 * 1024);
    (0..count).map(|number| item(&format!("{prefix}-{number} {filler}"), 100)).collect()
}

/// All calls stand at once, each with ten items of its request and ten of a source: 200 KiB of
/// text a call, or 2 GiB if anybody copied it.
///
/// What a call does need is its future in its task, a list entry of a few words for each item, and
/// for each source a node, a slot and a timer: about 2.5 KiB here, whatever the texts. The bound
/// is about twice that.
#[test]
fn calls_that_stand_at_once_share_their_text() {
    let _turn = TURN.lock();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let (own, found) = (texts("own", 10), texts("found", 10));
        let handles = || Arc::strong_count(&found[0].shared_content()) - 1;
        let (gate, waiting) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
        let gated = Source::list("gated", {
            let (gate, waiting) = (Arc::clone(&gate), Arc::clone(&waiting));
            move |_: &Request| {
                let (gate, waiting) = (Arc::clone(&gate), Arc::clone(&waiting));
                async move {
                    waiting.fetch_add(1, Ordering::SeqCst);
                    let _open = gate.acquire().await;
                    waiting.fetch_sub(1, Ordering::SeqCst);
                    Ok::<_, Infallible>(Vec::new())
                }
            }
        });
        let rag = Source::items("rag", found.clone());
        let long = std::time::Duration::from_secs(3_600);
        let layer = layer_with([rag, gated]).gather_deadline(long).budget(budget(10_000));
        let model = Echo::default();
        let service = layer.build().unwrap().layer(model.clone().map_response(|sent| sent.len()));

        let before = resident();
        let calls: Vec<_> = (0..CALLS)
            .map(|_| {
                let asked = request().with_items(own.iter().cloned());
                tokio::spawn(service.clone().oneshot(asked))
            })
            .collect();
        while waiting.load(Ordering::SeqCst) < CALLS {
            tokio::task::yield_now().await;
        }
        assert_eq!(model.calls(), 0);
        let each = grown_since(before) / CALLS;
        println!("{each} bytes a call");
        assert!(each <= 6 * 1024, "{each} bytes a call");

        gate.close();
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap(), 20);
        }
        assert_eq!(waiting.load(Ordering::SeqCst), 0);
        assert_eq!(model.calls(), CALLS);
        // Nobody kept an item: this list has one, and the source shares its text.
        drop(service);
        assert_eq!(handles(), 1);
    });
}

/// Every call makes 40 KiB of text of its own, 400 MiB in all. A limit of 64 calls above the layer
/// bounds what is alive at any time to 64 times that, 2.5 MiB; the rest of the bound is for the
/// 10,000 tasks in the queue and for what the allocator keeps.
#[test]
fn a_limit_above_the_layer_bounds_what_is_alive() {
    let _turn = TURN.lock();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (alive, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let fresh = Source::stream("fresh", {
            let (alive, most) = (Arc::clone(&alive), Arc::clone(&most));
            move |_: &Request| {
                most.fetch_max(alive.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let (alive, mut left) = (Arc::clone(&alive), texts("fresh", 4));
                stream::poll_fn(move |_| {
                    let next = left.pop();
                    if next.is_none() {
                        alive.fetch_sub(1, Ordering::SeqCst);
                    }
                    std::task::Poll::Ready(next.map(Ok::<_, Infallible>))
                })
            }
        });
        let before = resident();
        let peak = Arc::new(AtomicUsize::new(0));
        let model = service_fn({
            let (peak, calls) = (Arc::clone(&peak), Arc::new(AtomicUsize::new(0)));
            move |request: Request| {
                if calls.fetch_add(1, Ordering::SeqCst) % 100 == 0 {
                    peak.fetch_max(grown_since(before), Ordering::SeqCst);
                }
                let count = request.items().count();
                async move {
                    // Holds the request for a turn, so that calls do stand beside each other.
                    tokio::task::yield_now().await;
                    drop(request);
                    Ok::<_, Infallible>(count)
                }
            }
        });
        let service = ServiceBuilder::new()
            .layer(ConcurrencyLimitLayer::new(64))
            .layer(layer_with([fresh]).budget(budget(10_000)).build().unwrap())
            .service(model);
        let calls: Vec<_> =
            (0..CALLS).map(|_| tokio::spawn(service.clone().oneshot(request()))).collect();
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap(), 4);
        }
        let most = most.load(Ordering::SeqCst);
        assert!((1..=64).contains(&most), "{most} sources at once");
        assert_eq!(alive.load(Ordering::SeqCst), 0);
        let peak = peak.load(Ordering::SeqCst);
        assert!(peak <= 64 * MIB, "{} MiB at the peak", peak / MIB);
    });
}
