//! Embedders for tests: one that knows a few synonyms, and misbehaves when it is told to.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use cupel::gather::{BoxError, EmbedAs, Embedder};

/// Words of one meaning. A text's vector counts the words of each, and hashes all others.
const MEANINGS: [&[&str]; 4] = [
    &["car", "automobile", "vehicle"],
    &["allergic", "eat", "peanuts", "intolerance"],
    &["doctor", "physician", "surgery"],
    &["ship", "boat", "vessel"],
];

/// Numbers that other words are hashed to.
const OTHERS: usize = 12;

pub(crate) const DIMENSIONS: usize = MEANINGS.len() + OTHERS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    Well,
    Hangs,
    Panics,
    Fails,
    OneTooFew,
    Length(usize),
    NotANumber,
    /// Fails if a text has this word.
    Refuses(&'static str),
}

#[derive(Debug)]
pub(crate) struct Synonyms {
    name: &'static str,
    behaviour: Mutex<Behaviour>,
    pub(crate) requests: AtomicUsize,
    pub(crate) passages: AtomicUsize,
    pub(crate) questions: AtomicUsize,
}

impl Synonyms {
    pub(crate) fn new(name: &'static str) -> Self {
        let (requests, passages, questions) = Default::default();
        Self { name, behaviour: Mutex::new(Behaviour::Well), requests, passages, questions }
    }

    pub(crate) fn behave(&self, behaviour: Behaviour) {
        *self.behaviour.lock().unwrap() = behaviour;
    }

    pub(crate) fn vector(text: &str) -> Vec<f32> {
        let mut vector = vec![0.0; DIMENSIONS];
        for word in text.split(|sign: char| !sign.is_alphanumeric()).filter(|it| !it.is_empty()) {
            let word = word.to_lowercase();
            match MEANINGS.iter().position(|meaning| meaning.contains(&word.as_str())) {
                Some(meaning) => vector[meaning] += 3.0,
                None => {
                    let hash = word
                        .bytes()
                        .fold(7_usize, |hash, byte| hash * 31 % 65_521 + usize::from(byte));
                    vector[MEANINGS.len() + hash % OTHERS] += 0.5;
                }
            }
        }
        vector
    }
}

#[async_trait]
impl Embedder for Synonyms {
    fn model(&self) -> &str {
        self.name
    }

    async fn embed(&self, what: EmbedAs, texts: &[&str]) -> Result<Vec<Vec<f32>>, BoxError> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let kind = if what == EmbedAs::Question { &self.questions } else { &self.passages };
        kind.fetch_add(texts.len(), Ordering::Relaxed);
        let behaviour = *self.behaviour.lock().unwrap();
        let mut vectors: Vec<Vec<f32>> = texts.iter().map(|text| Self::vector(text)).collect();
        match behaviour {
            Behaviour::Well => {}
            Behaviour::Hangs => std::future::pending().await,
            Behaviour::Panics => panic!("the model panics"),
            Behaviour::Fails => return Err("the model is away".into()),
            Behaviour::OneTooFew => drop(vectors.pop()),
            Behaviour::Length(length) => {
                vectors.iter_mut().for_each(|vector| vector.resize(length, 1.0));
            }
            Behaviour::NotANumber => {
                vectors.iter_mut().for_each(|vector| vector[0] = f32::NAN);
            }
            Behaviour::Refuses(word) if texts.iter().any(|text| text.contains(word)) => {
                return Err("input is too long".into());
            }
            Behaviour::Refuses(_) => {}
        }
        Ok(vectors)
    }
}
