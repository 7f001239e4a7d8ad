//! The second process: questions about what the first one heard.

use cupel::gather::BoxError;
use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer};
use cupel::{ContextBudget, ContextItem, Policy};
use cupel_archive::Archive;
use cupel_archive::source::{Recall, history};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use crate::said;

type Request = ContextRequest<String>;

pub(crate) async fn ask(archive: &Archive) -> Result<(), BoxError> {
    let conversation = archive.namespace(said::TENANT)?.conversation(said::THREAD)?;
    let (latest, recalled) = (conversation.clone(), conversation);
    let layer = CupelLayer::builder()
        .adapter(ContextRequestAdapter)
        .policy(Policy::rag())
        .budget(ContextBudget::builder(160).build()?)
        .source(history("history", 4, move |_: &Request| Some(latest.clone())))
        .source(
            Recall::new(
                move |_: &Request| Some(recalled.clone()),
                |request: &Request| Some(request.payload.as_str().into()),
            )
            .limit(6)
            .source("recall"),
        )
        .build()?;
    let mut assistant = ServiceBuilder::new().layer(layer).service(service_fn(repeat));
    println!("\nProcess {}: was not there, and is asked.", std::process::id());
    for question in said::QUESTIONS {
        println!("\n> {question}");
        let asked = ContextItem::builder(question, 10).pinned(true).build()?;
        let request = ContextRequest::new(question.to_owned()).item(asked);
        println!("{}", assistant.ready().await?.call(request).await?);
    }
    archive.close().await;
    Ok(())
}

/// Stands for a model: it repeats what it was sent, the recalled messages by their numbers.
async fn repeat(request: Request) -> Result<String, BoxError> {
    let line = |item: &ContextItem| {
        let number = item.metadata().get("number")?;
        let hint = item.future_relevance_hint()?;
        Some(format!("  stand-in for a model, sent #{number} ({hint:.2}): {}", item.content()))
    };
    Ok(request.items().filter_map(line).collect::<Vec<_>>().join("\n"))
}
