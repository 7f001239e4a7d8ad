//! Scorers give every candidate a relevance score.
//!
//! A scorer of your own needs one method. This one prefers short texts:
//!
//! ```
//! use cupel::scorer::{Scorer, ScorerFacts};
//! use cupel::ContextItem;
//!
//! struct Brevity;
//!
//! impl Scorer for Brevity {
//!     fn score(&self, item: &ContextItem, _all: &[ContextItem]) -> f64 {
//!         1.0 / (1.0 + item.content().len() as f64)
//!     }
//!
//!     // The score depends on the item alone, so it can be given while items still arrive.
//!     fn facts(&self) -> ScorerFacts {
//!         ScorerFacts::ABSOLUTE
//!     }
//! }
//!
//! let items = [ContextItem::new("hi", 1)?, ContextItem::new("good evening", 3)?];
//! let mut scores = [0.0; 2];
//! Brevity.score_all(&items, &mut scores);
//! assert!(scores[0] > scores[1]);
//! # Ok::<(), cupel::CupelError>(())
//! ```
//!
//! A score of NaN is allowed and orders after every number.

mod composite;
mod decay;
mod frequency;
mod item_fields;
mod rank;
mod score_parts;
mod shared_tags;

use std::any::Any;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use auto_impl::auto_impl;

use crate::error::{ConfigError, CupelError};
use crate::model::ContextItem;

pub use composite::{CompositeScorer, CompositeScorerBuilder, ScaledScorer};
#[cfg(feature = "serde")]
pub(crate) use decay::Shape as DecayShape;
pub use decay::{DecayCurve, DecayScorer, FixedTimeProvider, SystemTimeProvider, TimeProvider};
pub use frequency::FrequencyScorer;
pub use item_fields::{
    KindScorer, MetadataKeyScorer, MetadataTrustScorer, ReflexiveScorer, TagScorer,
};
pub use rank::{AgeScorer, PriorityScorer, RecencyScorer};
pub use score_parts::ScoreParts;

/// Properties of a [`Scorer`], as it declares them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[must_use]
pub struct ScorerFacts {
    /// `true` if the score depends on the item alone, and not on the other candidates. Selecting
    /// while items arrive needs an absolute scorer.
    pub absolute: bool,
    /// `true` if the score depends on the time of scoring.
    pub depends_on_time: bool,
}

impl ScorerFacts {
    /// Facts of a scorer that compares an item with the others.
    pub const RELATIVE: Self = Self { absolute: false, depends_on_time: false };

    /// Facts of a scorer that looks at one item alone.
    pub const ABSOLUTE: Self = Self { absolute: true, depends_on_time: false };

    /// Sets whether the score depends on the time of scoring.
    pub const fn with_time(mut self, depends_on_time: bool) -> Self {
        self.depends_on_time = depends_on_time;
        self
    }
}

/// Gives an item a relevance score, alone or among its peers.
///
/// A scorer is a pure function: same input, same score, no side effects.
#[auto_impl(Arc, Box)]
pub trait Scorer: Send + Sync {
    /// Scores `item`, which is one of `all`, the whole list of candidates.
    fn score(&self, item: &ContextItem, all: &[ContextItem]) -> f64;

    /// Scores every item of a list at once, into a slice of the same length.
    ///
    /// Override it when scoring together is cheaper than one by one; the scores must agree.
    fn score_all(&self, items: &[ContextItem], scores: &mut [f64]) {
        for (item, score) in items.iter().zip(scores) {
            *score = self.score(item, items);
        }
    }

