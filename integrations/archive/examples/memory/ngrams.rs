//! A small model of the example's own: vectors of the parts of words. It needs no file and no network.
//!
//! It finds words that are written together, in another form or with a mistake. It knows no meanings: for
//! these take a model behind a server, or one from files.

use async_trait::async_trait;
use cupel::gather::{BoxError, EmbedAs, Embedder};

const DIMENSIONS: usize = 512;

/// Shorter words are mostly those that every sentence has.
const SHORTEST: usize = 4;

/// Counts the groups of three letters in a text's words, each hashed to one number of the vector.
pub(crate) struct LetterGroups;

impl LetterGroups {
    fn vector(text: &str) -> Vec<f32> {
        let mut vector = vec![0.0_f32; DIMENSIONS];
        let words = text.split(|sign: char| !sign.is_alphanumeric());
        for word in words.filter(|word| word.chars().count() >= SHORTEST) {
            let letters: Vec<char> = format!("^{}$", word.to_lowercase()).chars().collect();
            for group in letters.windows(3) {
                // FNV-1a: the same in every process.
                let hash = group.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, letter| {
                    (hash ^ u64::from(*letter)).wrapping_mul(0x0100_0000_01b3)
                });
                let place = usize::try_from(hash % DIMENSIONS as u64).unwrap_or_default();
                vector.iter_mut().skip(place).take(1).for_each(|count| *count += 1.0);
            }
        }
        vector
    }
}

#[async_trait]
impl Embedder for LetterGroups {
    fn model(&self) -> &str {
        "letter-groups"
    }

    async fn embed(&self, _: EmbedAs, texts: &[&str]) -> Result<Vec<Vec<f32>>, BoxError> {
        Ok(texts.iter().map(|text| Self::vector(text)).collect())
    }
}
