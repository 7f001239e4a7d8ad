//! Duration of a measurement, and the median of its samples.

/// Duration of a measurement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Once: `cargo test --benches` asks a bench to run as a test, to see that it works.
    Smoke,
    /// For a first look: `-- --quick`.
    Quick,
    /// For the table.
    Full,
}

impl Effort {
    pub fn from_arguments() -> Self {
        let arguments: Vec<String> = std::env::args().collect();
        let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
        if has("--test") {
            Self::Smoke
        } else if has("--quick") {
            Self::Quick
        } else {
            Self::Full
        }
    }

    /// One of three numbers.
    pub fn pick<T>(self, smoke: T, quick: T, full: T) -> T {
        match self {
            Self::Smoke => smoke,
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

pub fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
