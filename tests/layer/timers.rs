//! A layer needs a timer when it has to wait for a source, and not before.

use std::convert::Infallible;
use std::task::{Context, Poll};
use std::time::Duration;

use cupel::gather::Source;
use cupel::layer::ContextError;
use futures::stream;
use tower::{Layer, Service};

use crate::common::{Echo, Request, context_error, item, layer_with, ms, request};

fn ready_lists() -> [Source<Request>; 3] {
    [
        Source::items("fixed", [item("fixed", 1)]),
        Source::list("list", |_: &Request| async { Ok::<_, Infallible>([item("list", 1)]) })
            .deadline(ms(50)),
        Source::stream("stream", |_: &Request| stream::iter([Ok::<_, Infallible>(item("s", 1))])),
    ]
}

fn hanging() -> Source<Request> {
    Source::stream("hanging", |_: &Request| stream::pending::<Result<_, Infallible>>())
}

/// Polls one call once.
fn first_poll(
    sources: impl IntoIterator<Item = Source<Request>>,
    deadline: Duration,
) -> Poll<Result<Vec<String>, cupel::layer::Error<Infallible>>> {
    let layer = layer_with(sources).gather_deadline(deadline).build().unwrap();
    let mut service = layer.layer(Echo::default());
    let mut context = Context::from_waker(futures::task::noop_waker_ref());
    assert!(service.poll_ready(&mut context).is_ready());
    std::pin::pin!(service.call(request())).poll(&mut context)
}

#[test]
fn sources_that_are_ready_need_neither_a_timer_nor_a_runtime() {
    let check = || {
        let Poll::Ready(Ok(sent)) = first_poll(ready_lists(), ms(2_000)) else {
            panic!("the call is not over");
        };
        assert_eq!(sent, ["fixed", "list", "s"]);
    };
    check();
    let without_timers = tokio::runtime::Builder::new_current_thread().build().unwrap();
    without_timers.block_on(async { check() });
}

#[test]
fn a_source_that_has_to_be_waited_for_needs_a_timer_and_the_error_says_so() {
    let check = || {
        let Poll::Ready(outcome) = first_poll([hanging().optional()], ms(2_000)) else {
            panic!("the call would wait for ever");
        };
        let error = context_error(outcome);
        assert!(matches!(error, ContextError::NoTimer));
        assert_eq!(
            error.to_string(),
            "a source has to be waited for, but there is no timer for its deadline; make the call \
             in a Tokio runtime with timers (enable_time or enable_all)",
        );
        // Nothing would ever end the wait, so none is needed.
        assert!(first_poll([hanging()], Duration::MAX).is_pending());
    };
    check();
    let without_timers = tokio::runtime::Builder::new_current_thread().build().unwrap();
    without_timers.block_on(async { check() });
}
