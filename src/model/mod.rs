//! The data model: items, budgets, and the small vocabularies that describe them.
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
mod fold;
mod item;
mod open_string;
mod overflow;
mod scored;

pub use budget::{ContextBudget, ContextBudgetBuilder};
pub(crate) use fold::Fold;
pub use item::{ContextItem, ContextItemBuilder};
pub use open_string::{ContextKind, ContextSource};
pub use overflow::OverflowStrategy;
pub use scored::ScoredItem;
