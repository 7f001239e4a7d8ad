//! Reasons for an exclusion without their fields.

use std::fmt;

use crate::diagnostics::ExclusionReason;
use crate::model::reasons;

/// One variant for each reason, with the reason's name.
macro_rules! reason_kind {
    ($($variant:ident,)+) => {
        /// The variant of an [`ExclusionReason`], to name a reason without inventing its fields.
        ///
        /// Assertions take `impl Into<ReasonKind>`: either a variant or a reference to a reason, of which
        /// only the variant counts.
        ///
        /// ```
        /// use cupel::ExclusionReason;
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
            #[must_use]
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
