//! Calls that take turns on one thread keep their spans apart.

use std::convert::Infallible;

use cupel::gather::Source;
use cupel::layer::ContextRequest;
use futures::future::join_all;
use tokio::time::sleep;
use tower::{Layer, ServiceExt, service_fn};
use tracing::Instrument;

use crate::common::{Request, item, layer_with, ms, request};
use cupel_dev::recorder::Recorder;

/// A source that lets others run three times; each time it says for whom.
fn talking(name: &'static str) -> Source<Request> {
    Source::list(name, |request: &Request| {
        let caller = request.payload;
        async move {
            for _ in 0..3 {
                sleep(ms(1)).await;
                tracing::info!(caller, "source");
            }
            Ok::<_, Infallible>([item("found", 1)])
        }
    })
}

#[tokio::test(start_paused = true)]
async fn calls_that_take_turns_do_not_end_up_inside_each_other() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let model = service_fn(|request: Request| async move {
        sleep(ms(1)).await;
        tracing::info!(caller = request.payload, "model");
        Ok::<_, Infallible>(())
    });
    let service = layer_with([talking("one"), talking("two")]).build().unwrap().layer(model);
    let callers = ["alice", "bob", "carol"];
    join_all(callers.map(|caller| {
        let service = service.clone();
        let call = async move { service.oneshot(ContextRequest::new(caller)).await };
        call.instrument(tracing::info_span!("turn", caller))
    }))
    .await
    .into_iter()
    .for_each(|call| call.unwrap());

    recorder.assert_all_closed();
    recorder.read(|recorded| {
        let root_of = |mut at: usize| {
            while let Some(parent) = recorded.spans[at].parent {
                at = parent;
            }
            &recorded.spans[at]
        };
        let ours: Vec<_> =
            recorded.events.iter().filter(|event| event.fields.contains_key("caller")).collect();
        assert_eq!(ours.len(), 3 * (2 * 3 + 1));
        for event in ours {
            let parent = event.parent.unwrap();
            assert_eq!(event.fields["caller"], root_of(parent).fields["caller"]);
            let path = recorded.path(parent);
            let from_model =
                event.fields["message"] == cupel_dev::recorder::Value::Debug("model".into());
            let expected = if from_model {
                "turn"
            } else {
                "turn > cupel.selection > cupel.gather > cupel.source"
            };
            assert_eq!(path, expected);
        }
        let calls = recorded.spans.iter().filter(|span| span.name == "cupel.selection").count();
        assert_eq!(calls, 3);
    });
}

#[tokio::test(start_paused = true)]
async fn a_call_belongs_to_the_span_it_was_made_in_wherever_it_is_polled() {
    let (recorder, _guard) = Recorder::on_this_thread();
    let model = service_fn(|_: Request| async { Ok::<_, Infallible>(()) });
    let service = layer_with([talking("one")]).build().unwrap().layer(model);
    let call = tracing::info_span!("made").in_scope(|| {
        let mut service = service;
        tower::Service::call(&mut service, request())
    });
    call.instrument(tracing::info_span!("polled")).await.unwrap();
    let paths = recorder.paths();
    assert!(paths.contains(&"made > cupel.selection > cupel.pipeline".to_owned()), "{paths:?}");
    assert!(!paths.iter().any(|path| path.starts_with("polled >")), "{paths:?}");
}
