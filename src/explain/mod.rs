//! A selection that a person looks at: as text for a terminal, and as one HTML file.
//!
//! An [`Explanation`] is what there is to show: a report, and what is known beside it (the budget,
//! the sources, the title). A report alone will do, and so will one that was
//! [read from JSON](Explanation::from_json). The layer makes one of its
//! [`Selection`](crate::layer::Selection).
//!
//! ```
//! use cupel::explain::Explanation;
//! use cupel::{ContextBudget, ContextItem, Policy};
//!
//! let items = [
//!     ContextItem::builder("a close match", 40).future_relevance_hint(0.9).build()?,
//!     ContextItem::builder("a distant match", 40).future_relevance_hint(0.2).build()?,
//! ];
//! let budget = ContextBudget::builder(60).output_reserve(10).build()?;
//! let explanation = Explanation::new(Policy::rag().dry_run(&items, &budget)?).budget(budget);
//!
//! let text = explanation.text().to_string();
//! assert!(text.contains("1 of 2 items, 40 of 50 tokens"));
//! assert!(text.contains("a distant match"));
//! # Ok::<(), cupel::CupelError>(())
//! ```
//!
//! The call before shows what moved ([`Difference`]): what is still there, what is new, what was
//! dropped, and how much of the beginning is the same, which is what prompt caches go by.
//!
//! Use [`Text::without_texts`] and [`ReportPage::without_texts`] to show a selection without its content.

mod difference;
mod explanation;
#[cfg(feature = "serde")]
mod page;
mod text;
mod totals;
mod words;

pub use difference::{Difference, DroppedItem};
#[cfg(feature = "serde")]
pub use explanation::ReadError;
pub use explanation::{Explanation, PromptCache, SourceTiming};
#[cfg(feature = "serde")]
pub use page::{ReportPage, SCRIPT, SCRIPT_HASH, STYLE, STYLE_HASH};
pub use text::{Section, Text};
