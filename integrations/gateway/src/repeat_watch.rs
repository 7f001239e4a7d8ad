//! Repeats after a cut: looked for in the newest turns of some requests, beside their calls.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cupel_audit::TurnRepeats;
use cupel_json::Endpoint;
use tokio::sync::Semaphore;

use crate::calls::Calls;
use crate::credentials::Caller;
use crate::metrics::GatewayMetrics;
use crate::select::BodySelector;
use crate::sides::Side;

/// Pause after each look, in multiples of its duration. So at most a tenth of one core is busy with it.
const PAUSE: u32 = 9;

/// Looks for repeats in requests, in one at a time. Requests that come meanwhile are passed over.
#[derive(Debug)]
pub(crate) struct RepeatWatch(Arc<Semaphore>);

/// Request of a call that is watched.
pub(crate) struct WatchedRequest {
    pub(crate) endpoint: Endpoint,
    /// Path of the client's request, which may name the model.
    pub(crate) path: String,
    /// Body as the client sent it, decompressed.
    pub(crate) bytes: Bytes,
    pub(crate) caller: Caller,
    pub(crate) side: Side,
    /// Set if it was fitted, and nothing was cut.
    pub(crate) is_whole: bool,
}

impl RepeatWatch {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }

    /// Begins to look at a request. Its call waits for nothing of it.
    pub(crate) fn look(
        &self,
        selector: &Arc<BodySelector>,
        (calls, metrics): (Arc<Calls>, Arc<GatewayMetrics>),
        request: WatchedRequest,
    ) {
        let Ok(permit) = Arc::clone(&self.0).try_acquire_owned() else { return };
        let selector = Arc::clone(selector);
        tokio::spawn(async move {
            let looked = tokio::task::spawn_blocking(move || {
                let started = Instant::now();
                let side = request.side;
                if let Some(turn) = find(&selector, request) {
                    metrics.turn(side, turn);
                    calls.turn(side, turn);
                }
                started.elapsed()
            });
            let pause = looked.await.unwrap_or(Duration::ZERO).saturating_mul(PAUSE);
            tokio::time::sleep(pause).await;
            drop(permit);
        });
    }
}

fn find(selector: &BodySelector, request: WatchedRequest) -> Option<TurnRepeats> {
    let WatchedRequest { endpoint, path, bytes, caller, is_whole, .. } = request;
    let (planner, _, body) = selector.dry_planner(endpoint, &path, &bytes, caller)?;
    match is_whole {
        true => TurnRepeats::find_in_whole(&body),
        false => TurnRepeats::find(&body, |body| planner.plan(body)),
    }
}
