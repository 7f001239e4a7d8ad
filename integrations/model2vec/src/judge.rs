//! The judge.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "config")]
use cupel::policy::spec::{MeaningModel, MeaningSpec, ScorerRegistry};
use cupel::relevance::{Candidate, Hint, Judge, Question, Vectors, Verdict, cosine, pieces};
use model2vec_rs::model::StaticModel;

use crate::{LoadError, files};

/// Judges texts by the vectors of a [model2vec](https://github.com/MinishLab/model2vec) model.
///
/// A hint is the cosine between the question and the text's closest piece; what is negative is 0.
/// This map is fixed, and equal texts and questions have equal hints on every machine. In a conversation
/// neighbours then [lend](Verdict::with_neighbours) each other part of their hints. Each text's vectors are computed once and [remembered](Vectors) by content.
/// The question itself, where it is among the candidates, has the hint 0.
///
/// Cheap to clone: clones share the model and what is remembered.
#[derive(Clone)]
#[must_use]
pub struct Model2Vec {
    model: Arc<StaticModel>,
    vectors: Arc<Vectors>,
}

/// Cost of embedding, in nanoseconds per byte, and of comparing one piece. Measured with WordPiece and 256
/// dimensions. Other tokenizers take up to ten times as long.
const STEPS_PER_BYTE: usize = 300;
const STEPS_PER_PIECE: usize = 2_000;
/// Bytes of a piece, and most that are read of a text.
const PIECE_BYTES: usize = 600;
const MOST_READ: usize = 256 << 10;

impl Model2Vec {
    /// Loads a model from a folder with `tokenizer.json`, `model.safetensors` and `config.json`, as
    /// `model2vec` writes it. Nothing is downloaded.
    ///
    /// # Errors
    ///
    /// [`LoadError`] names the file, the field, and what would be valid.
    pub fn load(folder: impl AsRef<Path>) -> Result<Self, LoadError> {
        let model = Arc::new(files::load(folder.as_ref())?);
        Ok(Self { model, vectors: Arc::new(Vectors::new()) })
    }

    /// Remembers up to so many bytes of vectors; [64 MiB](Vectors::DEFAULT_CAPACITY) unless set.
    pub fn remember(mut self, bytes: u64) -> Self {
        self.vectors = Arc::new(Vectors::with_capacity(bytes));
        self
    }

    /// Length of a vector.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.model.dim()
    }

    /// Similarity of a text to a question, from 0 to 1.
    #[must_use]
    pub fn closeness(&self, question: &str, text: &str) -> f64 {
        self.closest(&self.asked(question), text)
    }

    /// The vector of a question: the mean of its pieces'.
    fn asked(&self, question: &str) -> Vec<f32> {
        let vectors = self.vectors_of(question);
        let mut mean = vec![0.0; self.model.dim()];
        for vector in vectors.chunks(self.model.dim()) {
            mean.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
        }
        mean
    }

    fn closest(&self, asked: &[f32], text: &str) -> f64 {
        let vectors = self.vectors_of(text);
        let closest = vectors.chunks(self.model.dim()).map(|vector| cosine(asked, vector));
        // `max` of floats would drop what is not a number.
        closest.fold(0.0, |best, next| if next > best || next.is_nan() { next } else { best })
    }

    /// The vectors of a text's pieces, one behind the other.
    fn vectors_of(&self, text: &str) -> Arc<[f32]> {
        if let Some(known) = self.vectors.get(text) {
            return known;
        }
        let vectors: Arc<[f32]> = pieces(text).iter().flat_map(|piece| self.embed(piece)).collect();
        self.vectors.insert(text, Arc::clone(&vectors));
        vectors
    }

    /// Embeds a piece. If the model's tokenizer panics, the vector is NaN and the text gets no hint.
    fn embed(&self, piece: &str) -> Vec<f32> {
        let embedded = catch_unwind(AssertUnwindSafe(|| self.model.encode_single(piece)));
        embedded.unwrap_or_else(|_| vec![f32::NAN; self.model.dim()])
    }
}

impl Judge for Model2Vec {
    fn judge(&self, question: &Question, candidates: &[Candidate<'_>]) -> Option<Verdict> {
        let asked = self.asked(question.text());
        if asked.iter().all(|value| *value == 0.0) {
            return None; // not a token that the model knows
        }
        let (judge, text) = (self.clone(), question.text().to_owned());
        let hint = move |candidate: &Candidate<'_>| {
            let is_question = candidate.text == text;
            Hint::new(if is_question { 0.0 } else { judge.closest(&asked, candidate.text) })
        };
        let hints = candidates.iter().map(&hint).collect();
        Some(Verdict::new(hints, hint).with_neighbours(question, candidates))
    }

    fn name(&self) -> &str {
        "model2vec"
    }

    fn steps(&self, candidates: &[Candidate<'_>]) -> Option<u64> {
        let steps = candidates.iter().map(|candidate| {
            let read = candidate.text.len().min(MOST_READ);
            let known = self.vectors.get(candidate.text).is_some();
            let new = if known { 0 } else { STEPS_PER_BYTE * read };
            (new + STEPS_PER_PIECE * (1 + read / PIECE_BYTES)) as u64
        });
        Some(steps.fold(0, u64::saturating_add))
    }
}

impl fmt::Debug for Model2Vec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model2Vec")
            .field("dimensions", &self.dimensions())
            .field("remembered", &self.vectors)
            .finish()
    }
}

/// Has policy files open models of type `model2vec`: `relevance: { type: blend, words: lexical, meaning:
/// { type: model2vec, path: … } }`.
///
/// ```
/// use cupel::policy::spec::ScorerRegistry;
/// use cupel::scorer::SystemTimeProvider;
///
/// let registry = cupel_model2vec::register(ScorerRegistry::new(SystemTimeProvider));
/// # let _ = registry;
/// ```
#[cfg(feature = "config")]
#[must_use]
pub fn register(registry: ScorerRegistry) -> ScorerRegistry {
    registry.models(|spec| {
        let MeaningSpec::Model2Vec { path } = spec else { return None };
        let model = Model2Vec::load(path);
        Some(model.map(MeaningModel::judge).map_err(|error| format!("path: {error}")))
    })
}
