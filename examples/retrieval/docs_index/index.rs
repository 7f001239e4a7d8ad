//! A full-text index over the passages, in memory, whose hits stream out one by one.

use std::ops::ControlFlow;
use std::sync::Arc;

use cupel::{ContextItem, CupelError};
use futures::stream::{self, Stream, StreamExt};
use tantivy::collector::TopDocs;
use tantivy::query::BooleanQuery;
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions, Value};
use tantivy::tokenizer::{
    Language, LowerCaser, RemoveLongFilter, SimpleTokenizer, Stemmer, StopWordFilter, TextAnalyzer,
};
use tantivy::{Index, IndexReader, TantivyDocument, TantivyError, Term};
use tokio::sync::mpsc;

use super::{Passage, estimate_tokens};

/// An error of the index or of an item.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The BM25 score that counts as half relevant.
///
/// BM25 has no upper end and a hint is at most 1, so a score `s` becomes `s / (s + HALF)`: the
/// order of hits is kept, and a poor best hit stays poor instead of becoming 1.
const HALF: f32 = 10.0;

/// Memory of the index writer in bytes: the minimum, and more than enough here.
const WRITER_BYTES: usize = 15_000_000;

/// A passage that was found, as `path:line: text`, and its BM25 score.
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    pub(crate) text: String,
    pub(crate) score: f32,
}

impl Hit {
    /// The hit as a candidate. What kind it is and where it came from, the source says.
    pub(crate) fn item(&self) -> Result<ContextItem, CupelError> {
        ContextItem::builder(self.text.as_str(), estimate_tokens(&self.text))
            .future_relevance_hint(f64::from(self.score / (self.score + HALF)))
            .build()
    }
}

/// The index. Searching needs no lock, so one is shared by all calls.
pub(crate) struct DocsIndex {
    analyzer: TextAnalyzer,
    reader: IndexReader,
    text: Field,
}

impl DocsIndex {
    /// Indexes the passages.
    pub(crate) fn build(passages: &[Passage]) -> Result<Self, TantivyError> {
        let analyzer = analyzer();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("docs")
            .set_index_option(IndexRecordOption::WithFreqs);
        let mut schema = Schema::builder();
        let options = TextOptions::default().set_indexing_options(indexing).set_stored();
        let text = schema.add_text_field("text", options);
        let index = Index::create_in_ram(schema.build());
        index.tokenizers().register("docs", analyzer.clone());
        // One thread and one commit make one segment, and equal scores keep the passages' order.
        let mut writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
        for passage in passages {
            let mut document = TantivyDocument::new();
            // With the path: a file's name says what the passages in it are about.
            document.add_text(text, passage.cited());
            writer.add_document(document)?;
        }
        writer.commit()?;
        Ok(Self { analyzer, reader: index.reader()?, text })
    }

    /// Hands over the best hits for a question, best first, as they are fetched.
    pub(crate) fn search(
        &self,
        question: &str,
        limit: usize,
        mut found: impl FnMut(Hit) -> ControlFlow<()>,
    ) -> Result<(), TantivyError> {
        // Terms rather than a query language: a question may hold brackets, signs and quotes.
        let mut terms = Vec::new();
        self.analyzer.clone().token_stream(question).process(&mut |token| {
            terms.push(Term::from_field_text(self.text, &token.text));
        });
        let query = BooleanQuery::new_multiterms_query(terms);
        let searcher = self.reader.searcher();
        for (score, address) in searcher.search(&query, &TopDocs::with_limit(limit))? {
            let document: TantivyDocument = searcher.doc(address)?;
            let text = document.get_first(self.text).and_then(|value| value.as_str());
            let text = text.unwrap_or_default().to_owned();
            if found(Hit { text, score }).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The best hits as a stream: the search runs on the blocking pool, and each hit is sent as
    /// soon as it is fetched. Nothing runs before the first poll; a dropped stream ends the search.
    pub(crate) fn hits(
        self: &Arc<Self>,
        question: &str,
        limit: usize,
    ) -> impl Stream<Item = Result<Hit, BoxError>> + Send + use<> {
        let (index, question) = (Arc::clone(self), question.to_owned());
        let start = async move {
            let (sender, receiver) = mpsc::channel(4);
            tokio::task::spawn_blocking(move || {
                let searched = index.search(&question, limit, |hit| {
                    let sent = sender.blocking_send(Ok(hit));
                    if sent.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                });
                if let Err(error) = searched {
                    // Nobody listens any more when this fails, so nobody misses it.
                    let _ = sender.blocking_send(Err(error.into()));
                }
            });
            stream::unfold(receiver, |mut receiver| async {
                receiver.recv().await.map(|hit| (hit, receiver))
            })
        };
        stream::once(start).flatten()
    }
}

/// Words without case, endings and the commonest ones.
fn analyzer() -> TextAnalyzer {
    let words = TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(40))
        .filter(LowerCaser);
    match StopWordFilter::new(Language::English) {
        Some(common) => words.filter(common).filter(Stemmer::new(Language::English)).build(),
        None => words.filter(Stemmer::new(Language::English)).build(),
    }
}
