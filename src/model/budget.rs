//! The token budget, the effective budget that slicing sees, and what happens when a selection
//! exceeds its target.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use super::ContextKind;
use crate::error::CupelError;

/// Token budget of a selection, validated when it is built.
///
/// ```
/// use cupel::{ContextBudget, ContextKind};
///
/// let budget = ContextBudget::builder(8_192)
///     .target_tokens(6_000)
///     .output_reserve(1_024)
///     .reserve_slot(ContextKind::document(), 200)
///     .estimation_safety_margin_percent(5.0)
///     .build()?;
/// assert_eq!(budget.max_tokens(), 8_192);
///
/// let error = ContextBudget::builder(100).target_tokens(101).build().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "invalid budget: targetTokens must be between 0 and maxTokens (100), got 101",
/// );
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(remote = "Self", rename_all = "camelCase", deny_unknown_fields)
)]
pub struct ContextBudget {
    max_tokens: i64,
    target_tokens: i64,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "super::is_default"))]
    output_reserve: i64,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "super::is_default"))]
    #[cfg_attr(feature = "serde", serde(with = "super::wire::kinds"))]
    reserved_slots: HashMap<ContextKind, i64>,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "super::is_default"))]
    estimation_safety_margin_percent: f64,
}

#[cfg(feature = "serde")]
super::serde_by_name!(ContextBudget);

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for ContextBudget {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The derived form, before it is validated.
        Self::deserialize(deserializer)?.validated().map_err(serde::de::Error::custom)
    }
}

impl ContextBudget {
    /// Creates a budget from all five fields.
    ///
    /// # Errors
    ///
    /// [`CupelError::InvalidBudget`] names the first field that breaks a rule.
    pub fn new(
        max_tokens: i64,
        target_tokens: i64,
        output_reserve: i64,
        reserved_slots: HashMap<ContextKind, i64>,
        estimation_safety_margin_percent: f64,
    ) -> Result<Self, CupelError> {
        let budget = Self {
            max_tokens,
            target_tokens,
            output_reserve,
            reserved_slots,
            estimation_safety_margin_percent,
        };
        budget.validated()
    }

    /// Starts a budget for a model window of `max_tokens`.
    pub fn builder(max_tokens: i64) -> ContextBudgetBuilder {
        ContextBudgetBuilder { budget: Self::bare(max_tokens, 0), target_tokens: None }
    }

    /// A budget for a slicer: both values are known to be valid.
    pub(crate) fn bare(max_tokens: i64, target_tokens: i64) -> Self {
        Self {
            max_tokens,
            target_tokens,
            output_reserve: 0,
            reserved_slots: HashMap::new(),
            estimation_safety_margin_percent: 0.0,
        }
    }

    /// A budget from parts that are known to be valid.
    pub(crate) fn trusted(max_tokens: i64, target_tokens: i64, output_reserve: i64) -> Self {
        Self { output_reserve, ..Self::bare(max_tokens, target_tokens) }
    }

    /// The same budget with so many more tokens in window and target, or fewer if negative.
    pub(crate) fn plus(&self, tokens: i64) -> Result<Self, CupelError> {
        let max_tokens = self.max_tokens.saturating_add(tokens);
        let target_tokens = self.target_tokens.saturating_add(tokens).clamp(0, max_tokens.max(0));
        Self { max_tokens, target_tokens, ..self.clone() }.validated()
    }

    fn validated(self) -> Result<Self, CupelError> {
        let max = self.max_tokens;
        if max < 0 {
            return Err(CupelError::budget("maxTokens", format!("must be at least 0, got {max}")));
        }
        for (field, value) in
            [("targetTokens", self.target_tokens), ("outputReserve", self.output_reserve)]
        {
            if !(0..=max).contains(&value) {
                let problem = format!("must be between 0 and maxTokens ({max}), got {value}");
                return Err(CupelError::budget(field, problem));
            }
        }
        let margin = self.estimation_safety_margin_percent;
        if !(0.0..=100.0).contains(&margin) {
            let problem = format!("must be between 0 and 100, got {margin}");
            return Err(CupelError::budget("estimationSafetyMarginPercent", problem));
        }
        // The smallest kind first, so that the same bad map always gives the same message.
        let negative = self.reserved_slots.iter().filter(|(_, slots)| **slots < 0);
        if let Some((kind, slots)) = negative.min() {
            return Err(CupelError::budget(
                format!("reservedSlots[{kind}]"),
                format!("must be at least 0, got {slots}"),
            ));
        }
        Ok(self)
    }

