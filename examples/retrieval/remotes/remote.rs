//! A retriever behind a simulated network: real hits, late, or cut short, or never.

use std::future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cupel::gather::Source;
use cupel::layer::ContextRequest;
use cupel::{ContextItem, ContextKind, ContextSource, CupelError, Policy, Scorer as _};
use futures::{StreamExt, TryStreamExt};
use tokio::time::{Instant, sleep};

use crate::docs_index::estimate_tokens;
use crate::docs_index::index::{BoxError, DocsIndex};

/// A retriever's name, what it searches, and what its network does.
#[derive(Clone, Copy)]
pub(crate) struct Remote {
    pub(crate) name: &'static str,
    /// Only passages whose file's path contains this.
    pub(crate) part: &'static str,
    /// Delay before the first passage, and between passages.
    pub(crate) first: Duration,
    pub(crate) next: Duration,
    /// Number of passages that it sends.
    pub(crate) hits: usize,
    /// Only passages of at least this many tokens.
    pub(crate) at_least: i64,
    /// Weight of its relevance: less than 1 for old material.
    pub(crate) weight: f64,
    pub(crate) fault: Fault,
    /// Its own deadline, beside that of the whole call.
    pub(crate) deadline: Option<Duration>,
}

/// Kinds of failure.
#[derive(Clone, Copy)]
pub(crate) enum Fault {
    None,
    /// The connection breaks after this many passages.
    Breaks(usize),
    /// The server takes the request and never answers.
    Hangs,
}

/// The payload of a request: what to search for, and who arrives when.
#[derive(Clone)]
pub(crate) struct Search {
    pub(crate) question: String,
    pub(crate) log: Arc<Log>,
}

/// Times at which the passages of a call arrived.
pub(crate) struct Log {
    started: Instant,
    arrivals: Mutex<Vec<(&'static str, Duration)>>,
}

impl Log {
    /// The clock starts.
    pub(crate) fn start() -> Self {
        Self { started: Instant::now(), arrivals: Mutex::default() }
    }

    /// Since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Every arrival so far: the retriever's name, and when.
    pub(crate) fn arrivals(&self) -> Vec<(&'static str, Duration)> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn arrived(&self, name: &'static str) {
        let arrival = (name, self.elapsed());
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).push(arrival);
    }
}

impl Remote {
    /// Searches everything, at once and without a fault.
    pub(crate) const DEFAULT: Self = Self {
        name: "",
        part: "",
        first: Duration::ZERO,
        next: Duration::ZERO,
        hits: 12,
        at_least: 0,
        weight: 1.0,
        fault: Fault::None,
        deadline: None,
    };

    /// The retriever as a source. It is optional: what arrived before it failed is used.
    pub(crate) fn source(
        self,
        index: &Arc<DocsIndex>,
    ) -> Result<Source<ContextRequest<Search>>, CupelError> {
        let index = Arc::clone(index);
        let source = Source::stream(self.name, move |request: &ContextRequest<Search>| {
            let Search { question, log } = &request.payload;
            let log = Arc::clone(log);
            // Enough hits that every part of the index has its share among them.
            let hits = index.hits(question, 20 * self.hits);
            let of_part = hits.try_filter(move |hit| {
                let path = hit.text.split(':').next().unwrap_or_default();
                let long_enough = estimate_tokens(&hit.text) >= self.at_least;
                future::ready(path.contains(self.part) && long_enough)
            });
            of_part.take(self.hits).enumerate().then(move |(number, hit)| {
                let log = Arc::clone(&log);
                async move {
                    self.network(number).await?;
                    log.arrived(self.name);
                    let item = hit?.item()?;
                    let relevance = item.future_relevance_hint().unwrap_or(0.0) * self.weight;
                    Ok::<_, BoxError>(item.to_builder().future_relevance_hint(relevance).build()?)
                }
            })
        });
        let source = source
            .default_kind(ContextKind::document())
            .default_source(ContextSource::new(self.name)?);
        let source = match self.deadline {
            Some(deadline) => source.deadline(deadline),
            None => source,
        };
        // Who sends long passages only can say so, and how well they score at best: while items
        // are selected as they arrive, that tells when this one is not worth waiting for.
        if self.at_least == 0 {
            return Ok(source);
        }
        Ok(source.min_tokens(self.at_least).max_score(self.best_score()?))
    }

    /// The score of a passage whose relevance is the highest this retriever gives.
    fn best_score(self) -> Result<f64, CupelError> {
        let best = ContextItem::builder("best", self.at_least)
            .kind(ContextKind::document())
            .future_relevance_hint(self.weight)
            .build()?;
        Ok(Policy::rag().to_pipeline().scorer().score(&best, &[]))
    }

    /// Simulates the network on the way to a passage.
    async fn network(self, number: usize) -> Result<(), BoxError> {
        if matches!(self.fault, Fault::Hangs) {
            return future::pending().await;
        }
        sleep(if number == 0 { self.first } else { self.next }).await;
        match self.fault {
            Fault::Breaks(after) if number == after => Err("connection reset by peer".into()),
            _ => Ok(()),
        }
    }
}
