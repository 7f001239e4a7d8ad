//! Memory across conversations: an archive of calls, and a source that searches it.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use cupel::conversation::plan::SummaryKey;
use cupel::gather::{
    BoxError, ClaimOutcome, FoundSummaries, GatherReport, LeaseHolder, Source, SummaryClaim,
    SummaryScope, SummaryStore,
};
use cupel_archive::record::{Recorder, Wire};
use cupel_archive::source::Recall;
use cupel_archive::{Archive, ArchiveEmbedder, ArchiveSummaries, ConversationHandle};
use cupel_json::{Endpoint, Request as _};
use tokio::task::JoinSet;

use crate::config::Memory;
use crate::credentials::{Caller, CallerBody};
use crate::metrics::ArchiveNow;

/// Name of the source in reports.
const NAME: &str = "memory";

/// Time for a database to answer.
const OPEN: Duration = Duration::from_secs(2);

/// Pause between two attempts to open an archive; it doubles each time.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Archive that is opened when the gateway begins to serve.
#[derive(Debug, Clone)]
pub(crate) struct ArchiveMemory {
    settings: Memory,
    archive: Arc<OnceLock<Archive>>,
    /// Model of the archive, if there is one.
    embedder: Arc<OnceLock<ArchiveEmbedder>>,
    recorder: Recorder,
    failed_recalls: Arc<AtomicU64>,
}

/// Request of a caller, for the archive.
#[derive(Debug)]
pub(crate) struct ArchivedRequest {
    pub(crate) caller: Caller,
    pub(crate) endpoint: Endpoint,
    pub(crate) request: Bytes,
}

impl ArchiveMemory {
    pub(crate) fn new(settings: &Memory) -> Self {
        Self {
            settings: settings.clone(),
            archive: Arc::default(),
            embedder: Arc::default(),
            recorder: Recorder::new().with_max_bytes(settings.waiting_bytes),
            failed_recalls: Arc::default(),
        }
    }

    /// Sets the model that embeds messages, before the archive is opened.
    pub(crate) fn set_embedder(&self, embedder: ArchiveEmbedder) {
        let _ = self.embedder.set(embedder);
    }

    /// Opens the archive, unless it is open.
    ///
    /// # Errors
    ///
    /// Returns the database's error, without a password.
    pub(crate) async fn open(&self) -> Result<(), String> {
        if self.archive.get().is_some() {
            return Ok(());
        }
        let archive = self.opened(self.embedder.get()).await?;
        let _ = self.archive.set(archive);
        Ok(())
    }

    async fn opened(&self, embedder: Option<&ArchiveEmbedder>) -> Result<Archive, String> {
        let mut builder = Archive::builder(self.settings.url.expose());
        if let Some(embedder) = embedder {
            builder = builder.embedder(embedder.clone());
        }
        let opened = tokio::time::timeout(OPEN, builder.open()).await;
        let opened = opened.map_err(|_| format!("the archive gave no answer within {OPEN:?}"))?;
        opened.map_err(|error| format!("the archive cannot be opened: {error}"))
    }

