//! Spans keep their parents when calls move between workers and to the blocking pool.

use std::convert::Infallible;

use cupel::gather::Source;
use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
use futures::future::join_all;
use tower::{Layer, ServiceExt, service_fn};
use tracing::Instrument;

use crate::common::{budget, item, pipeline};
use cupel_dev::recorder::{Recorder, Value};

type Numbered = ContextRequest<i64>;

fn source() -> Source<Numbered> {
    Source::list("source", |request: &Numbered| {
        let number = request.payload;
        async move {
            for _ in 0..5 {
                tokio::task::yield_now().await;
                tracing::info!(number, "searching");
            }
            Ok::<_, Infallible>([item("found", 1)])
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn spans_keep_their_parents_across_threads() {
    let recorder = Recorder::everywhere();
    let model = service_fn(|request: Numbered| {
        let number = request.payload;
        let span = tracing::info_span!("model", number);
        async move {
            tokio::task::yield_now().await;
            Ok::<_, Infallible>(())
        }
        .instrument(span)
    });
    let layer = |threshold| {
        CupelLayer::builder()
            .adapter(ContextRequestAdapter)
            .pipeline(pipeline())
            .budget(budget(100))
            .source(source())
            .blocking_threshold(threshold)
            .build()
            .unwrap()
            .layer(model)
    };
    // One after the other on the executor, the next on the blocking pool.
    let services = [layer(u64::MAX), layer(0)];
    let tasks = (0..100_i64).map(|number| {
        let service = services[number as usize % 2].clone();
        let call = service.oneshot(ContextRequest::new(number));
        tokio::spawn(call.instrument(tracing::info_span!("turn", number)))
    });
    for task in join_all(tasks).await {
        task.unwrap().unwrap();
    }

    recorder.assert_all_closed();
    recorder.read(|recorded| {
        let mut models = 0;
        for (at, span) in recorded.spans.iter().enumerate() {
            let path = recorded.path(at);
            match span.name {
                "turn" => assert_eq!(path, "turn"),
                "cupel.selection" => assert_eq!(path, "turn > cupel.selection"),
                "cupel.gather" => assert_eq!(path, "turn > cupel.selection > cupel.gather"),
                "cupel.source" => {
                    assert_eq!(path, "turn > cupel.selection > cupel.gather > cupel.source");
                }
                "cupel.pipeline" => assert_eq!(path, "turn > cupel.selection > cupel.pipeline"),
                "model" => {
                    assert_eq!(path, "turn > model");
                    let turn = &recorded.spans[span.parent.unwrap()];
                    assert_eq!(span.fields["number"], turn.fields["number"]);
                    models += 1;
                }
                stage => {
                    assert_eq!(path, format!("turn > cupel.selection > cupel.pipeline > {stage}"));
                }
            }
        }
        assert_eq!(models, 100);
        let said: Vec<_> = recorded
            .events
            .iter()
            .filter(|event| event.fields.get("message") == Some(&Value::Debug("searching".into())))
            .collect();
        assert_eq!(said.len(), 500);
        for event in said {
            let source = event.parent.unwrap();
            let gather = recorded.spans[source].parent.unwrap();
            let call = recorded.spans[gather].parent.unwrap();
            let turn = &recorded.spans[recorded.spans[call].parent.unwrap()];
            assert_eq!(event.fields["number"], turn.fields["number"]);
        }
    });
}
