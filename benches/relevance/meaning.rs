//! A stand-in for an embedding model, whose vectors of 384 numbers are known after the first turn.

use async_trait::async_trait;
use cupel::gather::{AsyncJudge, BoxError, EmbedAs, Embedder, EmbeddingsJudge};
use cupel::relevance::{Blend, Candidate, Hint, Judge, Lexical, Question, Verdict};
use tokio::runtime::{Builder, Runtime};

struct Model;

#[async_trait]
impl Embedder for Model {
    fn model(&self) -> &str {
        "stand-in"
    }

    async fn embed(&self, _: EmbedAs, texts: &[&str]) -> Result<Vec<Vec<f32>>, BoxError> {
        let vector = |text: &&str| {
            let mut state = text
                .bytes()
                .fold(1_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
            let next = |_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 16) as f32 / 65_536.0 - 0.5
            };
            (0..384).map(next).collect()
        };
        Ok(texts.iter().map(vector).collect())
    }
}

/// The words and the model together.
pub(super) struct Meaning {
    blend: Blend<Lexical, Waited>,
}

/// The judge by embeddings, waited for here.
struct Waited {
    judge: EmbeddingsJudge,
    runtime: Runtime,
}

impl Meaning {
    pub(super) fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let waited = Waited { judge: EmbeddingsJudge::new(Model), runtime };
        Self { blend: Blend::new(Lexical::new(), waited).weight(0.5).unwrap() }
    }

    pub(super) fn judge_with_words(&self, texts: &[String], question: &Question) -> usize {
        let places = texts.iter().enumerate();
        let candidates: Vec<Candidate<'_>> =
            places.map(|(at, text)| Candidate::new(text, 60).at(at)).collect();
        self.blend.judge(question, &candidates).unwrap().hints.len()
    }
}

impl Judge for Waited {
    fn judge(&self, question: &Question, candidates: &[Candidate<'_>]) -> Option<Verdict> {
        let answers = self.runtime.block_on(self.judge.judge(question, candidates)).unwrap();
        Some(Verdict::new(answers.into_iter().map(Hint::new).collect(), |_| Hint::new(0.0)))
    }
}
