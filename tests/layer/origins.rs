//! Every selected item comes back with where it came from.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;

use cupel::gather::{BoxError, Source};
use cupel::layer::{
    ContextAdapter, CupelLayer, CupelLayerBuilder, Edits, Origin, PlacedItem, Split, Strategy,
};
use cupel::{ChronologicalPlacer, ContextItem, GreedySlice, Pipeline, ReflexiveScorer};
use tower::{Layer, ServiceExt, service_fn};

use crate::common::{budget, item, pinned, relevant};

/// A request that is its candidates, and after the layer what was placed.
#[derive(Default)]
struct Traced {
    candidates: Vec<ContextItem>,
    placed: Vec<PlacedItem>,
}

struct Tracing;

impl ContextAdapter<Traced> for Tracing {
    type Rest = ();

    fn split(&self, request: Traced, _: Strategy) -> Result<Split<()>, BoxError> {
        Ok(Split::new(request.candidates, 0, ()))
    }

    fn join(&self, (): (), edits: &mut Edits) -> Result<Traced, BoxError> {
        Ok(Traced { placed: std::mem::take(&mut edits.placed), ..Traced::default() })
    }
}

/// Sends these candidates with a budget of 100 tokens, and returns the placed ones.
async fn placed(
    deduplication: bool,
    candidates: Vec<ContextItem>,
    sources: Vec<Source<Traced>>,
) -> Vec<(String, Origin)> {
    let pipeline = Pipeline::builder()
        .scorer(ReflexiveScorer)
        .slicer(GreedySlice)
        .placer(ChronologicalPlacer)
        .deduplication(deduplication)
        .build()
        .unwrap();
    let builder = CupelLayer::builder().adapter(Tracing).pipeline(pipeline).budget(budget(100));
    let layer = sources.into_iter().fold(builder, CupelLayerBuilder::source);
    let model = service_fn(|request: Traced| ready(Ok::<_, Infallible>(request.placed)));
    let request = Traced { candidates, ..Traced::default() };
    let placed = layer.build().unwrap().layer(model).oneshot(request).await.unwrap();
    placed.into_iter().map(|placed| (placed.item.content().to_owned(), placed.origin)).collect()
}

fn own(content: &str, index: usize) -> (String, Origin) {
    (content.to_owned(), Origin::Request(index))
}

fn from(content: &str, name: &str, position: usize) -> (String, Origin) {
    (content.to_owned(), Origin::Source { name: Arc::from(name), position })
}

#[tokio::test]
async fn origins_are_the_request_and_the_sources_by_name_and_position() {
    let sources = vec![
        Source::items("notes", [relevant("n0", 10, 0.7), relevant("n1", 90, 0.1)]),
        Source::items("files", [relevant("f0", 90, 0.1), relevant("f1", 10, 0.9)]),
    ];
    let candidates = vec![relevant("r0", 90, 0.1), relevant("r1", 10, 0.8), pinned("r2", 10)];
    assert_eq!(
        placed(true, candidates, sources).await,
        [own("r2", 2), from("f1", "files", 1), own("r1", 1), from("n0", "notes", 0)],
    );
}

#[tokio::test]
async fn one_handle_given_twice_keeps_two_origins() {
    let twice = relevant("twice", 10, 0.5);
    let candidates = vec![twice.clone(), relevant("other", 10, 0.6), twice.clone()];
    let sources = vec![Source::items("notes", [twice.clone(), twice.clone()])];
    assert_eq!(
        placed(false, candidates, sources).await,
        [
            own("other", 1),
            own("twice", 0),
            own("twice", 2),
            from("twice", "notes", 0),
            from("twice", "notes", 1),
        ],
    );
}

#[tokio::test]
async fn of_equal_duplicates_the_requests_own_is_kept() {
    let twice = relevant("twice", 10, 0.5);
    let sources = || vec![Source::items("notes", [twice.clone()])];
    assert_eq!(
        placed(true, vec![twice.clone(), twice.clone()], sources()).await,
        [own("twice", 0)]
    );
    assert_eq!(placed(true, vec![item("other", 1)], sources()).await.len(), 2);
}

#[tokio::test]
async fn of_unequal_duplicates_the_better_one_is_kept_with_its_own_origin() {
    let candidates = vec![relevant("same text", 10, 0.2)];
    let sources = || {
        vec![
            Source::items("weak", [relevant("same text", 10, 0.1)]),
            Source::items("strong", [item("x", 1), relevant("same text", 10, 0.9)]),
        ]
    };
    assert_eq!(
        placed(true, candidates.clone(), sources()).await,
        [from("same text", "strong", 1), from("x", "strong", 0)],
    );
    assert_eq!(placed(false, candidates, sources()).await.len(), 4);
}

#[tokio::test]
async fn an_item_that_loses_its_pin_or_gains_defaults_keeps_its_origin() {
    let source = Source::items("notes", [item("small", 1), pinned("large", 99)])
        .default_tags(["note"])
        .optional();
    let candidates = vec![pinned("question", 50)];
    // 99 tokens do not fit beside the question, pinned or not.
    assert_eq!(
        placed(true, candidates, vec![source.clone()]).await,
        [own("question", 0), from("small", "notes", 0)],
    );
    assert_eq!(
        placed(true, vec![], vec![source]).await,
        [from("large", "notes", 1), from("small", "notes", 0)],
    );
}

#[tokio::test]
async fn many_candidates_each_keep_their_own_origin() {
    let numbered = |prefix: &str| -> Vec<ContextItem> {
        (0..200).map(|n| relevant(&format!("{prefix}{n}"), 0, f64::from(n) / 200.0)).collect()
    };
    let sources = vec![Source::items("a", numbered("a")), Source::items("b", numbered("b"))];
    let placed = placed(true, numbered("r"), sources).await;
    assert_eq!(placed.len(), 600);
    for (content, origin) in placed {
        let (prefix, number) = content.split_at(1);
        let number: usize = number.parse().unwrap();
        let expected = match prefix {
            "r" => Origin::Request(number),
            name => Origin::Source { name: Arc::from(name), position: number },
        };
        assert_eq!(origin, expected);
    }
}
