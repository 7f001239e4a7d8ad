//! Vectors of texts, remembered, and how close two of them are.

use std::fmt;
use std::sync::Arc;

use crate::text_cache::TextCache;

/// The vectors of texts, each made once per content, in bounded memory: for judges that embed.
///
/// A text may have several vectors, one for each part of it. They are kept by a hash of the text, and
/// what was not asked for lately goes first. Cheap to share, between threads too.
///
/// ```
/// use cupel::relevance::{Vectors, cosine};
///
/// let vectors = Vectors::new();
/// vectors.insert("tea", [3.0, 4.0]);
/// let tea = vectors.get("tea").unwrap();
/// assert_eq!(cosine(&tea, &[3.0, 4.0]), 1.0);
/// assert_eq!(vectors.get("coffee"), None);
/// ```
#[must_use]
pub struct Vectors {
    cache: TextCache<Arc<[f32]>>,
}

impl Vectors {
    /// Default capacity: 64 MiB, some 60,000 vectors of 256 numbers or 10,000 of 1,536.
    pub const DEFAULT_CAPACITY: u64 = 64 << 20;

    /// Keeps up to [64 MiB](Self::DEFAULT_CAPACITY).
    pub fn new() -> Self {
        Self::with_capacity(Self::DEFAULT_CAPACITY)
    }

    /// Keeps up to so many bytes; 0 keeps nothing.
    pub fn with_capacity(bytes: u64) -> Self {
        Self { cache: TextCache::new(bytes, 1_024, |vector| size_of_val(&**vector)) }
    }

    /// Cached vector of a text.
    #[must_use]
    pub fn get(&self, text: &str) -> Option<Arc<[f32]>> {
        self.cache.get(&self.cache.key(text, ()))
    }

    /// Remembers a text's vector.
    pub fn insert(&self, text: &str, vector: impl Into<Arc<[f32]>>) {
        self.cache.insert(self.cache.key(text, ()), vector.into());
    }

    /// Number of cached texts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cache.len()
    }

    /// Returns true if no text is cached.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.cache.bytes()
    }
}

impl Default for Vectors {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Vectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vectors")
            .field("texts", &self.len())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

/// The cosine of the angle between two vectors, from -1 to 1: how alike their directions are.
///
/// 0 when one of them is all zeros, as that of a text without a known word. Not a number when they
/// have different lengths, which says that they are not of one model: no hint is made of that. The
/// sums are taken in a fixed order, so equal vectors give equal answers on every machine.
#[must_use]
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    if a.len() != b.len() {
        return f64::NAN;
    }
    let (ab, aa, bb) = (dot(a, b), dot(a, a), dot(b, b));
    if ab.is_nan() || aa.is_nan() || bb.is_nan() {
        return f64::NAN;
    }
    // One root of the product: of equal vectors it is exact, and squares of f32 do not overflow.
    let lengths = (aa * bb).sqrt();
    if lengths > 0.0 { (ab / lengths).clamp(-1.0, 1.0) } else { 0.0 }
}

/// Number of sums that are computed side by side, as processors do.
const LANES: usize = 8;

/// The cosine of two vectors of length one and of the same number of values.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0_f64; LANES];
    for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += f64::from(*a) * f64::from(*b);
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_stays_within_its_bytes() {
        let vectors = Vectors::with_capacity(100_000);
        for number in 0..1_000 {
            vectors.insert(&format!("text {number}"), vec![0.5; 64]);
        }
        assert!(vectors.bytes() <= 100_000, "{vectors:?}");
        assert!(vectors.len() > 100, "{vectors:?}");
        let none = Vectors::with_capacity(0);
        none.insert("text", [1.0]);
        assert_eq!(none.get("text"), None);
    }

    #[test]
    fn cosines_of_strange_vectors_are_told_apart() {
        assert_eq!(cosine(&[], &[]), 0.0);
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]), 0.0);
        assert!(cosine(&[1.0], &[1.0, 0.0]).is_nan());
        assert!(cosine(&[f32::NAN], &[1.0]).is_nan());
        assert_eq!(cosine(&[2.0, 0.0], &[-3.0, 0.0]), -1.0);
        let long: Vec<f32> = (0..1_000).map(|n| n as f32).collect();
        assert_eq!(cosine(&long, &long), 1.0);
    }
}
