//! The archive as memory across conversations: what a tenant's other conversations said about the
//! question.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use cupel::gather::Source;
use cupel_archive::record::{Recorder, Wire};
use cupel_archive::source::Recall;
use cupel_archive::{Archive, Conversation};
use cupel_json::{Endpoint, JsonBody, Request as _};

use crate::config::Memory as Settings;
use crate::tenant::Caller;

/// An archive that is opened when the gateway begins to serve.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    settings: Settings,
    archive: Arc<OnceLock<Archive>>,
    recorder: Recorder,
}

/// Who asked what.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) caller: Caller,
    pub(crate) endpoint: Endpoint,
    pub(crate) request: Bytes,
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

    /// Archives a call that was answered; what is there already is recognised. An answer that is not
    /// known, being compressed or too long, comes with the next request of its conversation.
    pub(crate) fn remember(&self, said: &Said, answer: Option<&[u8]>) {
        let archive = self.archive.get();
        let Some(conversation) = archive.and_then(|archive| conversation(archive, &said.caller))
        else {
            return;
        };
        let api = match said.endpoint {
            Endpoint::Chat => Wire::Chat,
            Endpoint::Responses => Wire::Responses,
            Endpoint::Messages => Wire::Messages,
            // An API that is not known here is not read.
            _ => return,
        };
        let answer = answer.and_then(|answer| api.answer(answer)).unwrap_or_default();
        if let Some(turn) = api.turn(conversation, &said.request) {
            // It only puts the turn into a queue.
            self.recorder.open(turn).answered(answer);
        }
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
    let name = caller.conversation.as_deref().filter(|_| caller.is_remembered)?;
    archive.namespace(caller.tenant.as_str()).ok()?.conversation(name).ok()
}
