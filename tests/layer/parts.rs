//! Answers of an adapter beside its candidates: refused parts, uncounted parts, and text around the
//! items of sources.

use std::convert::Infallible;
use std::future::ready;

use cupel::ContextItem;
use cupel::diagnostics::ExclusionReason;
use cupel::gather::{BoxError, Source};
use cupel::layer::{
    ContextAdapter, ContextError, CupelLayer, CupelLayerBuilder, Edits, Error, RefusedItem, Split,
    Strategy,
};
use tower::{Layer, ServiceExt, service_fn};

use crate::common::{Recorder, budget, item, pipeline, relevant};

/// Writes every item on a line of three tokens more, under a heading of five.
#[derive(Clone, Default)]
struct Page {
    frame_tokens: i64,
}

impl ContextAdapter<Vec<String>> for Page {
    type Rest = ();

    fn split(&self, request: Vec<String>, _: Strategy) -> Result<Split<()>, BoxError> {
        let candidates = request
            .iter()
            .map(|line| ContextItem::new(line.as_str(), 1))
            .collect::<Result<_, _>>()?;
        let mut split = Split::new(candidates, 2, ());
        split.source_frame_tokens = self.frame_tokens;
        split.refused =
            vec![RefusedItem { item: item("half a call", 9), why: "no answer".to_owned() }];
        split.uncounted = vec!["an attachment".to_owned()];
        Ok(split)
    }

    fn join(&self, (): (), edits: &mut Edits) -> Result<Vec<String>, BoxError> {
        Ok(edits.placed.iter().map(|placed| placed.item.content().to_owned()).collect())
    }

    fn source_item_tokens(&self, (): &(), item: &ContextItem) -> i64 {
        item.tokens() + 3
    }
}

async fn send(
    page: Page,
    sources: Vec<Source<Vec<String>>>,
    streaming: bool,
) -> (Result<Vec<String>, Error<Infallible>>, Recorder) {
    let hook = Recorder::default();
    let builder = CupelLayer::builder()
        .adapter(page)
        .pipeline(pipeline())
        .budget(budget(20))
        .select_while_gathering(streaming)
        .hook(hook.clone());
    let layer = sources.into_iter().fold(builder, CupelLayerBuilder::source);
    let service = layer.build().unwrap().layer(service_fn(|lines| ready(Ok(lines))));
    (service.oneshot(vec!["own".to_owned()]).await, hook)
}

#[tokio::test]
async fn refused_parts_are_excluded_with_their_reason() {
    let (sent, hook) = send(Page::default(), Vec::new(), false).await;
    assert_eq!(sent.unwrap(), ["own"]);
    let selections = hook.selections.lock().unwrap();
    let selection = &selections[0];
    assert_eq!(selection.report.excluded.len(), 1);
    assert_eq!(selection.report.excluded[0].item.content(), "half a call");
    assert_eq!(
        selection.report.excluded[0].reason,
        ExclusionReason::Filtered { filter_name: "no answer".to_owned() }
    );
    assert_eq!(selection.report.total_candidates, 2);
    assert_eq!(selection.report.total_tokens_considered, 10);
    assert_eq!(selection.refused, 1);
    assert_eq!(selection.uncounted, ["an attachment"]);
}

#[tokio::test]
async fn items_of_sources_cost_what_they_take_in_the_request() {
    for streaming in [false, true] {
        // 20 tokens, less 2 fixed and 5 for the heading, are 13: one item of 5 + 3 and one of
        // 1 + 3 fit beside the request's own of 1; counted bare, all three would have.
        let items = vec![relevant("a", 5, 0.9), relevant("b", 1, 0.5), relevant("c", 4, 0.1)];
        let source = Source::items("rag", items);
        let (sent, hook) = send(Page { frame_tokens: 5 }, vec![source], streaming).await;
        let mut sent = sent.unwrap();
        sent.sort();
        assert_eq!(sent, ["a", "b", "own"], "streaming: {streaming}");
        let selections = hook.selections.lock().unwrap();
        let selection = &selections[0];
        assert_eq!(selection.fixed_tokens, 7);
        assert_eq!(selection.budget.max_tokens(), 13);
        let left_out =
            selection.report.excluded.iter().find(|out| out.item.content() == "c").unwrap();
        assert_eq!(left_out.item.tokens(), 7);
    }
}

#[tokio::test]
async fn nothing_is_written_around_items_without_sources() {
    let (_, hook) = send(Page { frame_tokens: 5 }, Vec::new(), false).await;
    assert_eq!(hook.selections.lock().unwrap()[0].fixed_tokens, 2);
}

#[tokio::test]
async fn a_negative_frame_is_an_error() {
    let source = Source::items("rag", Vec::new());
    let (sent, _) = send(Page { frame_tokens: -1 }, vec![source], false).await;
    let Err(Error::Context(error @ ContextError::Adapter(_))) = sent else { panic!("was sent") };
    assert_eq!(
        error.to_string(),
        "the request could not be adapted: source_frame_tokens must be at least 0, got -1"
    );
}

/// Sends the item "b" only with "a".
struct Together;

impl ContextAdapter<Vec<ContextItem>> for Together {
    type Rest = ();

    fn split(&self, items: Vec<ContextItem>, _: Strategy) -> Result<Split<()>, BoxError> {
        let mut split = Split::new(items, 0, ());
        split.needs.insert(1, 0);
        Ok(split)
    }

    fn join(&self, (): (), edits: &mut Edits) -> Result<Vec<ContextItem>, BoxError> {
        Ok(edits.placed.drain(..).map(|placed| placed.item).collect())
    }
}

#[tokio::test]
async fn what_is_withdrawn_is_not_sent_and_explained() {
    for streaming in [false, true] {
        for (room, expected) in [(20, vec!["a", "b", "c"]), (5, vec!["c"])] {
            let hook = Recorder::default();
            let layer = CupelLayer::builder()
                .adapter(Together)
                .pipeline(pipeline())
                .budget(budget(room))
                .select_while_gathering(streaming)
                .hook(hook.clone())
                .build()
                .unwrap();
            let items = vec![relevant("a", 9, 0.9), relevant("b", 2, 0.5), relevant("c", 3, 0.4)];
            let service = layer.layer(service_fn(|items| ready(Ok::<_, Infallible>(items))));
            let sent: Vec<ContextItem> = service.oneshot(items).await.unwrap();
            let mut sent: Vec<&str> = sent.iter().map(ContextItem::content).collect();
            sent.sort_unstable();
            assert_eq!(sent, expected);
            let selections = hook.selections.lock().unwrap();
            let selection = &selections[0];
            assert_eq!(selection.report.included.len(), expected.len());
            assert_eq!(selection.report.total_candidates, 3);
            let filtered =
                selection.report.excluded.iter().filter(|out| out.reason.name() == "Filtered");
            let filtered: Vec<&str> = filtered.map(|out| out.item.content()).collect();
            assert_eq!(filtered, if room == 5 { vec!["b"] } else { vec![] });
            assert_eq!(selection.refused, filtered.len());
        }
    }
}
