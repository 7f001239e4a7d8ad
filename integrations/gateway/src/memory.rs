//! The archive as memory across conversations: what a tenant's other conversations said about the
//! question.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use cupel::gather::Source;
use cupel_archive::record::{RecordLayer, Recorder, Turn, chat_messages, whole};
use cupel_archive::source::Recall;
use cupel_archive::{Archive, Conversation, Message};
use cupel_json::{JsonBody, Request as _};
use serde_json::{Value, json};
use tower::{Layer as _, Service as _, service_fn};

use crate::config::Memory as Settings;
use crate::tenant::Caller;

/// An archive that is opened when the gateway begins to serve.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    settings: Settings,
    archive: Arc<OnceLock<Archive>>,
    recorder: Recorder,
}

/// What a call leaves behind.
struct Said {
    conversation: Conversation,
    messages: Vec<Message>,
}

impl Memory {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { settings: settings.clone(), archive: Arc::default(), recorder: Recorder::new() }
    }

    /// Opens the archive.
    ///
    /// # Errors
    ///
    /// What the database says; never with a password in it.
    pub(crate) async fn open(&self) -> Result<(), String> {
        let opened = Archive::open(self.settings.url.expose()).await;
        let archive = opened.map_err(|error| format!("the archive: {error}"))?;
        let _ = self.archive.set(archive);
        Ok(())
    }

    /// The layer's source: other conversations of the same tenant.
    pub(crate) fn source(&self) -> Source<JsonBody> {
        let archive = Arc::clone(&self.archive);
        let conversation =
            move |body: &JsonBody| conversation(archive.get()?, body.carrier::<Caller>()?);
        let question =
            |body: &JsonBody| body.question().filter(|text| !text.is_empty()).map(Into::into);
        Recall::new(conversation, question)
            .elsewhere()
            .limit(self.settings.items)
            .source("memory")
            .deadline(self.settings.deadline)
            .optional()
    }

    /// Archives the messages of a call that was answered; what is there already is recognised. The
    /// answer comes with the next request of its conversation.
    pub(crate) fn remember(&self, caller: &Caller, body: &[u8]) {
        let Some(conversation) =
            self.archive.get().and_then(|archive| conversation(archive, caller))
        else {
            return;
        };
        let messages = messages(body);
        let turn = whole(
            |said: &Said| Some(Turn::new(said.conversation.clone(), said.messages.clone())),
            |(): &()| Vec::new(),
        );
        let answered = service_fn(|_: Said| std::future::ready(Ok::<_, Infallible>(())));
        let mut archive = RecordLayer::new(self.recorder.clone(), turn).layer(answered);
        // It only puts the turn into a queue.
        let recorded = archive.call(Said { conversation, messages });
        let _ = futures::FutureExt::now_or_never(recorded);
    }

    /// Waits until everything is written, and closes the archive.
    pub(crate) async fn close(&self) {
        self.recorder.flush().await;
        if let Some(archive) = self.archive.get() {
            archive.close().await;
        }
    }
}

/// A conversation of a tenant, by the name that its caller gave it, or by what it began with.
fn conversation(archive: &Archive, caller: &Caller) -> Option<Conversation> {
    let name = caller.conversation.as_deref()?;
    archive.namespace(caller.tenant.as_str()).ok()?.conversation(name).ok()
}

/// Who said what, in any of the APIs.
fn messages(body: &[u8]) -> Vec<Message> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let list = body.get("messages").or_else(|| body.get("input"));
    match list {
        Some(Value::String(text)) => vec![Message::user(text.as_str())],
        Some(list) => chat_messages(&json!({"messages": list})),
        None => Vec::new(),
    }
}
