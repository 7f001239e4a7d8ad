//! About a millisecond, after which somebody else comes first.

use std::time::Duration;

use tokio::time::Instant;

/// Length of a slice, about.
const LENGTH: Duration = Duration::from_millis(1);

/// The most pieces of work between two looks at the clock.
const FASTEST_PACE: usize = 16;

/// Says when the time is over, with few looks at the clock while the work is fast.
#[derive(Debug)]
pub(crate) struct TimeSlice {
    begun: Instant,
    pace: Pace,
    until_look: usize,
}

/// Number of pieces of work between two looks at the clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace(usize);

impl Default for Pace {
    /// For work that nobody has seen yet.
    fn default() -> Self {
        Self(1)
    }
}

impl TimeSlice {
    pub(crate) fn begin(pace: Pace) -> Self {
        Self { begun: Instant::now(), pace, until_look: pace.0 }
    }

    /// Returns true if it is over. Called after each piece of work.
    pub(crate) fn is_over(&mut self) -> bool {
        self.until_look -= 1;
        if self.until_look > 0 {
            return false;
        }
        let over = self.begun.elapsed() >= LENGTH;
        self.pace = Pace(if over { 1 } else { (2 * self.pace.0).min(FASTEST_PACE) });
        self.until_look = self.pace.0;
        over
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The pace that the work has shown, for the next time.
    pub(crate) fn pace(&self) -> Pace {
        self.pace
    }
}
