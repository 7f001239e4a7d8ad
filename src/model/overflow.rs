//! What happens when the merged selection exceeds the target.

use std::fmt;
use std::str::FromStr;

use crate::error::CupelError;

/// What the pipeline does when pinned and sliced items together exceed the target or the ceiling.
///
/// The ceiling is `maxTokens - outputReserve`: no selection goes beyond it, whatever the strategy.
///
/// ```
/// use cupel::OverflowStrategy;
///
/// assert_eq!(OverflowStrategy::default(), OverflowStrategy::Throw);
/// assert_eq!("truncate".parse(), Ok(OverflowStrategy::Truncate));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum OverflowStrategy {
    /// Return [`CupelError::Overflow`], or [`CupelError::CeilingExceeded`] within the target.
    #[default]
    Throw,
    /// Drop items that are not pinned, from the tail, until the rest fits the lower of both.
    Truncate,
    /// Tell the overflow observer and keep everything up to the ceiling; what goes beyond it is
    /// dropped from the tail.
    Proceed,
}

impl fmt::Display for OverflowStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Throw => "Throw",
            Self::Truncate => "Truncate",
            Self::Proceed => "Proceed",
        })
    }
}

impl FromStr for OverflowStrategy {
    type Err = CupelError;

    fn from_str(text: &str) -> Result<Self, CupelError> {
        [Self::Throw, Self::Truncate, Self::Proceed]
            .into_iter()
            .find(|strategy| strategy.to_string().eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                CupelError::PipelineConfig(format!(
                    "overflow strategy: got {text:?}, expected Throw, Truncate or Proceed"
                ))
            })
    }
}
