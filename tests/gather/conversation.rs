//! Conversations in memory: each request gets its own, as it stands when the call is made.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cupel::ContextItem;
use cupel::gather::{ConversationStore, Source, SourceOutcome};
use tower::{Layer, Service, ServiceExt};

use crate::common::{
    Echo, Request, call, context_error, item, layer_with, numbered, report, request,
};

fn by_model(store: &ConversationStore) -> Source<Request> {
    store.source("history", |request: &Request| request.payload.to_owned())
}

fn contents(items: &[ContextItem]) -> Vec<&str> {
    items.iter().map(ContextItem::content).collect()
}

#[tokio::test]
async fn a_request_gets_the_items_of_its_own_conversation_in_order() {
    let store = ConversationStore::new();
    store.append("model".to_owned(), item("hello", 1));
    store.append("other".to_owned(), item("not for you", 1));
    store.extend("model".to_owned(), [item("how are you", 3), item("fine", 1)]);
    let (sent, selection) = report(layer_with([by_model(&store)]), request()).await.unwrap();
    assert_eq!(sent, ["hello", "how are you", "fine"]);
    assert_eq!(selection.gather.source("history").unwrap().items, 3);
}

#[tokio::test]
async fn a_conversation_that_has_not_begun_is_empty_and_no_failure() {
    let store = ConversationStore::default();
    let (sent, selection) = report(layer_with([by_model(&store)]), request()).await.unwrap();
    assert!(sent.is_empty());
    assert_eq!(selection.gather.source("history").unwrap().outcome, SourceOutcome::Completed);
}

#[tokio::test]
async fn a_conversation_that_cannot_be_given_fails_the_call() {
    let store: ConversationStore<String> = ConversationStore::new();
    let nameless = store.source("history", |_: &Request| panic!("no name"));
    let error = context_error(report(layer_with([nameless]), request()).await);
    assert_eq!(error.to_string(), "required source \"history\" panicked: no name");
}

#[tokio::test]
async fn a_conversation_grows_between_calls() {
    let store = ConversationStore::new();
    let mut service = layer_with([by_model(&store)]).build().unwrap().layer(Echo::default());
    for turn in 0..3 {
        let sent = call(&mut service, request()).await.unwrap();
        assert_eq!(sent.len(), turn);
        store.clone().append("model".to_owned(), item(&format!("turn {turn}"), 1));
    }
}

#[tokio::test]
async fn what_is_appended_after_the_call_was_made_is_for_the_next_one() {
    let store = ConversationStore::new();
    store.append("model".to_owned(), item("before", 1));
    let mut service = layer_with([by_model(&store)]).build().unwrap().layer(Echo::default());
    let made = service.ready().await.unwrap().call(request());
    store.append("model".to_owned(), item("after", 1));
    assert_eq!(made.await.unwrap(), ["before"]);
    assert_eq!(call(&mut service, request()).await.unwrap(), ["before", "after"]);
}

#[test]
fn items_are_handed_out_and_forgotten() {
    let store = ConversationStore::new();
    store.extend(7, numbered("item", 2));
    assert_eq!(contents(&store.items(&7)), ["item-0", "item-1"]);
    assert_eq!(contents(&store.remove(&7)), ["item-0", "item-1"]);
    assert!(store.items(&7).is_empty() && store.remove(&7).is_empty());
    assert_eq!(format!("{store:?}"), "ConversationStore { conversations: 0 }");
}

#[test]
fn a_conversation_can_be_made_from_others_while_it_is_extended() {
    let store = ConversationStore::new();
    store.append(1, item("one", 1));
    store.append(2, item("two", 1));
    let (done, finished) = std::sync::mpsc::channel();
    let copy = store.clone();
    std::thread::spawn(move || {
        // The list is made while it is read: each step asks the store.
        copy.extend(3, [1, 2].into_iter().flat_map(|id| copy.items(&id)));
        done.send(()).unwrap();
    });
    finished.recv_timeout(std::time::Duration::from_secs(20)).expect("the store locked itself");
    assert_eq!(contents(&store.items(&3)), ["one", "two"]);
}

#[test]
fn a_list_that_panics_leaves_the_store_usable() {
    let store = ConversationStore::new();
    store.append(1, item("one", 1));
    let broken = (0..3).map(|number| {
        assert!(number < 2, "lost the connection");
        item("part", 1)
    });
    assert!(catch_unwind(AssertUnwindSafe(|| store.extend(1, broken))).is_err());
    store.append(1, item("two", 1));
    // All or nothing of the list that panicked.
    assert_eq!(contents(&store.items(&1)), ["one", "two"]);
}