    /// Explains the score of every item, in the order of the items.
    ///
    /// Called only if a report [asks for it](crate::diagnostics::DiagnosticTraceCollector::explain_scores), and it
    /// never changes the scores. Override it in a scorer that is made of others; the default is the
    /// name, the score and the [`note`](Self::note).
    fn explain_all(&self, items: &[ContextItem]) -> Vec<ScoreParts> {
        let mut scores = vec![0.0; items.len()];
        self.score_all(items, &mut scores);
        let explain = |(item, score): (&ContextItem, f64)| ScoreParts {
            note: self.note(item),
            ..ScoreParts::new(self.name(), score)
        };
        items.iter().zip(scores).map(explain).collect()
    }

    /// Reason for the score of an item, in a few words; none unless overridden. It may quote the
    /// item's tags and metadata.
    fn note(&self, item: &ContextItem) -> Option<String> {
        let _ = item;
        None
    }

    /// Properties that the rest of the library asks for; [`ScorerFacts::RELATIVE`] unless
    /// overridden.
    fn facts(&self) -> ScorerFacts {
        ScorerFacts::RELATIVE
    }

    /// This scorer with its clock stopped now; none when it does not depend on time.
    ///
    /// Selecting while items arrive scores them at different moments, and must not let an item
    /// lose because it came late. A scorer that [depends on time](ScorerFacts::depends_on_time) and
    /// does not override this cannot be used for it.
    fn freeze(&self) -> Option<Arc<dyn Scorer>> {
        None
    }

    /// About how long scoring these items together takes, in steps of roughly a nanosecond, beyond
    /// the few for each item that every selection takes.
    ///
    /// The layer moves long selections to the blocking pool. The default is 0.
    fn steps(&self, items: &[ContextItem]) -> u64 {
        let _ = items;
        0
    }

    /// Calls `visit` for every scorer this one delegates to, so that cycles can be found.
    fn visit_children(&self, visit: &mut dyn FnMut(&dyn Scorer)) {
        let _ = visit;
    }

    /// The name to use in messages; the type's name unless overridden.
    fn name(&self) -> &str {
        crate::names::short_type_name::<Self>()
    }

    /// Tells scorers apart by where they live. Handles answer for what they point to.
    #[doc(hidden)]
    fn identity(&self) -> (usize, &'static str) {
        let address = std::ptr::from_ref(self).cast::<()>().addr();
        // The type as well: a struct and its first field share an address.
        (address, std::any::type_name::<Self>())
    }

    /// The scorer itself, for code that knows its type; handles answer for what they point to.
    ///
    /// The built-in scorers answer, so that a policy can be written down as data.
    #[doc(hidden)]
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

impl fmt::Debug for dyn Scorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Address and type of a scorer.
type Identity = (usize, &'static str);

/// Most levels of scorers inside each other. Scoring and dropping them takes stack for every level.
const DEEPEST: usize = 256;

/// Fails if the graph of scorers below `root` has a cycle or is too deep.
///
/// Immutable scorers cannot form a cycle. A custom scorer that receives its children late can.
pub(crate) fn detect_cycles(root: &dyn Scorer) -> Result<(), CupelError> {
    let mut walk = GraphWalk::default();
    walk.visit(root);
    walk.error.map_or(Ok(()), Err)
}

#[derive(Default)]
struct GraphWalk {
    visited: HashSet<Identity>,
    path: HashSet<Identity>,
    error: Option<CupelError>,
}

impl GraphWalk {
    fn visit(&mut self, node: &dyn Scorer) {
        if self.error.is_some() {
            return;
        }
        let identity = node.identity();
        if self.path.contains(&identity) {
            self.error = Some(CupelError::ScorerCycle { scorer: node.name().to_owned() });
            return;
        }
        if self.path.len() >= DEEPEST {
            let message = format!("nested more than {DEEPEST} levels deep, the limit is {DEEPEST}");
            let error = ConfigError::new(node.name(), "scorer", message);
            self.error = Some(CupelError::ScorerConfig(error));
            return;
        }
        if !self.visited.insert(identity) {
            return;
        }
        self.path.insert(identity);
        node.visit_children(&mut |child| self.visit(child));
        self.path.remove(&identity);
    }
}
