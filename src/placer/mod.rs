//! Placers decide in which order the selected items are presented.
//!
//! A placer of your own answers with a permutation of the positions it was given:
//!
//! ```
//! use cupel::{ContextItem, Placer, ScoredItem};
//!
//! struct LongestLast;
//!
//! impl Placer for LongestLast {
//!     fn place(&self, items: &[ScoredItem<'_>]) -> Vec<usize> {
//!         let mut order: Vec<usize> = (0..items.len()).collect();
//!         order.sort_by_key(|&position| items[position].tokens());
//!         order
//!     }
//! }
//!
//! let items = [ContextItem::new("long", 9)?, ContextItem::new("short", 2)?];
//! let scored: Vec<_> = items.iter().map(|item| ScoredItem::new(item, 0.5)).collect();
//! assert_eq!(LongestLast.place(&scored), [1, 0]);
//! # Ok::<(), cupel::CupelError>(())
//! ```
//!
//! An answer that is not a permutation makes the pipeline return
//! [`CupelError::Contract`](crate::CupelError::Contract).

mod age;
mod chronological;
mod u_shaped;

use std::any::Any;
use std::fmt;

use auto_impl::auto_impl;

use crate::model::ScoredItem;

pub use age::AgePlacer;
pub use chronological::ChronologicalPlacer;
pub use u_shaped::UShapedPlacer;

/// Orders the selected items.
#[auto_impl(Arc, Box)]
pub trait Placer: Send + Sync {
    /// The positions of `items` in presentation order, each exactly once.
    ///
    /// Pinned items come first in `items` and carry a score of 1.0.
    fn place(&self, items: &[ScoredItem<'_>]) -> Vec<usize>;

    /// As [`place`](Self::place), for a placer that also looks at where each item stood among the
    /// candidates. The pipeline calls this one.
    fn place_by_position(&self, items: &[ScoredItem<'_>], positions: &[usize]) -> Vec<usize> {
        let _ = positions;
        self.place(items)
    }

    /// The name to use in messages; the type's name unless overridden.
    fn name(&self) -> &str {
        crate::names::short_type_name::<Self>()
    }

    /// The placer itself, for code that knows its type; handles answer for what they point to.
    ///
    /// The built-in placers answer, so that a policy can be written down as data.
    #[doc(hidden)]
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

impl fmt::Debug for dyn Placer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
