//! Explanations of the layer, with and without the parts of scores.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cupel::explain::{Explanation, ReportPage, Section, SourceTiming, Text};
use cupel::gather::Source;
use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer, Selection};
use cupel::{ContextBudget, ContextItem, Policy};
use tower::{Layer, Service, ServiceExt, service_fn};

fn hit(text: &str, tokens: i64, hint: f64) -> ContextItem {
    ContextItem::builder(text, tokens).future_relevance_hint(hint).build().unwrap()
}

/// One call with a source that delivers, one that fails and one that hangs.
async fn select(streaming: bool, explain: bool) -> Selection {
    let hits = || [hit("a", 10, 0.9), hit("b", 10, 0.5), hit("c", 90, 0.1)];
    let layer = CupelLayer::builder()
        .adapter(ContextRequestAdapter)
        .policy(Policy::rag())
        .budget(ContextBudget::builder(60).output_reserve(10).build().unwrap())
        .source(Source::list("rag", move |_: &ContextRequest<()>| async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok::<_, Infallible>(hits())
        }))
        .source(
            Source::list("crm", |_: &ContextRequest<()>| async {
                Err::<[ContextItem; 0], _>("connection closed")
            })
            .optional(),
        )
        .source(
            Source::stream("slow", |_: &ContextRequest<()>| {
                futures::stream::pending::<Result<ContextItem, Infallible>>()
            })
            .optional(),
        )
        .gather_deadline(Duration::from_millis(50))
        .select_while_gathering(streaming)
        .explain_scores(explain)
        .build()
        .unwrap();
    let model = service_fn(|_: ContextRequest<()>| async { Ok::<_, Infallible>(()) });
    let service = layer.with_report().layer(model);
    let question = ContextItem::builder("question", 5).pinned(true).build().unwrap();
    let mut service = service;
    let call = service.ready().await.unwrap();
    call.call(ContextRequest::new(()).item(question)).await.unwrap().1
}

#[tokio::test(start_paused = true)]
async fn sources_budget_and_notes_are_there() {
    let explanation = select(false, false).await.explain();
    assert_eq!(explanation.budget.as_ref().unwrap().max_tokens(), 60);
    assert_eq!(explanation.gathered_ms, Some(50.0));
    let outcomes: Vec<_> = explanation
        .sources
        .iter()
        .map(|source| (&*source.name, &*source.outcome, source.detail.as_deref(), source.failed))
        .collect();
    assert_eq!(
        outcomes,
        [
            ("rag", "completed", None, false),
            ("crm", "failed", Some("connection closed"), true),
            ("slow", "timed_out", None, true),
        ]
    );
    let text = explanation.text().sections(&[Section::Sources]).to_string();
    assert!(text.contains("failed: connection closed") && text.contains("timed out"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn scores_are_explained_when_asked_for_in_a_batch_and_while_gathering() {
    for streaming in [false, true] {
        let plain = select(streaming, false).await.report;
        assert!(plain.included.iter().all(|entry| entry.details.is_none()));
        let report = select(streaming, true).await.report;
        assert_eq!((report.included.len(), report.excluded.len()), (3, 1));
        for entry in &report.included {
            let parts = entry.details.as_ref().and_then(|details| details.score.as_ref());
            assert_eq!(parts.is_none(), entry.item.pinned(), "{entry:?}");
            assert!(parts.is_none_or(|parts| parts.score == entry.score), "{entry:?}");
        }
        assert!(report.excluded.iter().all(|entry| entry.details.is_some()));
    }
}

#[test]
fn everything_crosses_threads() {
    fn assert_shared<T: Send + Sync + std::fmt::Debug>() {}
    assert_shared::<Explanation>();
    assert_shared::<SourceTiming>();
    assert_shared::<Text<'_>>();
    assert_shared::<ReportPage<'_>>();
    assert_shared::<cupel::explain::Difference>();
    assert_shared::<cupel::scorer::ScoreParts>();
    // A hook can keep the call before, to show what moved.
    let last: Arc<Mutex<Option<Explanation>>> = Arc::default();
    let hook = move |selection: &Selection| {
        let now = selection.explain();
        let mut last = last.lock().unwrap();
        let text = now.text().previous(last.as_ref()).brief().to_string();
        assert!(!text.is_empty());
        *last = Some(now);
    };
    let _: &(dyn Fn(&Selection) + Send + Sync) = &hook;
}
