//! Names of reasons, lists and summaries for the messages of failed assertions.

use std::fmt::{self, Display, Write};

use crate::diagnostics::{ExcludedItem, ExclusionReason, IncludedItem};
use crate::model::{ContextKind, reasons};

/// One variant for each reason, with the reason's name.
macro_rules! reason_kind {
    ($($variant:ident,)+) => {
        /// The variant of an [`ExclusionReason`], to name a reason without inventing its fields.
        ///
        /// Assertions take `impl Into<ReasonKind>`: either a variant or a reference to a reason, of which
        /// only the variant counts.
        ///
        /// ```
        /// use cupel::diagnostics::ExclusionReason;
        /// use cupel::testing::ReasonKind;
        ///
        /// let reason = ExclusionReason::BudgetExceeded { item_tokens: 9, available_tokens: 4 };
        /// assert_eq!(ReasonKind::from(&reason), ReasonKind::BudgetExceeded);
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ReasonKind<'a> {
            $(
                #[doc = concat!("[`ExclusionReason::", stringify!($variant), "`].")]
                $variant,
            )+
            /// [`ExclusionReason::Unknown`] with this name.
            Unknown(&'a str),
        }

        impl<'a> ReasonKind<'a> {
            /// The reason's name, as [`ExclusionReason::name`] gives it.
            pub fn name(self) -> &'a str {
                match self {
                    $(Self::$variant => stringify!($variant),)+
                    Self::Unknown(name) => name,
                }
            }
        }

        impl<'a> From<&'a ExclusionReason> for ReasonKind<'a> {
            fn from(reason: &'a ExclusionReason) -> Self {
                match reason {
                    $(ExclusionReason::$variant { .. } => Self::$variant,)+
                    ExclusionReason::Unknown { reason, .. } => Self::Unknown(reason),
                }
            }
        }
    };
}

reasons!(reason_kind);

impl fmt::Display for ReasonKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Separates the values with commas.
pub(super) fn list<T: Display>(values: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    texts.join(", ")
}

/// The different kinds among `included`, in order of first appearance.
pub(super) fn distinct_kinds(included: &[IncludedItem]) -> Vec<&ContextKind> {
    distinct(included.iter().map(|included| included.item.kind()))
}

/// The different reasons among `excluded`, in order of first appearance.
pub(super) fn distinct_reasons<'a>(
    excluded: impl IntoIterator<Item = &'a ExcludedItem>,
) -> Vec<ReasonKind<'a>> {
    distinct(excluded.into_iter().map(|excluded| ReasonKind::from(&excluded.reason)))
}

fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// One line for each of the first five items, and how many more there are.
pub(super) fn summary(included: &[IncludedItem]) -> String {
    const SHOWN: usize = 5;
    let mut text = String::new();
    for (index, IncludedItem { item, score, reason, .. }) in included.iter().take(SHOWN).enumerate()
    {
        // Writing to a `String` cannot fail.
        let _ = write!(
            text,
            "\n  {index}: kind={kind}, score={score}, reason={reason}",
            kind = item.kind()
        );
    }
    if let Some(more @ 1..) = included.len().checked_sub(SHOWN) {
        let _ = write!(text, "\n  and {more} more");
    }
    text
}
