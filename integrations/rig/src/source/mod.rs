//! Sources over rig's stores: vector indexes, memories, histories.

mod history;
mod index;

pub use history::{MemorySource, history_items};
pub use index::IndexSource;

use std::fmt;
use std::sync::Arc;

use rig_core::completion::CompletionRequest;
use rig_core::message::{Message, UserContent};

/// The user's last words in a request: the text of the last message that has any, tool results
/// aside.
///
/// In a tool loop that is the question of the run, on every turn, unless the agent itself asks
/// again in the user's name: for output in the right form, for instance.
///
/// ```
/// use cupel_rig::source::last_user_text;
/// use rig_core::completion::CompletionRequest;
/// use rig_core::message::Message;
///
/// let request = CompletionRequest::new("And on Sundays?")
///     .messages([Message::user("When does the office close?"), Message::assistant("At six.")]);
/// assert_eq!(last_user_text(&request).as_deref(), Some("And on Sundays?"));
/// ```
#[must_use]
pub fn last_user_text(request: &CompletionRequest) -> Option<String> {
    request.chat_history.iter().rev().find_map(words)
}

fn words(message: &Message) -> Option<String> {
    let Message::User { content } = message else { return None };
    let texts = content.iter().filter_map(|part| match part {
        UserContent::Text(text) if !text.text.trim().is_empty() => Some(text.text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// The scale and direction of an index's scores, which differ from backend to backend.
///
/// Each becomes a relevance from 0 (irrelevant) to 1 (as relevant as can be), the
/// `future_relevance_hint` of an item. A score that is not a number is a relevance of 0.
///
/// ```
/// use cupel_rig::source::ScoreScale;
///
/// assert_eq!(ScoreScale::CosineSimilarity.relevance(0.8), 0.8);
/// assert_eq!(ScoreScale::CosineDistance.relevance(0.2), 0.8);
/// assert_eq!(ScoreScale::Distance.relevance(1.0), 0.5);
/// assert_eq!(ScoreScale::Distance.relevance(-3.0), 0.25);
/// assert_eq!(ScoreScale::Unbounded.relevance(0.0), 0.5);
/// assert_eq!(ScoreScale::custom(|points| points / 100.0).relevance(80.0), 0.8);
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum ScoreScale {
    /// From -1 to 1, higher is better: what rig's in-memory index gives. A negative one is a
    /// relevance of 0. Also right for scores from 0 to 1.
    #[default]
    CosineSimilarity,
    /// From 0 to 2, lower is better: 1 less the distance.
    CosineDistance,
    /// From 0 without end, the closer to 0 the better, such as Euclidean distance:
    /// `1 / (1 + distance)`. Distances may be negative, as `rig-sqlite` gives them.
    Distance,
    /// Without end in both directions, higher is better, such as an inner product or a
    /// re-ranker's logit: `1 / (1 + e^-score)`.
    Unbounded,
    /// Anything else, by a function to relevance; what it returns is cut to 0 to 1.
    Custom(Arc<dyn Fn(f64) -> f64 + Send + Sync>),
}

impl ScoreScale {
    /// A scale of its own.
    pub fn custom(relevance: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Self {
        Self::Custom(Arc::new(relevance))
    }

    /// The relevance of a score, from 0 to 1.
    #[must_use]
    pub fn relevance(&self, score: f64) -> f64 {
        let relevance = match self {
            Self::CosineSimilarity => score,
            Self::CosineDistance => 1.0 - score,
            Self::Distance => 1.0 / (1.0 + score.abs()),
            Self::Unbounded => 1.0 / (1.0 + (-score).exp()),
            Self::Custom(relevance) => relevance(score),
        };
        // `max` would make a number of what is not one.
        if score.is_nan() || relevance.is_nan() { 0.0 } else { relevance.clamp(0.0, 1.0) }
    }
}

impl fmt::Debug for ScoreScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CosineSimilarity => "CosineSimilarity",
            Self::CosineDistance => "CosineDistance",
            Self::Distance => "Distance",
            Self::Unbounded => "Unbounded",
            Self::Custom(_) => "Custom(..)",
        })
    }
}
