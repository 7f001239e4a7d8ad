//! An adapter that counts sources' items its own way makes copies of one text differ in size.

use cupel::gather::{Source, StopReason};
use cupel::layer::{ContextRequest, CupelLayer};
use cupel::{ContextBudget, ContextItem, Policy};

use crate::support::{Recounting, Request, item, send, timetable};

/// Sends a request in a batch and while items arrive.
async fn both(
    overhead: i64,
    budget: i64,
    own: &[ContextItem],
    source: impl Fn() -> Source<Request>,
) -> [(Vec<String>, StopReason); 2] {
    let mut sent = Vec::new();
    for streaming in [false, true] {
        let builder = CupelLayer::builder()
            .adapter(Recounting(overhead))
            .policy(Policy::rag())
            .budget(ContextBudget::builder(budget).build().unwrap())
            .select_while_gathering(streaming)
            .source(source());
        let request = ContextRequest::new(()).with_items(own.iter().cloned());
        let (contents, selection) = send(builder, request).await.unwrap();
        sent.push((contents, selection.gather.stopped));
    }
    sent.try_into().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_smaller_copy_makes_room_again_for_what_had_none() {
    // Of 10 tokens "text" takes 5, so that "next" with its 6 has no room; enough others come after
    // them to make anybody who goes by sizes forget it. Then the source brings "text" as well, with
    // a better score and two tokens less: beside 3 tokens there is room for 6.
    let mut own = vec![item("text", 5, 0.8), item("next", 6, 0.6)];
    own.extend((0..100).map(|number| item(&format!("filler {number}"), 9, 0.1)));
    let [batch, stream] =
        both(-2, 10, &own, || timetable("rag", vec![(10, item("text", 5, 0.9))])).await;
    assert_eq!(batch.0, ["text", "next"]);
    assert_eq!(batch, stream);
}

#[tokio::test(start_paused = true)]
async fn a_better_copy_that_does_not_fit_takes_the_place_of_one_that_does() {
    // 11 of 12 tokens are used, and nothing below 10 can come. But what comes may be a better copy
    // of "text", which then has 10 tokens and no room.
    let own = [item("best", 9, 0.9), item("text", 2, 0.1)];
    let late = || timetable("rag", vec![(10, item("text", 2, 0.2))]).max_score(0.2).min_tokens(10);
    let [batch, stream] = both(8, 12, &own, late).await;
    assert_eq!(batch.0, ["best"]);
    assert_eq!(batch, stream);

    // Where no copy can be better, the call need not wait.
    let own = [item("best", 9, 0.9), item("text", 2, 0.3)];
    let [batch, stream] = both(8, 12, &own, late).await;
    assert_eq!(batch.0, ["best", "text"]);
    assert_eq!(stream, (batch.0, StopReason::Settled));
}
