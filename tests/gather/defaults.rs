//! A source's defaults fill what its items leave open, and nothing else.

use cupel::gather::Source;
use cupel::layer::Selection;
use cupel::{ContextItem, ContextKind, ContextSource};

use crate::common::{Request, item, layer_with, pinned, report, request};

async fn included(source: Source<Request>) -> Vec<ContextItem> {
    let (_, selection): (_, Selection) = report(layer_with([source]), request()).await.unwrap();
    selection.report.included.into_iter().map(|included| included.item).collect()
}

#[tokio::test]
async fn a_plain_item_gets_the_defaults() {
    let source = Source::items("rag", [item("plain", 3)])
        .default_kind(ContextKind::document())
        .default_source(ContextSource::rag())
        .default_tags(["corpus", "en"]);
    let items = included(source).await;
    assert_eq!(items[0].kind(), &ContextKind::document());
    assert_eq!(items[0].source(), &ContextSource::rag());
    assert_eq!(items[0].tags(), ["corpus", "en"]);
    assert_eq!((items[0].content(), items[0].tokens()), ("plain", 3));
}

#[tokio::test]
async fn what_an_item_sets_itself_stays() {
    let own = ContextItem::builder("own", 3)
        .kind(ContextKind::memory())
        .source(ContextSource::tool())
        .tag("mine")
        .priority(7)
        .future_relevance_hint(0.3)
        .metadata_entry("id", "9")
        .original_tokens(30)
        .build()
        .unwrap();
    let source = Source::items("rag", [own.clone()])
        .default_kind(ContextKind::document())
        .default_source(ContextSource::rag())
        .default_tags(["corpus"]);
    assert_eq!(included(source).await, [own]);
}

#[tokio::test]
async fn each_default_works_alone_and_leaves_the_rest() {
    let kind = Source::items("rag", [pinned("a", 1)]).default_kind(ContextKind::document());
    let [a] = <[ContextItem; 1]>::try_from(included(kind).await).unwrap();
    assert_eq!((a.kind(), a.source()), (&ContextKind::document(), &ContextSource::default()));
    assert!(a.pinned() && a.tags().is_empty());

    let tags = Source::items("rag", [item("b", 1)]).default_tags(["t"]);
    let [b] = <[ContextItem; 1]>::try_from(included(tags).await).unwrap();
    assert_eq!((b.kind(), b.tags()), (&ContextKind::default(), &["t".to_owned()][..]));
}

#[tokio::test]
async fn without_defaults_the_very_same_item_arrives() {
    let given = item("given", 1);
    let items = included(Source::items("rag", [given.clone()])).await;
    assert!(ContextItem::same(&items[0], &given));
}

#[tokio::test]
async fn defaults_do_not_copy_text() {
    let given = item("given", 1);
    let source = Source::items("rag", [given.clone()]).default_kind(ContextKind::document());
    let items = included(source).await;
    assert!(std::sync::Arc::ptr_eq(&items[0].shared_content(), &given.shared_content()));
}

#[tokio::test]
async fn defaults_of_one_source_do_not_reach_another_or_the_request() {
    let tagged = Source::items("tagged", [item("a", 1)]).default_tags(["t"]);
    let plain = Source::items("plain", [item("b", 1)]);
    let asked = request().item(item("own", 1));
    let (_, selection) = report(layer_with([tagged, plain]), asked).await.unwrap();
    let tagged: Vec<_> =
        selection.report.included.iter().filter(|i| !i.item.tags().is_empty()).collect();
    assert_eq!(tagged.len(), 1);
    assert_eq!(tagged[0].item.content(), "a");
}
