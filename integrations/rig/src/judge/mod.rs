//! rig's models as judges of relevance that are waited for: embeddings and re-rankers.
//!
//! ```
//! use cupel::Policy;
//! use cupel::layer::{CupelLayer, WaitingJudge};
//! use cupel_rig::judge::EmbeddingJudge;
//! use cupel_rig::{AgentCall, RigAdapter};
//! # use rig_core::test_utils::MockEmbeddings;
//! # let embeddings = MockEmbeddings::model();
//!
//! let adapter = RigAdapter::for_model("openai/gpt-4o");
//! let layer = CupelLayer::<AgentCall, _>::builder()
//!     .budget(adapter.window())
//!     .adapter(adapter)
//!     .policy(Policy::tool_use())
//!     .waiting_judge(WaitingJudge::new(EmbeddingJudge::new(embeddings)))
//!     .build()?;
//! # let _ = layer;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **What leaves the process**: the question and the texts of the candidates that compete go to the
//! model's provider, each text once for as long as it is remembered.

mod embeddings;
mod rerank;

pub use embeddings::EmbeddingJudge;
pub use rerank::RerankJudge;

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::Arc;

use cupel::gather::BoxError;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

/// Requests under way at once, unless said otherwise.
const DEFAULT_CONCURRENCY: usize = 4;

/// What is sent of a text: as no token is shorter than a byte, a longer text could have more tokens
/// than the usual 8,191 that models take, and one such text fails its whole batch.
const MOST_BYTES: usize = 8_000;

/// What a model says of texts: numbers by text.
type Known<'a> = HashMap<&'a str, Arc<[f32]>>;

/// A batch of texts, with what the model says of each.
type Answered<'a> = Result<(Vec<&'a str>, Vec<Arc<[f32]>>), BoxError>;

/// The beginning of a text, as long as a model takes it.
fn beginning(text: &str) -> &str {
    let end = (0..=MOST_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// What is remembered of texts, and which are new, each once; blank ones are neither.
fn sorted<'a>(
    texts: impl Iterator<Item = &'a str>,
    remembered: impl Fn(&str) -> Option<Arc<[f32]>>,
) -> (Known<'a>, Vec<&'a str>) {
    let (mut known, mut new, mut seen) = (Known::new(), Vec::new(), HashSet::new());
    for text in texts.map(beginning).filter(|text| !text.trim().is_empty()) {
        if !seen.insert(text) {
            continue;
        }
        match remembered(text) {
            Some(numbers) => drop(known.insert(text, numbers)),
            None => new.push(text),
        }
    }
    (known, new)
}

/// Asks about the texts that are not known yet, in batches of at most so many, some at once.
async fn ask_in_batches<'a, F>(
    known: &mut Known<'a>,
    new: Vec<&'a str>,
    most: usize,
    concurrency: usize,
    ask: impl Fn(Vec<String>) -> F,
) -> Result<(), BoxError>
where
    F: Future<Output = Result<Vec<Arc<[f32]>>, BoxError>> + Send + 'a,
{
    let mut asked: Vec<BoxFuture<'a, Answered<'a>>> = Vec::new();
    for batch in new.chunks(most.max(1)) {
        let batch = batch.to_vec();
        let answers = ask(batch.iter().map(|text| (*text).to_owned()).collect());
        asked.push(Box::pin(async move { Ok((batch, answers.await?)) }));
    }
    let mut asked = stream::iter(asked).buffer_unordered(concurrency.max(1));
    while let Some((batch, answers)) = asked.try_next().await? {
        let (got, expected) = (answers.len(), batch.len());
        if got != expected {
            let problem = format!("the model answered for {got} texts of {expected}");
            return Err(problem.into());
        }
        known.extend(batch.into_iter().zip(answers));
    }
    Ok(())
}
