//! How much of the room trimmed calls use.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use cupel::layer::Selection;

/// Sums over the calls that had to be trimmed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filled(Arc<Mutex<Sums>>);

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    calls: f64,
    used: f64,
    kept: f64,
}

impl Filled {
    /// For the layer's `on_selection`, where requests may have so many tokens.
    pub(crate) fn hook(&self, room: i64) -> impl Fn(&Selection) + Send + Sync + 'static {
        let sums = Arc::clone(&self.0);
        move |selection| {
            let plan = selection.plan.as_ref();
            let is_whole = match plan {
                Some(plan) => plan.whole,
                None => selection.sent.left_out == 0,
            };
            if is_whole {
                return;
            }
            let used = selection.sent.tokens + selection.fixed_tokens;
            let unused = plan.map_or(0, |plan| plan.share - plan.recalled_tokens).max(0);
            let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
            sums.calls += 1.0;
            sums.used += used as f64 / room as f64;
            sums.kept += (used + unused) as f64 / room as f64;
        }
    }
}

impl fmt::Display for Filled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sums = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mean = |sum: f64| if sums.calls > 0.0 { sum / sums.calls } else { 0.0 };
        let Sums { calls, used, kept } = sums;
        write!(f, "{calls} trimmed calls, {:.3}, {:.3} with recall's share", mean(used), mean(kept))
    }
}