    /// The hard ceiling: the model's context window.
    pub fn max_tokens(&self) -> i64 {
        self.max_tokens
    }

    /// The soft goal the slicer aims for.
    pub fn target_tokens(&self) -> i64 {
        self.target_tokens
    }

    /// Tokens kept free for the model's answer.
    pub fn output_reserve(&self) -> i64 {
        self.output_reserve
    }

    /// Tokens of the window without the output reserve: the most a request may take.
    pub fn available_tokens(&self) -> i64 {
        self.max_tokens.saturating_sub(self.output_reserve)
    }

    /// Capacity set aside for each kind; the sum is taken off the effective budget.
    pub fn reserved_slots(&self) -> &HashMap<ContextKind, i64> {
        &self.reserved_slots
    }

    /// Safety margin in percent. The effective budget shrinks by it, because token counts are estimates.
    pub fn estimation_safety_margin_percent(&self) -> f64 {
        self.estimation_safety_margin_percent
    }

    /// Budget that a slicer receives: what is left for the items that are not pinned.
    ///
    /// ```
    /// use cupel::ContextBudget;
    ///
    /// let budget = ContextBudget::builder(1_000)
    ///     .target_tokens(800)
    ///     .output_reserve(300)
    ///     .estimation_safety_margin_percent(10.0)
    ///     .build()?;
    /// // max: (1000 - 300 - 50) * 0.9 = 585; target: min(800 - 50, 650) * 0.9 = 585
    /// let effective = budget.effective(50);
    /// assert_eq!((effective.max_tokens(), effective.target_tokens()), (585, 585));
    /// # Ok::<(), cupel::CupelError>(())
    /// ```
    pub fn effective(&self, pinned_tokens: i64) -> Self {
        let committed = self
            .reserved_slots
            .values()
            .fold(pinned_tokens, |sum, slots| sum.saturating_add(*slots));
        let max = self.available_tokens().saturating_sub(committed).max(0);
        let target = self.target_tokens.saturating_sub(committed).max(0).min(max);
        if self.estimation_safety_margin_percent <= 0.0 {
            return Self::bare(max, target);
        }
        let multiplier = 1.0 - self.estimation_safety_margin_percent / 100.0;
        // `as` saturates and the product is finite and not negative, so this is a plain floor.
        let max = (max as f64 * multiplier).floor() as i64;
        let target = (target as f64 * multiplier).floor() as i64;
        Self::bare(max, target.min(max))
    }
}

/// Builds a [`ContextBudget`].
#[derive(Debug, Clone)]
#[must_use = "a budget exists only after build()"]
pub struct ContextBudgetBuilder {
    /// Not valid yet, and its target is not set.
    budget: ContextBudget,
    target_tokens: Option<i64>,
}

impl ContextBudgetBuilder {
    /// Sets the soft goal. Without it, the goal is all that the output reserve leaves.
    pub fn target_tokens(mut self, tokens: i64) -> Self {
        self.target_tokens = Some(tokens);
        self
    }

    /// Keeps tokens free for the model's answer.
    pub fn output_reserve(mut self, tokens: i64) -> Self {
        self.budget.output_reserve = tokens;
        self
    }

    /// Sets capacity aside for one kind.
    pub fn reserve_slot(mut self, kind: ContextKind, slots: i64) -> Self {
        self.budget.reserved_slots.insert(kind, slots);
        self
    }

    /// Sets capacity aside for several kinds.
    pub fn reserved_slots(mut self, slots: impl IntoIterator<Item = (ContextKind, i64)>) -> Self {
        self.budget.reserved_slots = slots.into_iter().collect();
        self
    }

    /// Shrinks the effective budget by this percentage.
    pub fn estimation_safety_margin_percent(mut self, percent: f64) -> Self {
        self.budget.estimation_safety_margin_percent = percent;
        self
    }

    /// Finishes the budget.
    ///
    /// # Errors
    ///
    /// [`CupelError::InvalidBudget`] names the first field that breaks a rule.
    pub fn build(self) -> Result<ContextBudget, CupelError> {
        let Self { mut budget, target_tokens } = self;
        // An invalid reserve is reported as such, not as the target derived from it.
        let derived = budget.available_tokens().clamp(0, budget.max_tokens.max(0));
        budget.target_tokens = target_tokens.unwrap_or(derived);
        budget.validated()
    }
}

/// Reaction of the pipeline when pinned and sliced items together exceed the target or the ceiling.
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
        f.pad(&format!("{self:?}"))
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
