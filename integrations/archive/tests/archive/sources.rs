//! The archive as a source of a layer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cupel::gather::{BoxError, Source};
use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer, Selection};
use cupel::{ContextBudget, ContextItem, Policy};
use cupel_archive::source::{Recall, history};
use cupel_archive::{Append, ArchiveMessage, ConversationHandle};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use crate::in_both;
use crate::support::Database;

type Request = ContextRequest<String>;

pub(crate) fn recall(conversation: &ConversationHandle) -> Recall<Request> {
    let conversation = conversation.clone();
    Recall::new(
        move |_: &Request| Some(conversation.clone()),
        |request: &Request| Some(request.payload.as_str().into()),
    )
}

/// Asks through a layer with one source, and returns the texts that were sent and the selection.
pub(crate) async fn ask(
    question: &str,
    sources: Vec<Source<Request>>,
    tokens: i64,
    streaming: bool,
) -> Result<(Vec<String>, Selection), BoxError> {
    let seen = Arc::new(Mutex::new(None));
    let selection = Arc::clone(&seen);
    let mut builder = CupelLayer::builder()
        .adapter(ContextRequestAdapter)
        .policy(Policy::rag())
        .budget(ContextBudget::builder(tokens).build()?)
        .select_while_gathering(streaming)
        .on_selection(move |made: &Selection| *selection.lock().unwrap() = Some(made.clone()));
    for source in sources {
        builder = builder.source(source);
    }
    let model = service_fn(async |request: Request| {
        Ok::<_, BoxError>(request.items().map(|item| item.content().to_owned()).collect::<Vec<_>>())
    });
    let mut model = ServiceBuilder::new().layer(builder.build()?).service(model);
    let sent = model.ready().await?.call(ContextRequest::new(question.to_owned())).await?;
    let selection = seen.lock().unwrap().take().unwrap();
    Ok((sent, selection))
}

async fn filled(database: &Database) -> ConversationHandle {
    let archive = database.open().await;
    let conversation = archive.namespace("t").unwrap().conversation("c").unwrap();
    let said = (0..100).map(|n| match n {
        12 => ArchiveMessage::user("My locker number is 4711.").tokens(8),
        _ => ArchiveMessage::user(format!("small talk {n}")).tokens(8),
    });
    conversation.append(Append::new(said)).await.unwrap();
    conversation
}

in_both! {
    async fn what_was_said_long_ago_is_sent_with_the_question(database) {
        let conversation = filled(database).await;
        for streaming in [false, true] {
            let recall = recall(&conversation).source("recall");
            let question = "Which locker is mine?";
            let (sent, selection) = ask(question, vec![recall], 60, streaming).await.unwrap();
            assert!(sent.iter().any(|text| text.contains("4711")), "{sent:?}");
            assert!(!sent.iter().any(|text| text.ends_with("talk 80")), "{sent:?}");
            let item = selection.report.included.iter().find(|it| it.item.content().contains("4711"));
            let item = &item.unwrap().item;
            assert_eq!(item.metadata()["number"], "13");
            assert_eq!(item.metadata()["conversation"], "c");
            assert!(item.future_relevance_hint().unwrap() > 0.3);
        }
    }

    async fn the_latest_messages_are_sent(database) {
        let conversation = filled(database).await;
        let history = history("history", 3, move |_: &Request| Some(conversation.clone()));
        let (mut sent, _) = ask("x", vec![history], 1_000, false).await.unwrap();
        // The policy places the best at both ends; here all are alike.
        sent.sort();
        assert_eq!(sent, ["small talk 97", "small talk 98", "small talk 99"]);
        let nobody = cupel_archive::source::history("history", 3, |_: &Request| None);
        assert_eq!(ask("x", vec![nobody], 1_000, false).await.unwrap().0, [""; 0]);
    }

    async fn a_broken_archive_fails_no_call_that_does_not_require_it(database) {
        let conversation = filled(database).await;
        let archive = database.builder().open().await.unwrap();
        let closed = archive.namespace("t").unwrap().conversation("c").unwrap();
        archive.close().await;
        let (sent, selection) =
            ask("locker", vec![recall(&closed).source("recall")], 60, false).await.unwrap();
        assert_eq!(sent, [""; 0]);
        let outcome = format!("{:?}", selection.gather);
        assert!(outcome.contains("Failed"), "{outcome}");
        let required = recall(&closed).source("recall").required();
        let error = ask("locker", vec![required], 60, false).await.unwrap_err();
        assert!(error.to_string().contains("recall"), "{error}");
        // The latest messages are the conversation.
        let history = history("history", 3, move |_: &Request| Some(closed.clone()));
        let error = ask("locker", vec![history], 60, false).await.unwrap_err();
        assert!(error.to_string().starts_with("required source \"history\" failed"), "{error}");
        let (sent, _) = ask("locker", vec![recall(&conversation).source("recall")], 60, false).await.unwrap();
        assert!(!sent.is_empty());
    }

    async fn a_call_leaves_when_nothing_of_the_archive_could_change_it(database) {
        let conversation = filled(database).await;
        // What the real source promises, over an archive that never answers.
        let never: Source<Request> = Source::stream("recall", |_: &Request| {
            futures::stream::pending::<Result<ContextItem, BoxError>>()
        })
        .max_score(0.2)
        .min_tokens(8);
        let fact = |n: usize| ContextItem::builder(format!("fact {n}"), 8).future_relevance_hint(1.0);
        let facts: Vec<ContextItem> = (0..7).map(|n| fact(n).build().unwrap()).collect();
        let best = Source::items("facts", facts);
        let asked = ask("locker", vec![best, never], 60, true);
        let (sent, selection) = tokio::time::timeout(Duration::from_secs(1), asked).await.unwrap().unwrap();
        assert_eq!(sent.len(), 7);
        assert!(selection.stream.is_some());
        // And the real source keeps its promises: none of its items is smaller or better.
        let real = recall(&conversation).ceiling(0.2).least_tokens(8).source("recall");
        let (_, selection) = ask("Which locker is mine?", vec![real], 60, true).await.unwrap();
        let hints = selection.report.included.iter().map(|it| it.item.future_relevance_hint());
        let best = hints.flatten().fold(0.0, f64::max);
        assert!(best > 0.0 && best <= 0.2, "{best}");
        assert!(selection.gather.sources.iter().all(|source| !source.broke_promise));
    }
}
