//! The first process: a conversation whose turns are archived.

use std::time::Duration;

use cupel::gather::BoxError;
use cupel_archive::record::{RecordLayer, RecordedTurn, Recorder, whole};
use cupel_archive::{Archive, ArchiveMessage};
use tower::{Layer as _, Service, ServiceExt, service_fn};

use crate::said;

pub(crate) async fn tell(archive: &Archive) -> Result<(), BoxError> {
    let conversation = archive.namespace(said::TENANT)?.conversation(said::THREAD)?;
    conversation.forget().await?;
    let recorder = Recorder::new();
    let thread = conversation.clone();
    let layer = RecordLayer::new(
        recorder.clone(),
        whole(
            move |(said, _): &(String, String)| {
                Some(RecordedTurn::new(thread.clone(), [ArchiveMessage::user(said.as_str())]))
            },
            |answer: &String| vec![ArchiveMessage::assistant(answer.as_str())],
        ),
    );
    // Stands for a model: the answer is written beside the question.
    let model = service_fn(async |(_, answer): (String, String)| Ok::<_, BoxError>(answer));
    let mut assistant = layer.layer(model);
    let told = said::TURNS.map(|(said, answer)| (said.to_owned(), answer.to_owned()));
    for turn in told.into_iter().chain(said::small_talk()) {
        assistant.ready().await?.call(turn).await?;
        // The queue is short, and an example types faster than a person.
        recorder.flush().await;
    }
    // Whoever opens the archive next embeds what is left.
    let waiting = archive.embed_within(Duration::from_secs(30)).await?;
    println!(
        "Process {}: had a conversation, archived {} messages, dropped {}; {waiting} wait for vectors.",
        std::process::id(),
        recorder.written(),
        recorder.dropped()
    );
    archive.close().await;
    Ok(())
}
