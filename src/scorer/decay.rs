//! Scores by age, on an injected clock.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use auto_impl::auto_impl;
use chrono::{DateTime, Utc};

use super::{ScoreParts, Scorer, ScorerFacts};
use crate::config::{Path, Problems};
use crate::error::{ConfigError, CupelError};
use crate::model::ContextItem;

/// Tells a [`DecayScorer`] what time it is.
#[auto_impl(Arc, Box)]
pub trait TimeProvider: Send + Sync {
    /// The current time.
    fn now(&self) -> DateTime<Utc>;
}

impl fmt::Debug for dyn TimeProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TimeProvider")
    }
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SystemTimeProvider;

impl TimeProvider for SystemTimeProvider {
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }
}

/// A clock that stands still: for tests, and to freeze one request's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedTimeProvider(DateTime<Utc>);

impl FixedTimeProvider {
    /// A clock that always shows `now`.
    pub fn new(now: DateTime<Utc>) -> Self {
        Self(now)
    }
}

impl TimeProvider for FixedTimeProvider {
    fn now(&self) -> DateTime<Utc> {
        self.0
    }
}

/// Curve by which a score falls with age. Its constructors validate.
#[derive(Debug, Clone, PartialEq)]
pub struct DecayCurve(Shape);

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    Exponential { half_life: Duration },
    Step { windows: Vec<(Duration, f64)> },
    Window { max_age: Duration },
}

impl DecayCurve {
    /// `2^(-age / half_life)`: 1.0 when fresh, 0.5 after one half-life.
    ///
    /// # Errors
    ///
    /// [`CupelError::ScorerConfig`] when `half_life` is zero.
    pub fn exponential(half_life: Duration) -> Result<Self, CupelError> {
        if half_life.is_zero() {
            // The specification wants its own name of the parameter in the message.
            let message = "the halfLife must be greater than 0, got 0";
            let error = ConfigError::new("DecayCurve", "half_life_secs", message);
            return Err(CupelError::ScorerConfig(error));
        }
        Ok(Self(Shape::Exponential { half_life }))
    }

    /// The score of the first window whose `max_age` is above the age; the last one's beyond.
    ///
    /// Windows go from the youngest to the oldest.
    ///
    /// # Errors
    ///
    /// [`CupelError::ScorerConfig`] when there is no window, a `max_age` is zero or not above
    /// the one before, or a score is outside `[0.0, 1.0]`.
    pub fn step(windows: Vec<(Duration, f64)>) -> Result<Self, CupelError> {
        let path = Path::Root.key("windows");
        let mut problems = Problems::default();
        if windows.is_empty() {
            problems.add(&path, "must have at least one window, got none");
        }
        let mut oldest = Duration::ZERO;
        for (index, (max_age, score)) in windows.iter().enumerate() {
            let path = path.index(index);
            let valid = format!("greater than {}", oldest.as_secs_f64());
            let is_older = *max_age > oldest;
            problems.require(is_older, &path.key("max_age_secs"), &valid, max_age.as_secs_f64());
            problems.score(&path.key("score"), *score);
            oldest = oldest.max(*max_age);
        }
        problems.scorer("DecayCurve")?;
        Ok(Self(Shape::Step { windows }))
    }

    /// 1.0 below `max_age`, 0.0 from there on.
    ///
    /// # Errors
    ///
    /// [`CupelError::ScorerConfig`] when `max_age` is zero.
    pub fn window(max_age: Duration) -> Result<Self, CupelError> {
        let mut problems = Problems::default();
        problems.require(!max_age.is_zero(), &Path::Root.key("max_age_secs"), "greater than 0", 0);
        problems.scorer("DecayCurve")?;
        Ok(Self(Shape::Window { max_age }))
    }

    /// Shape of the curve, with its parameters.
    #[cfg(feature = "serde")]
    pub(crate) fn shape(&self) -> &Shape {
        &self.0
    }

