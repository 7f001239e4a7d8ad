//! Spans and metrics of async judges, without the texts that they judge.

use std::time::Duration;

use async_trait::async_trait;
use cupel::Policy;
use cupel::gather::{BoxError, EmbedAs, Embedder, EmbeddingsJudge};
use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
use cupel::{ContextBudget, ContextItem};
use cupel_otel::CupelVerbosity::StageOnly;
use opentelemetry::trace::Status;

use crate::otel::common::{Exported, ms};
use crate::otel::metrics::Measured;

/// Answers after a while.
struct Model(Duration);

#[async_trait]
impl Embedder for Model {
    fn model(&self) -> &str {
        "minilm"
    }

    async fn embed(&self, _: EmbedAs, texts: &[&str]) -> Result<Vec<Vec<f32>>, BoxError> {
        tokio::time::sleep(self.0).await;
        Ok(texts.iter().map(|_| vec![1.0]).collect())
    }
}

/// Sends a request of 40 texts twice.
async fn send(exported: &Exported, measured: &Measured, takes: Duration) {
    let hook = exported.hook(StageOnly).metrics(measured.metrics());
    let layer = CupelLayer::<ContextRequest<()>, _>::builder()
        .adapter(ContextRequestAdapter)
        .policy(Policy::rag())
        .budget(ContextBudget::builder(100).build().unwrap())
        .waiting_judge(EmbeddingsJudge::new(Model(takes)).waiting().deadline(ms(100)))
        .hook(hook);
    let selector = layer.build().unwrap().selector();
    for _ in 0..2 {
        let mut request = ContextRequest::new(());
        for number in 0..40 {
            let item = ContextItem::new(format!("confidential text {number}"), 10).unwrap();
            request = request.item(item);
        }
        selector.select(request.question("Which confidential car?")).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_judge_has_a_span_and_metrics() {
    let (exported, measured) = (Exported::new(), Measured::new());
    send(&exported, &measured, ms(20)).await;
    let spans = exported.named("cupel.judge");
    assert_eq!(spans.len(), 2);
    let attributes = |at: usize| -> Vec<String> {
        let shown = spans[at].attributes.iter().map(|it| format!("{}={}", it.key, it.value));
        shown.collect()
    };
    let first = [
        "cupel.judge.name=minilm",
        "cupel.judge.texts=40",
        "cupel.judge.judged=40",
        "cupel.judge.requests=3",
        "cupel.judge.cached=0",
        "cupel.judge.reused=false",
        "cupel.judge.outcome=completed",
    ];
    assert_eq!(attributes(0), first);
    assert!(attributes(1).contains(&"cupel.judge.requests=0".to_owned()), "{:?}", attributes(1));
    assert!(attributes(1).contains(&"cupel.judge.cached=40".to_owned()), "{:?}", attributes(1));
    let selections = exported.named("cupel.selection");
    assert_eq!(spans[0].parent_span_id, selections[0].span_context.span_id());

    let series = measured.series();
    let value = |name: &str| series.get(name).unwrap_or_else(|| panic!("{name}: {series:?}")).1;
    assert_eq!(value("cupel.judge.texts{cupel.judge.name=minilm}"), 80.0);
    assert_eq!(value("cupel.judge.requests{cupel.judge.name=minilm}"), 3.0);
    assert_eq!(value("cupel.judge.cached{cupel.judge.name=minilm}"), 40.0);
    assert!(series.keys().any(|name| name.starts_with("cupel.judge.duration")), "{series:?}");
    assert!(!series.keys().any(|name| name.starts_with("cupel.judge.failures")), "{series:?}");
    let all = format!("{:?}{series:?}", exported.spans());
    assert!(!all.contains("confidential") && !all.contains("car?"), "{all}");
}

#[tokio::test(start_paused = true)]
async fn a_judge_that_is_late_ends_its_span_with_an_error() {
    let (exported, measured) = (Exported::new(), Measured::new());
    send(&exported, &measured, Duration::from_secs(60)).await;
    let spans = exported.named("cupel.judge");
    assert_eq!(spans[0].status, Status::error("timed_out"));
    let late = measured.series().into_iter().find(|(name, _)| {
        name.starts_with("cupel.judge.failures") && name.contains("cupel.judge.outcome=timed_out")
    });
    assert_eq!(late.unwrap().1.0, 2);
}
