//! Asks an embedder, whatever it does: it may hang, panic or answer wrongly.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cupel::gather::{EmbedAs, Embedder};
use tokio::task::JoinSet;

use super::vector::checked;

/// Reason for an answer that cannot be used. Its text may be a server's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EmbedFailure {
    Late(Duration),
    Failed(String),
    Wrong(String),
}

impl EmbedFailure {
    /// The kind of failure in a word or two, without anybody's text.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Late(_) => "late",
            Self::Failed(_) => "failed",
            Self::Wrong(_) => "wrong answer",
        }
    }
}

impl fmt::Display for EmbedFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late(limit) => write!(f, "no answer within {limit:?}"),
            Self::Failed(problem) | Self::Wrong(problem) => f.write_str(problem),
        }
    }
}

/// The vectors of texts, all of one length and of finite numbers.
///
/// The embedder runs in a task of its own, which ends with this future: one that blocks its thread
/// holds up no deadline where the runtime has another thread.
pub(crate) async fn embed(
    embedder: &Arc<dyn Embedder>,
    what: EmbedAs,
    texts: Vec<String>,
    within: Duration,
) -> Result<Vec<Vec<f32>>, EmbedFailure> {
    let (count, embedder) = (texts.len(), Arc::clone(embedder));
    let mut task = JoinSet::new();
    task.spawn(async move {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        embedder.embed(what, &texts).await.map_err(|error| error.to_string())
    });
    let Ok(joined) = tokio::time::timeout(within, task.join_next()).await else {
        return Err(EmbedFailure::Late(within));
    };
    let vectors = match joined {
        Some(Ok(answer)) => answer.map_err(EmbedFailure::Failed)?,
        Some(Err(error)) if error.is_panic() => {
            return Err(EmbedFailure::Failed("the embedder panicked".to_owned()));
        }
        _ => return Err(EmbedFailure::Failed("the runtime is shutting down".to_owned())),
    };
    checked(&vectors, count).map_err(EmbedFailure::Wrong)?;
    Ok(vectors)
}
