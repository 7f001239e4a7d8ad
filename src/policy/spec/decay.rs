//! The curves of a decay scorer as data.

use std::time::Duration;

use serde::Serializer;

use super::parts::{parts, setting, table};
use crate::error::CupelError;
use crate::scorer::{DecayCurve, DecayShape};

parts! {
    /// A [`DecayCurve`](crate::DecayCurve) as data; in a file, ages are in seconds.
    pub enum DecayCurveSpec: "a decay curve" else Self::Window { max_age: Duration::MAX } => {
        /// [`DecayCurve::exponential`](crate::DecayCurve::exponential).
        "exponential" Exponential {
            /// The age at which half of the score is left; key `half_life_secs`.
            #[serde(serialize_with = "seconds")]
            half_life: Duration as "half_life_secs",
        },
        /// [`DecayCurve::step`](crate::DecayCurve::step).
        "step" Step {
            /// From the youngest to the oldest.
            windows: Vec<DecayWindowSpec>,
        },
        /// [`DecayCurve::window`](crate::DecayCurve::window).
        "window" Window {
            /// The age from which on the score is 0; key `max_age_secs`.
            #[serde(serialize_with = "seconds")]
            max_age: Duration as "max_age_secs",
        },
    }
}

table! {
    /// One step of a [`DecayCurveSpec::Step`].
    pub struct DecayWindowSpec: "a table with max_age_secs and score" {
        /// The step holds below this age; key `max_age_secs`.
        #[serde(serialize_with = "seconds")]
        pub max_age: Duration as "max_age_secs",
        /// The score within the step.
        pub score: f64,
    }
}

fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    match duration.subsec_nanos() {
        0 => serializer.serialize_u64(duration.as_secs()),
        _ => serializer.serialize_f64(duration.as_secs_f64()),
    }
}

impl DecayCurveSpec {
    pub(super) fn build(&self) -> Result<DecayCurve, CupelError> {
        match self {
            Self::Exponential { half_life } => DecayCurve::exponential(*half_life),
            Self::Window { max_age } => DecayCurve::window(*max_age),
            Self::Step { windows } => DecayCurve::step(
                windows.iter().map(|window| (window.max_age, window.score)).collect(),
            ),
        }
    }

    pub(super) fn of(curve: &DecayCurve) -> Self {
        match curve.shape() {
            DecayShape::Exponential { half_life } => Self::Exponential { half_life: *half_life },
            DecayShape::Window { max_age } => Self::Window { max_age: *max_age },
            DecayShape::Step { windows } => {
                let window = |&(max_age, score): &(_, _)| DecayWindowSpec { max_age, score };
                Self::Step { windows: windows.iter().map(window).collect() }
            }
        }
    }
}
