//! The layer, its service and its futures can be sent, shared and cloned where the service can.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::rc::Rc;
use std::task::{Context, Poll};

use cupel::gather::{ConversationStore, GatherReport, Source};
use cupel::layer::{
    BuildError, ContextError, ContextRequest, ContextRequestAdapter, CupelLayer, CupelService,
    Error, ResponseFuture, Selection, Selector, WithReport,
};
use tower::{Layer, Service, ServiceExt};

use crate::common::{Echo, Request, item, layer, request};

fn sent<T: Send>() {}
fn shared<T: Send + Sync>() {}
fn cloned<T: Send + Sync + Clone>() {}
fn an_error<T: std::error::Error + Send + Sync + 'static>() {}

#[test]
fn the_parts_are_send_sync_and_clone() {
    cloned::<CupelLayer<Request, ContextRequestAdapter>>();
    cloned::<CupelService<Echo, Request, ContextRequestAdapter>>();
    cloned::<Source<Request>>();
    cloned::<ConversationStore<u64>>();
    cloned::<GatherReport>();
    cloned::<Selection>();
    cloned::<Selector<Request, ContextRequestAdapter>>();
    cloned::<CupelLayer<Request, ContextRequestAdapter, WithReport>>();
    sent::<ResponseFuture<Echo, Request>>();
    sent::<ResponseFuture<Echo, Request, WithReport>>();
}

#[test]
fn a_request_that_cannot_be_shared_does_not_stop_the_layer_from_being_shared() {
    type Unshared = ContextRequest<Cell<u8>>;
    cloned::<CupelLayer<Unshared, ContextRequestAdapter>>();
    cloned::<CupelService<(), Unshared, ContextRequestAdapter>>();
    shared::<Source<Unshared>>();
}

#[test]
fn errors_are_errors_of_tower_stacks() {
    an_error::<Error<Infallible>>();
    an_error::<Error<tower::BoxError>>();
    an_error::<ContextError>();
    an_error::<BuildError>();
    let boxed: tower::BoxError =
        Error::<Infallible>::from(ContextError::Panicked { message: "oops".to_owned() }).into();
    assert_eq!(boxed.to_string(), "the selection panicked: oops");
}

#[test]
fn what_is_behind_a_boxed_error_can_be_found() {
    let elapsed: tower::BoxError = Box::new(tower::timeout::error::Elapsed::new());
    let error = Error::Inner(elapsed);
    let source = std::error::Error::source(&error).unwrap();
    assert!(source.is::<tower::timeout::error::Elapsed>());
    assert_eq!(error.to_string(), source.to_string());
}

/// A model that lives on one thread.
#[derive(Clone)]
struct Local(Rc<Cell<usize>>);

impl Service<Request> for Local {
    type Response = usize;
    type Error = Infallible;
    type Future = Ready<Result<usize, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.0.set(self.0.get() + request.items().count());
        ready(Ok(self.0.get()))
    }
}

#[tokio::test]
async fn a_service_that_cannot_be_sent_can_be_wrapped() {
    let mut service = layer().build().unwrap().layer(Local(Rc::default()));
    for expected in 1..=3 {
        let asked = request().item(item("hello", 1));
        assert_eq!(service.ready().await.unwrap().call(asked).await.unwrap(), expected);
    }
}

#[test]
fn without_sources_the_layer_needs_no_runtime() {
    let mut context = Context::from_waker(futures::task::noop_waker_ref());
    // Even for a selection that would go to the blocking pool.
    for threshold in [0, u64::MAX] {
        let layer = layer().blocking_threshold(threshold).build().unwrap();
        let mut service = layer.layer(Echo::default());
        assert!(service.poll_ready(&mut context).is_ready());
        let mut call = std::pin::pin!(service.call(request().item(item("hello", 1))));
        let Poll::Ready(Ok(sent)) = call.as_mut().poll(&mut context) else {
            panic!("the call is not over");
        };
        assert_eq!(sent, ["hello"]);
    }
}