    /// Opens the archive. If its file does not exist yet, only looks for the folder.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub(crate) async fn check(&self) -> Result<(), String> {
        let file = self.settings.url.expose().strip_prefix("sqlite://").map(Path::new);
        match file.filter(|file| !file.exists()) {
            Some(file) if file.parent().is_some_and(is_no_folder) => {
                Err("the archive cannot be opened: the folder of its file does not exist"
                    .to_owned())
            }
            Some(_) => Ok(()),
            None if self.archive.get().is_some() => Ok(()),
            None => {
                // Without the model: a check sends nothing.
                self.opened(None).await?.close().await;
                Ok(())
            }
        }
    }

    /// Opens the archive, or tries again in the background until the returned tasks are dropped.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), if the archive is required.
    pub(crate) async fn begin(&self) -> Result<JoinSet<()>, String> {
        let mut opening = JoinSet::new();
        let Err(why) = self.open().await else { return Ok(opening) };
        if self.settings.required {
            return Err(why);
        }
        tracing::warn!(why, "started without memory; the gateway tries again to open the archive");
        let memory = self.clone();
        opening.spawn(async move {
            let mut pause = PAUSE;
            loop {
                tokio::time::sleep(pause).await;
                match memory.open().await {
                    Ok(()) => return tracing::info!("the archive is open"),
                    Err(why) => tracing::debug!(why, "the archive cannot be opened yet"),
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        });
        Ok(opening)
    }

    /// Returns the archive's part of the readiness answer.
    pub(crate) fn status(&self) -> serde_json::Value {
        let status = if self.archive.get().is_some() { "open" } else { "not open" };
        let failed = self.failed_recalls.load(Ordering::Relaxed);
        serde_json::json!({"status": status, "failed_recalls": failed})
    }

    /// Returns the archive's part of the metrics.
    pub(crate) fn numbers(&self) -> ArchiveNow {
        ArchiveNow {
            is_open: self.archive.get().is_some(),
            waiting_bytes: self.recorder.waiting_bytes(),
            written: self.recorder.written(),
            dropped: self.recorder.dropped(),
            failed_recalls: self.failed_recalls.load(Ordering::Relaxed),
        }
    }

    /// Counts a search that failed. The layer logs it.
    pub(crate) fn count_failure(&self, gathered: &GatherReport) {
        if gathered.source(NAME).is_some_and(|source| source.outcome.is_failure()) {
            self.failed_recalls.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the store of summaries in the archive. It fails while the archive is not open.
    pub(crate) fn summaries(&self) -> Arc<dyn SummaryStore> {
        Arc::new(LateSummaries(Arc::clone(&self.archive)))
    }

    /// Returns the source that searches other conversations of the same tenant.
    pub(crate) fn source(&self) -> Source<CallerBody> {
        let archive = Arc::clone(&self.archive);
        let conversation = move |body: &CallerBody| conversation(archive.get()?, body.companion());
        let question =
            |body: &CallerBody| body.question().filter(|text| !text.is_empty()).map(Into::into);
        Recall::new(conversation, question)
            .elsewhere()
            .limit(self.settings.items)
            .deadline(self.settings.deadline)
            .source(NAME)
    }

    /// Archives a call that was answered. The archive recognizes messages that it has. A compressed or long
    /// answer is unknown here, and comes with the next request of the conversation.
    pub(crate) fn remember(&self, request: &ArchivedRequest, answer: Option<&[u8]>) {
        let archive = self.archive.get();
        let Some(conversation) = archive.and_then(|archive| conversation(archive, &request.caller))
        else {
            return;
        };
        let api = match request.endpoint {
            Endpoint::Chat => Wire::Chat,
            Endpoint::Responses => Wire::Responses,
            Endpoint::Messages => Wire::Messages,
            // An unknown API cannot be read.
            _ => return,
        };
        let answer = answer.and_then(|answer| api.answer(answer)).unwrap_or_default();
        if let Some(turn) = api.turn(conversation, &request.request) {
            // This only puts the turn into a queue.
            self.recorder.open(turn).answered(answer);
        }
    }

    /// Waits until everything is written, at most until `deadline`, and closes the archive.
    pub(crate) async fn close(&self, deadline: tokio::time::Instant) {
        let left = || deadline.saturating_duration_since(tokio::time::Instant::now());
        self.recorder.flush_within(left()).await;
        if let Some(archive) = self.archive.get() {
            archive.close_within(left()).await;
        }
    }
}

fn is_no_folder(path: &Path) -> bool {
    !path.as_os_str().is_empty() && !path.is_dir()
}

/// Summaries in an archive that may not be open yet.
#[derive(Debug)]
struct LateSummaries(Arc<OnceLock<Archive>>);

impl LateSummaries {
    fn open(&self) -> Result<ArchiveSummaries, BoxError> {
        let archive = self.0.get().ok_or("the archive is not open")?;
        Ok(archive.summaries())
    }
}

#[async_trait]
impl SummaryStore for LateSummaries {
    async fn find(
        &self,
        scope: &SummaryScope,
        keys: &[SummaryKey],
    ) -> Result<FoundSummaries, BoxError> {
        self.open()?.find(scope, keys).await
    }

    async fn claim(
        &self,
        scope: &SummaryScope,
        input_cost: f64,
        claims: &[SummaryClaim],
    ) -> Result<Vec<ClaimOutcome>, BoxError> {
        self.open()?.claim(scope, input_cost, claims).await
    }

    async fn finish(
        &self,
        scope: &SummaryScope,
        key: &SummaryKey,
        holder: LeaseHolder,
        text: &str,
    ) -> Result<bool, BoxError> {
        self.open()?.finish(scope, key, holder, text).await
    }

    async fn forget(&self, scope: &SummaryScope) -> Result<(), BoxError> {
        self.open()?.forget(scope).await
    }
}

/// Finds the conversation that a caller has named.
fn conversation(archive: &Archive, caller: &Caller) -> Option<ConversationHandle> {
    let name = caller.conversation.as_deref().filter(|_| caller.is_remembered)?;
    archive.namespace(caller.tenant.as_str()).ok()?.conversation(name).ok()
}
