//! Sources with a timetable, and a layer around a service that answers with what it was sent.

use std::convert::Infallible;
use std::time::Duration;

use cupel::gather::{BoxError, Source};
use cupel::layer::{
    ContextAdapter, ContextRequest, ContextRequestAdapter, CupelLayer, CupelLayerBuilder, Edits,
    Error, Selection, Split, Strategy,
};
use cupel::{ContextBudget, ContextItem, ContextKind, Policy};
use futures::StreamExt;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

pub(crate) type Request = ContextRequest<()>;
pub(crate) type Builder = CupelLayerBuilder<Request, ContextRequestAdapter>;

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn item(content: &str, tokens: i64, hint: f64) -> ContextItem {
    ContextItem::builder(content, tokens).future_relevance_hint(hint).build().unwrap()
}

pub(crate) fn pinned(content: &str, tokens: i64) -> ContextItem {
    ContextItem::builder(content, tokens).pinned(true).build().unwrap()
}

/// Work that takes so long, by a clock that stands still otherwise.
pub(crate) fn work(time: Duration) {
    let mut advance = std::pin::pin!(tokio::time::advance(time));
    let mut context = std::task::Context::from_waker(futures::task::noop_waker_ref());
    // The clock moves with the first poll; what follows is a turn for others.
    let _ = std::future::Future::poll(advance.as_mut(), &mut context);
}

/// Counts items of sources in its own way, so that copies of one text may differ in size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recounting(pub(crate) i64);

impl ContextAdapter<Request> for Recounting {
    type Rest = Request;

    fn split(&self, request: Request, _: Strategy) -> Result<Split<Request>, BoxError> {
        let mut split = ContextRequestAdapter.split(request, Strategy::Scored)?;
        split.recounts_sources = self.0 != 0;
        Ok(split)
    }

    fn join(&self, rest: Request, edits: &mut Edits) -> Result<Request, BoxError> {
        ContextRequestAdapter.join(rest, edits)
    }

    fn source_item_tokens(&self, _: &Request, item: &ContextItem) -> i64 {
        // Documents are wrapped in more than messages are.
        let times = if *item.kind() == ContextKind::document() { 2 } else { 1 };
        item.tokens() + times * self.0
    }
}

/// A source that yields each item after a pause.
pub(crate) fn timetable(name: &str, items: Vec<(u64, ContextItem)>) -> Source<Request> {
    Source::stream(name, move |_: &Request| {
        futures::stream::iter(items.clone()).then(|(pause, item)| async move {
            tokio::time::sleep(ms(pause)).await;
            Ok::<_, BoxError>(item)
        })
    })
}

/// A source that yields some items at once and then never ends.
pub(crate) fn hanging(name: &str, items: Vec<ContextItem>) -> Source<Request> {
    Source::stream(name, move |_: &Request| {
        let items = items.clone().into_iter().map(Ok::<_, BoxError>);
        futures::stream::iter(items).chain(futures::stream::pending())
    })
}

pub(crate) fn layer(budget: i64) -> Builder {
    CupelLayer::builder()
        .adapter(ContextRequestAdapter)
        .policy(Policy::rag())
        .budget(ContextBudget::builder(budget).build().unwrap())
}

/// Sends a request, and returns the sent items and the selection.
pub(crate) async fn send<A: ContextAdapter<Request> + 'static>(
    builder: CupelLayerBuilder<Request, A>,
    request: Request,
) -> Result<(Vec<String>, Selection), Error<Infallible>> {
    let inner = service_fn(|request: Request| async move {
        Ok(request.items().map(|item| item.content().to_owned()).collect::<Vec<_>>())
    });
    let mut service =
        ServiceBuilder::new().layer(builder.build().unwrap().with_report()).service(inner);
    service.ready().await?.call(request).await
}
