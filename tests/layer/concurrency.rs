//! Calls from many tasks at once keep to themselves.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cupel::gather::{ConversationStore, Source};
use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer, Selection};
use cupel::{ContextItem, Policy};
use futures::stream::{self, StreamExt};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::common::{budget, item};

const TASKS: u64 = 48;
const TURNS: usize = 25;

type Turn = ContextRequest<u64>;

/// Passages for one task only, with a pause between any two.
fn passages() -> Source<Turn> {
    Source::stream("passages", |turn: &Turn| {
        let task = turn.payload;
        stream::iter(0..5).then(move |number| async move {
            tokio::task::yield_now().await;
            ContextItem::new(format!("task {task} passage {number}"), 1)
        })
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tasks_share_one_layer() {
    let history = ConversationStore::new();
    let selections = Arc::new(AtomicUsize::new(0));
    let layer = CupelLayer::builder()
        .adapter(ContextRequestAdapter)
        .policy(Policy::chat())
        .budget(budget(10_000))
        .source(history.source("history", |turn: &Turn| turn.payload))
        .source(passages())
        .on_selection({
            let selections = Arc::clone(&selections);
            move |selection: &Selection| {
                assert_eq!(selection.gather.sources.len(), 2);
                selections.fetch_add(1, Ordering::SeqCst);
            }
        })
        .build()
        .unwrap();
    let model = service_fn(|turn: Turn| ready(Ok::<_, Infallible>(turn)));
    let service = layer.layer(model);

    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (mut service, history) = (service.clone(), history.clone());
            tokio::spawn(async move {
                for turn in 0..TURNS {
                    let question = item(&format!("task {task} question {turn}"), 1);
                    let asked = ContextRequest::new(task).item(question.clone());
                    let sent = service.ready().await.unwrap().call(asked).await.unwrap();
                    assert_eq!(sent.payload, task);
                    // The question, five passages and the earlier questions: all of this task.
                    assert_eq!(sent.items().count(), 1 + 5 + turn);
                    let own = format!("task {task} ");
                    assert!(sent.items().all(|item| item.content().starts_with(&own)));
                    history.append(task, question);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(selections.load(Ordering::SeqCst), TASKS as usize * TURNS);
}