    /// The score at an age.
    pub fn at(&self, age: Duration) -> f64 {
        match &self.0 {
            Shape::Exponential { half_life } => {
                (-age.as_secs_f64() / half_life.as_secs_f64()).exp2()
            }
            Shape::Step { windows } => windows
                .iter()
                .find(|(max_age, _)| *max_age > age)
                .or(windows.last())
                .map_or(0.0, |(_, score)| *score),
            Shape::Window { max_age } => f64::from(u8::from(age < *max_age)),
        }
    }
}

/// Scores by the time since the item's timestamp, along a [`DecayCurve`].
///
/// Unlike [`RecencyScorer`](crate::scorer::RecencyScorer) it looks at one item only, so the score does
/// not depend on the other candidates. Items from the future count as fresh.
///
/// ```
/// use std::time::Duration;
/// use chrono::DateTime;
/// use cupel::{ContextItem, Scorer};
/// use cupel::scorer::{DecayCurve, DecayScorer, FixedTimeProvider};
///
/// let at = |secs| DateTime::from_timestamp(secs, 0).unwrap();
/// let scorer = DecayScorer::new(
///     FixedTimeProvider::new(at(7_200)),
///     DecayCurve::exponential(Duration::from_secs(3_600))?,
/// );
/// let item = ContextItem::builder("two hours ago", 3).timestamp(at(0)).build()?;
/// assert_eq!(scorer.score(&item, &[]), 0.25);
/// # Ok::<(), cupel::CupelError>(())
/// ```
#[derive(Debug)]
pub struct DecayScorer {
    clock: Box<dyn TimeProvider>,
    pub(crate) curve: DecayCurve,
    pub(crate) null_timestamp_score: f64,
}

impl DecayScorer {
    /// Creates a scorer; items without a timestamp score 0.5.
    pub fn new(clock: impl TimeProvider + 'static, curve: DecayCurve) -> Self {
        Self { clock: Box::new(clock), curve, null_timestamp_score: 0.5 }
    }

    /// Sets the score of items without a timestamp.
    ///
    /// # Errors
    ///
    /// [`CupelError::ScorerConfig`] when `score` is outside `[0.0, 1.0]`.
    pub fn null_timestamp_score(mut self, score: f64) -> Result<Self, CupelError> {
        let mut problems = Problems::default();
        problems.score(&Path::Root.key("null_timestamp_score"), score);
        problems.scorer("DecayScorer")?;
        self.null_timestamp_score = score;
        Ok(self)
    }

    fn score_at(&self, item: &ContextItem, now: DateTime<Utc>) -> f64 {
        let Some(timestamp) = item.timestamp() else {
            return self.null_timestamp_score;
        };
        // `to_std` fails for negative durations: the item is from the future, so it is fresh.
        let age = (now - timestamp).to_std().unwrap_or(Duration::ZERO);
        self.curve.at(age)
    }
}

impl Scorer for DecayScorer {
    fn score(&self, item: &ContextItem, _all: &[ContextItem]) -> f64 {
        self.score_at(item, self.clock.now())
    }

    fn score_all(&self, items: &[ContextItem], scores: &mut [f64]) {
        // One reading of the clock for the whole pass, so that equal ages score equally.
        let now = self.clock.now();
        for (item, score) in items.iter().zip(scores) {
            *score = self.score_at(item, now);
        }
    }

    fn explain_all(&self, items: &[ContextItem]) -> Vec<ScoreParts> {
        let now = self.clock.now();
        let explain = |item: &ContextItem| {
            let score = ScoreParts::new(self.name(), self.score_at(item, now));
            match item.timestamp().map(|timestamp| now - timestamp) {
                None => score.note("no date"),
                Some(age) => score.note(format!("{} min old", age.num_minutes())),
            }
        };
        items.iter().map(explain).collect()
    }

    fn facts(&self) -> ScorerFacts {
        ScorerFacts::ABSOLUTE.with_time(true)
    }

    fn freeze(&self) -> Option<Arc<dyn Scorer>> {
        Some(Arc::new(Self {
            clock: Box::new(FixedTimeProvider::new(self.clock.now())),
            curve: self.curve.clone(),
            null_timestamp_score: self.null_timestamp_score,
        }))
    }

    crate::names::as_any!();
}
