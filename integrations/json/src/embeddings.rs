//! Bodies of `/v1/embeddings`, as OpenAI's API, llama.cpp, vLLM, Ollama and text-embeddings-inference speak it.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cupel::gather::{EmbedAs, TextHash};
use serde::{Deserialize, Serialize};

/// Model behind `/v1/embeddings`, and what it wants of a request: dimensions and prefixes.
///
/// ```
/// use cupel::gather::EmbedAs;
/// use cupel_json::EmbeddingsApi;
///
/// let api = EmbeddingsApi::new("intfloat/e5-small-v2").prefixes("query: ", "passage: ");
/// let body = api.body(EmbedAs::Question, &["Where is the key?"]);
/// assert_eq!(body, r#"{"model":"intfloat/e5-small-v2","input":["query: Where is the key?"]}"#);
///
/// let answer = br#"{"data": [{"index": 0, "embedding": [0.6, 0.8]}]}"#;
/// assert_eq!(api.read(answer, 1)?, [[0.6, 0.8]]);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct EmbeddingsApi {
    model: String,
    dimensions: Option<usize>,
    question_prefix: String,
    passage_prefix: String,
    identity: String,
}

#[derive(Serialize)]
struct EmbeddingsBody<'a> {
    model: &'a str,
    input: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct EmbeddingsAnswer {
    data: Vec<EmbeddingEntry>,
}

#[derive(Deserialize)]
struct EmbeddingEntry {
    index: Option<usize>,
    embedding: EmbeddingValues,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum EmbeddingValues {
    Numbers(Vec<Option<f32>>),
    Base64(String),
}

impl EmbeddingsApi {
    /// A model that gets texts as they are.
    pub fn new(model: impl Into<String>) -> Self {
        let model = model.into();
        let identity = model.clone();
        let (question_prefix, passage_prefix) = (String::new(), String::new());
        Self { model, dimensions: None, question_prefix, passage_prefix, identity }
    }

    /// Asks for vectors of this length, where the model can shorten them.
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self.named()
    }

    /// Puts these prefixes before questions and passages, such as `query: ` and `passage: ` for E5, or
    /// `search_query: ` and `search_document: ` for Nomic.
    pub fn prefixes(mut self, question: impl Into<String>, passage: impl Into<String>) -> Self {
        self.question_prefix = question.into();
        self.passage_prefix = passage.into();
        self.named()
    }

    /// Name of the model in requests.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Name under which vectors are kept: the model, the dimensions and the prefix of passages. Vectors with
    /// different names are not comparable.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    fn named(mut self) -> Self {
        self.identity = self.model.clone();
        if let Some(dimensions) = self.dimensions {
            let _ = write!(self.identity, "@{dimensions}");
        }
        if !self.passage_prefix.is_empty() {
            let hash = TextHash::of(&self.passage_prefix).to_string();
            let _ = write!(self.identity, "#{}", hash.get(..8).unwrap_or_default());
        }
        self
    }

    /// Body of a request for the vectors of these texts.
    #[must_use]
    pub fn body(&self, what: EmbedAs, texts: &[&str]) -> String {
        let prefix = match what {
            EmbedAs::Question => &self.question_prefix,
            _ => &self.passage_prefix,
        };
        let input = texts.iter().map(|text| format!("{prefix}{text}")).collect();
        let body = EmbeddingsBody { model: &self.model, input, dimensions: self.dimensions };
        serde_json::to_string(&body).unwrap_or_default()
    }

    /// Vectors of an answer, in the order of the texts: lists of numbers, or base64 of little-endian floats.
    /// A `null` in a list is read as a value that is no number.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the answer, without its content.
    pub fn read(&self, answer: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, String> {
        let answer: EmbeddingsAnswer = serde_json::from_slice(answer).map_err(|_| {
            "the answer is not one of /v1/embeddings, expected {\"data\": [{\"embedding\": [...]}]}"
        })?;
        let got = answer.data.len();
        if got != texts {
            return Err(format!("the answer has {got} vectors, expected {texts}"));
        }
        let mut vectors: Vec<Option<Vec<f32>>> = vec![None; texts];
        for (place, entry) in answer.data.into_iter().enumerate() {
            let index = entry.index.unwrap_or(place);
            let free = vectors.get_mut(index).filter(|slot| slot.is_none());
            let Some(slot) = free else {
                return Err(format!(
                    "the answer has an index of {index}, expected each from 0 to {} once",
                    texts - 1
                ));
            };
            *slot = Some(entry.embedding.read()?);
        }
        Ok(vectors.into_iter().flatten().collect())
    }
}

impl EmbeddingValues {
    fn read(self) -> Result<Vec<f32>, String> {
        let bytes = match self {
            Self::Numbers(numbers) => {
                return Ok(numbers.into_iter().map(|it| it.unwrap_or(f32::NAN)).collect());
            }
            Self::Base64(text) => STANDARD.decode(text),
        };
        let bytes = bytes.map_err(|_| "a vector is a text, but not in base64")?;
        if bytes.len() % 4 != 0 {
            return Err("a vector in base64 has no whole number of floats".to_owned());
        }
        let float = |bytes: &[u8]| bytes.try_into().map_or(f32::NAN, f32::from_le_bytes);
        Ok(bytes.chunks(4).map(float).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_in_the_order_of_the_texts_whatever_the_order_of_the_answer() {
        let api = EmbeddingsApi::new("m");
        let answer =
            br#"{"data":[{"index":1,"embedding":[2,3]},{"index":0,"embedding":"AACAPwAAAEA="}]}"#;
        assert_eq!(api.read(answer, 2).unwrap(), [[1.0, 2.0], [2.0, 3.0]]);
        let plain = br#"{"data":[{"embedding":[1]},{"embedding":[2]}],"model":"m"}"#;
        assert_eq!(api.read(plain, 2).unwrap(), [[1.0], [2.0]]);
    }

    #[test]
    fn wrong_answers_say_what_is_wrong() {
        let api = EmbeddingsApi::new("m");
        let cases = [
            (&b"<html>"[..], 1, "not one of /v1/embeddings"),
            (br#"{"error":{"message":"secret"}}"#, 1, "not one of /v1/embeddings"),
            (br#"{"data":[]}"#, 1, "has 0 vectors, expected 1"),
            (br#"{"data":[{"index":4,"embedding":[1]}]}"#, 1, "index of 4"),
            (
                br#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
                2,
                "index of 0",
            ),
            (br#"{"data":[{"embedding":"?"}]}"#, 1, "base64"),
            (br#"{"data":[{"embedding":"AAA="}]}"#, 1, "whole number"),
        ];
        for (answer, texts, shown) in cases {
            let error = api.read(answer, texts).unwrap_err();
            assert!(error.contains(shown) && !error.contains("secret"), "{error}");
        }
        let null = api.read(br#"{"data":[{"embedding":[1,null]}]}"#, 1).unwrap();
        assert!(null[0][1].is_nan());
    }

    #[test]
    fn vectors_of_other_settings_have_other_names() {
        let names = [
            EmbeddingsApi::new("m"),
            EmbeddingsApi::new("m").dimensions(256),
            EmbeddingsApi::new("m").prefixes("query: ", "passage: "),
            EmbeddingsApi::new("m").dimensions(256).prefixes("", "search_document: "),
        ]
        .map(|api| api.identity().to_owned());
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(different.len(), names.len(), "{names:?}");
        assert_eq!(names[..2], ["m", "m@256"]);
    }
}
