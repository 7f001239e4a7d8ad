//! A Tower layer that counts repeats beside the calls it passes on.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use cupel::{ContextBudget, Policy};
use cupel_json::JsonBody;
use tokio::sync::Semaphore;
use tower::{Layer, Service};

use crate::planner::Planner;
use crate::turn_repeats::TurnRepeats;

/// Tower layer that looks for [repeats](TurnRepeats) in each request, beside the call. Put it around a
/// [`CupelLayer`](cupel::layer::CupelLayer), so that it sees requests as the caller makes them.
///
/// It changes no request and delays none: it works on Tokio's blocking pool, on a few requests at a time, and
/// passes over requests that come while it is busy. It needs no state: the request before is a prefix of this
/// one, and is planned again.
///
/// ```
/// use cupel::{ContextBudget, Policy};
/// use cupel_audit::{Planner, RepeatLayer, TurnRepeats};
///
/// let budget = ContextBudget::builder(32_000).build()?;
/// let layer = RepeatLayer::new(Planner::new(), Policy::chat(), budget, |turn: TurnRepeats| {
///     println!("cut: {}, repeats: {}", turn.is_cut, turn.repeats);
/// });
/// # let _ = layer;
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct RepeatLayer {
    meter: Arc<Meter>,
}

struct Meter {
    planner: Planner,
    policy: Policy,
    budget: ContextBudget,
    on_turn: Box<dyn Fn(TurnRepeats) + Send + Sync>,
    room: Arc<Semaphore>,
}

/// Requests that are looked at together.
const AT_ONCE: usize = 2;

impl RepeatLayer {
    /// Tells `on_turn` of each turn. Policy and budget are those of the layer whose calls it watches.
    pub fn new(
        planner: Planner,
        policy: Policy,
        budget: ContextBudget,
        on_turn: impl Fn(TurnRepeats) + Send + Sync + 'static,
    ) -> Self {
        let (on_turn, room) = (Box::new(on_turn), Arc::new(Semaphore::new(AT_ONCE)));
        Self { meter: Arc::new(Meter { planner, policy, budget, on_turn, room }) }
    }
}

impl fmt::Debug for RepeatLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepeatLayer").field("budget", &self.meter.budget).finish_non_exhaustive()
    }
}

impl<S> Layer<S> for RepeatLayer {
    type Service = RepeatService<S>;

    fn layer(&self, inner: S) -> RepeatService<S> {
        RepeatService { inner, meter: Arc::clone(&self.meter) }
    }
}

/// Service of a [`RepeatLayer`].
#[derive(Clone)]
pub struct RepeatService<S> {
    inner: S,
    meter: Arc<Meter>,
}

impl<S: fmt::Debug> fmt::Debug for RepeatService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepeatService").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<S, T> Service<JsonBody<T>> for RepeatService<S>
where
    S: Service<JsonBody<T>>,
    T: Clone + Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: JsonBody<T>) -> S::Future {
        let permit = Arc::clone(&self.meter.room).try_acquire_owned();
        // Outside a runtime there is nowhere to work beside the call.
        if let (Ok(permit), Ok(runtime)) = (permit, tokio::runtime::Handle::try_current()) {
            let (meter, body) = (Arc::clone(&self.meter), request.clone());
            drop(runtime.spawn_blocking(move || {
                let Meter { planner, policy, budget, on_turn, .. } = &*meter;
                let found = TurnRepeats::find(&body, |body| planner.plan(body, policy, budget));
                found.into_iter().for_each(on_turn);
                drop(permit);
            }));
        }
        self.inner.call(request)
    }
}
