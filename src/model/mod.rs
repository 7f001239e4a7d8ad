//! The data model: items, budgets, reasons, and the small vocabularies that describe them.
//!
//! ```
//! use cupel::{ContextBudget, ContextItem, ContextKind};
//!
//! # fn main() -> Result<(), cupel::CupelError> {
//! let item = ContextItem::builder("Deploys are frozen on Fridays.", 7)
//!     .kind(ContextKind::memory())
//!     .tag("deploy")
//!     .build()?;
//! let handle = item.clone(); // a reference count, not a copy of the text
//! assert!(ContextItem::same(&item, &handle));
//!
//! let budget = ContextBudget::builder(128_000).output_reserve(4_096).build()?;
//! assert_eq!(budget.target_tokens(), 123_904);
//! # Ok(())
//! # }
//! ```

mod budget;
mod item;
mod kind_map;
mod open_string;
mod reason;
mod scored;
mod tool_limit;
mod turn_plan;
#[cfg(feature = "serde")]
mod wire;

pub use budget::{ContextBudget, ContextBudgetBuilder, OverflowStrategy};
pub use item::{ContextItem, ContextItemBuilder, Hint};
pub(crate) use kind_map::KindMap;
pub use open_string::{ContextKind, ContextSource};
#[cfg(feature = "testing")]
pub(crate) use reason::reasons;
pub use reason::{CountRequirementShortfall, ExclusionReason, InclusionReason, UnknownFields};
pub(crate) use scored::{Fold, ages, by_score_descending, descending_key};
pub use scored::{Origin, PlacedItem, RefusedItem, ScoredItem};
pub use tool_limit::ToolLimit;
pub use turn_plan::{Grid, RecallBy, Strategy, TurnPlan};
#[cfg(feature = "serde")]
pub(crate) use wire::{by_name, float, is_default, serde_by_name};
