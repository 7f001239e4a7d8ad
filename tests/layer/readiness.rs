//! The layer is ready when the wrapped service is, and calls the very service that was ready.

use std::future::{Pending, Ready, pending, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use cupel::layer::Error;
use futures::future::poll_immediate;
use tokio::time::timeout;
use tower::{Layer, Service, ServiceExt};
use tower_test::mock;

use crate::common::{Request, item, layer, ms, request};

/// Fails when it is called without having been polled; a clone has not been polled.
#[derive(Debug)]
struct MustBePolled {
    polled: bool,
}

impl Clone for MustBePolled {
    fn clone(&self) -> Self {
        Self { polled: false }
    }
}

impl Service<Request> for MustBePolled {
    type Response = ();
    type Error = &'static str;
    type Future = Ready<Result<(), &'static str>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.polled = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _request: Request) -> Self::Future {
        // Readiness counts once.
        let polled = std::mem::replace(&mut self.polled, false);
        ready(if polled { Ok(()) } else { Err("called without being ready") })
    }
}

#[tokio::test]
async fn the_service_that_was_polled_is_the_one_that_is_called() {
    let mut service = layer().build().unwrap().layer(MustBePolled { polled: false });
    for _ in 0..3 {
        service.ready().await.unwrap().call(request()).await.unwrap();
    }
    let mut service = layer().build().unwrap().with_report().layer(MustBePolled { polled: false });
    let (response, _) = service.ready().await.unwrap().call(request()).await.unwrap();
    assert_eq!(response, ());
}

#[tokio::test]
async fn a_clone_of_a_ready_layer_starts_unready() {
    let mut service = layer().build().unwrap().layer(MustBePolled { polled: false });
    service.ready().await.unwrap();
    let mut clone = service.clone();
    let error = clone.call(request()).await.unwrap_err();
    assert_eq!(error.into_inner(), Some("called without being ready"));
    service.call(request()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn readiness_is_that_of_the_wrapped_service() {
    let (mut service, mut model) =
        mock::spawn_layer::<Request, &'static str, _>(layer().build().unwrap());
    model.allow(0);
    assert!(service.poll_ready().is_pending());
    model.allow(1);
    assert!(service.is_woken());
    assert!(service.poll_ready().is_ready());

    let call = tokio::spawn(service.call(request().item(item("hello", 2))));
    let (sent, answer) = timeout(ms(10), model.next_request()).await.unwrap().unwrap();
    assert_eq!(sent.items().count(), 1);
    // The one permit is used, and it was used by the service in the call.
    assert!(service.poll_ready().is_pending());
    answer.send_response("hi");
    assert_eq!(call.await.unwrap().unwrap(), "hi");
}

#[tokio::test]
async fn an_error_from_poll_ready_is_passed_on_as_it_is() {
    let (mut service, mut model) =
        mock::spawn_layer::<Request, &'static str, _>(layer().build().unwrap());
    model.send_error("out of credit");
    let Poll::Ready(Err(Error::Inner(error))) = service.poll_ready() else {
        panic!("the error was not passed on");
    };
    assert_eq!(error.to_string(), "out of credit");
}

#[tokio::test]
async fn an_error_of_the_wrapped_service_is_not_wrapped_in_anything_else() {
    #[derive(Debug, PartialEq)]
    struct RefusedItem {
        status: u16,
    }
    let model = tower::service_fn(|_: Request| ready(Err::<(), _>(RefusedItem { status: 429 })));
    let outcome = layer().build().unwrap().layer(model).oneshot(request()).await;
    assert_eq!(outcome.unwrap_err().into_inner(), Some(RefusedItem { status: 429 }));
}

/// A model that never answers and is counted by its handle.
#[derive(Clone)]
struct Silent(#[allow(dead_code)] Arc<()>);

impl Service<Request> for Silent {
    type Response = ();
    type Error = &'static str;
    type Future = Pending<Result<(), &'static str>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _request: Request) -> Self::Future {
        pending()
    }
}

#[tokio::test]
async fn a_call_lets_go_of_the_service_once_it_has_called_it() {
    for ready_after_gathering in [false, true] {
        let handle = Arc::new(());
        let layer = layer().ready_after_gathering(ready_after_gathering).build().unwrap();
        let mut service = layer.layer(Silent(Arc::clone(&handle)));
        let mut call = std::pin::pin!(service.ready().await.unwrap().call(request()));
        assert_eq!(Arc::strong_count(&handle), 3);
        assert!(poll_immediate(call.as_mut()).await.is_none());
        assert_eq!(Arc::strong_count(&handle), 2);
    }
}
