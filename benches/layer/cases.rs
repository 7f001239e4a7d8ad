//! The calls that are compared, and what each row has to reach.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use cupel::gather::Source;
use cupel::layer::{
    ContextRequest, ContextRequestAdapter, CupelLayer, CupelLayerBuilder, CupelService,
};
use cupel::placer::UShapedPlacer;
use cupel::{ContextBudget, ContextItem, GreedySlice, Pipeline, ReflexiveScorer};
use futures::stream;
use tower::{Layer, Service, ServiceBuilder};

use crate::data;
use crate::measure::{Contestant, medians, timed};
use cupel_dev::Effort;
use cupel_dev::table::{Goal, Row};

type Request = ContextRequest<()>;

/// Answers at once with how many items it was sent.
#[derive(Clone)]
struct Model;

impl Service<Request> for Model {
    type Response = usize;
    type Error = Infallible;
    type Future = Ready<Result<usize, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        ready(Ok(request.items().count()))
    }
}

fn pipeline() -> Pipeline {
    Pipeline::builder()
        .scorer(ReflexiveScorer)
        .slicer(GreedySlice)
        .placer(UShapedPlacer)
        .build()
        .unwrap()
}

fn budget() -> ContextBudget {
    ContextBudget::builder(100_000).build().unwrap()
}

fn layer() -> CupelLayerBuilder<Request, ContextRequestAdapter> {
    CupelLayer::builder()
        .adapter(ContextRequestAdapter)
        .pipeline(pipeline())
        .budget(budget())
        // Polled by hand, a call cannot wait for another thread.
        .blocking_threshold(u64::MAX)
}

fn wrapped(
    layer: CupelLayerBuilder<Request, ContextRequestAdapter>,
) -> CupelService<Model, Request, ContextRequestAdapter> {
    layer.build().unwrap().layer(Model)
}

/// Makes one call. A pending value is ready at the next poll.
fn call<S: Service<Request, Response = usize>>(service: &mut S, request: Request) -> usize {
    let mut context = Context::from_waker(futures::task::noop_waker_ref());
    assert!(service.poll_ready(&mut context).is_ready());
    let mut call = pin!(service.call(request));
    for _ in 0..10 {
        if let Poll::Ready(response) = call.as_mut().poll(&mut context) {
            let Ok(count) = response else { panic!("the call failed") };
            return count;
        }
    }
    panic!("the call is not over");
}

/// Times calls with these items in the request, which is put together outside the clock.
fn calling<'a, S: Service<Request, Response = usize> + 'a>(
    mut service: S,
    items: &'a [ContextItem],
) -> Contestant<'a> {
    let request = || ContextRequest::new(()).with_items(items.iter().cloned());
    timed(request, move |request| call(&mut service, request))
}

pub(crate) fn run(effort: Effort) -> Vec<Row> {
    vec![
        no_sources(100, effort),
        no_sources(1_000, effort),
        four_sources(effort),
        while_gathering(false, effort),
        while_gathering(true, effort),
        beside_tower(effort),
    ]
}

/// The layer beside the selection and the bare call, which it cannot do without.
fn no_sources(n: usize, effort: Effort) -> Row {
    let items = data::ours(&data::raw(n));
    let (pipeline, budget) = (pipeline(), budget());
    let selected = pipeline.run(&items, &budget).unwrap().len();
    let request = ContextRequest::new(()).with_items(items.iter().cloned());
    assert_eq!(call(&mut wrapped(layer()), request), selected);
    let times = medians(
        effort,
        [
            calling(wrapped(layer()), &items),
            timed(|| (), |()| pipeline.run(&items, &budget).unwrap().len()),
            calling(Model, &items),
        ],
    );
    let sum = times[1] + times[2];
    Row::new(
        "the layer, no sources",
        n,
        times[0],
        "run + bare call",
        sum,
        Goal::AtMostPlus(1.3, 2.0),
    )
}

/// A layer with these items in four sources.
fn from_four_sources(items: &[ContextItem]) -> CupelLayerBuilder<Request, ContextRequestAdapter> {
    let sources = items.chunks(250).zip(["one", "two", "three", "four"]);
    sources.fold(layer(), |layer, (items, name)| layer.source(Source::items(name, items.to_vec())))
}

/// The same items, from sources and in the request.
fn four_sources(effort: Effort) -> Row {
    let items = data::ours(&data::raw(1_000));
    let gathering = || wrapped(from_four_sources(&items));
    let request = ContextRequest::new(()).with_items(items.iter().cloned());
    let selected = call(&mut wrapped(layer()), request);
    assert_eq!(call(&mut gathering(), ContextRequest::new(())), selected);
    let times = medians(effort, [calling(gathering(), &[]), calling(wrapped(layer()), &items)]);
    Row::new("4 sources of 250", 1_000, times[0], "in the request", times[1], Goal::AtMost(2.0))
}

/// A source that has nothing, and says so only when it has been asked a few times.
fn late() -> Source<Request> {
    Source::stream("late", |_: &Request| {
        let mut asked = 0;
        stream::poll_fn(move |cx| {
            asked += 1;
            if asked > 5 {
                return Poll::Ready(None::<Result<ContextItem, Infallible>>);
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
    })
}

/// Selecting while gathering, beside selecting at the end: when all is there at once, and when
/// there is something to wait for.
fn while_gathering(waiting: bool, effort: Effort) -> Row {
    let items = data::ours(&data::raw(1_000));
    let service = |while_gathering: bool| {
        let layer = from_four_sources(&items).select_while_gathering(while_gathering);
        wrapped(if waiting { layer.source(late()) } else { layer })
    };
    let request = ContextRequest::new(());
    assert_eq!(call(&mut service(true), request.clone()), call(&mut service(false), request));
    let times = medians(effort, [calling(service(true), &[]), calling(service(false), &[])]);
    let (name, goal) = match waiting {
        true => ("while gathering, with a wait", Goal::ForScale),
        false => ("while gathering, all ready", Goal::AtMost(1.3)),
    };
    Row::new(name, 1_000, times[0], "at the end", times[1], goal)
}

/// One small call, beside middleware that everybody knows.
fn beside_tower(effort: Effort) -> Row {
    let items = data::ours(&data::raw(1));
    let stack =
        ServiceBuilder::new().timeout(Duration::from_secs(30)).concurrency_limit(64).service(Model);
    let times = medians(effort, [calling(wrapped(layer()), &items), calling(stack, &items)]);
    let against = "timeout + concurrency_limit";
    Row::new("one call", 1, times[0], against, times[1], Goal::ForScale)
}
