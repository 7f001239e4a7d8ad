//! Share of the room that trimmed calls use, and the uses of the rest.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use cupel::conversation::plan::Part;
use cupel::layer::{Selection, TurnReport};

/// Sums over the calls that had to be trimmed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filled(Arc<Mutex<Sums>>);

/// All but the number of calls in shares of the room.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    calls: f64,
    /// By our own count, and by the server's.
    used: f64,
    arrived: f64,
    /// Kept for recall, and not used.
    share: f64,
    /// Whole units before the cut that would have fitted: what it costs to cut on the grid.
    grid: f64,
    /// Share that stays free because counts are estimates.
    margin: f64,
    /// The room of the last call, if it was trimmed.
    trimmed: Option<f64>,
}

impl Filled {
    /// For the layer's `on_selection`, where requests may have so many tokens, of which so many percent of
    /// what is selected stay free.
    pub(crate) fn hook(
        &self,
        room: i64,
        margin_percent: f64,
        user_first: bool,
    ) -> impl Fn(&Selection) + Send + Sync + 'static {
        let sums = Arc::clone(&self.0);
        move |selection| {
            let plan = selection.plan.as_deref();
            let is_whole = match plan {
                Some(plan) => plan.whole,
                None => selection.sent.left_out == 0,
            };
            let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
            if is_whole {
                sums.trimmed = None;
                return;
            }
            let used = selection.sent.tokens + selection.fixed_tokens;
            let share = plan.map_or(0, |plan| plan.share - plan.recalled_tokens).max(0);
            let margin = (room - selection.fixed_tokens) as f64 * margin_percent / 100.0;
            // What is always sent may take it up.
            let margin = (margin.ceil() as i64).min(room - used - share).max(0);
            let free = room - used - share - margin;
            let grid = plan.map_or(0, |plan| would_fit(plan, free, user_first));
            let of_room = |tokens: i64| tokens as f64 / room as f64;
            sums.calls += 1.0;
            sums.used += of_room(used);
            sums.share += of_room(share);
            sums.grid += of_room(grid);
            sums.margin += of_room(margin);
            sums.trimmed = Some(room as f64);
        }
    }

    /// Notes how many tokens the server counted.
    pub(crate) fn arrived(&self, tokens: i64) {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = sums.trimmed.take() {
            sums.arrived += tokens as f64 / room;
        }
    }
}

/// The tokens of the units right before the cut that would have fitted as well.
fn would_fit(plan: &TurnReport, free: i64, user_first: bool) -> i64 {
    let parts: Vec<_> = plan.parts().filter(|(_, part)| *part != Part::Head).collect();
    let cut = parts.iter().rposition(|(_, part)| !part.is_sent()).map_or(0, |last| last + 1);
    let (mut sum, mut fits) = (0, 0);
    for (item, _) in parts.iter().take(cut).rev().take_while(|(_, part)| !part.is_sent()) {
        sum += item.tokens();
        if sum > free {
            break;
        }
        if !user_first || item.content().contains("] user:") {
            fits = sum;
        }
    }
    fits
}

impl fmt::Display for Filled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sums = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mean = |sum: f64| if sums.calls > 0.0 { sum / sums.calls } else { 0.0 };
        let Sums { calls, used, arrived, share, grid, margin, .. } = sums;
        let rest = if calls > 0.0 { calls - used - share - grid - margin } else { 0.0 };
        let [used, arrived, share, grid, margin, rest] =
            [used, arrived, share, grid, margin, rest].map(mean);
        write!(
            f,
            "{calls} | {used:.3} | {arrived:.3} | {share:.3} | {margin:.3} | {grid:.3} | {rest:.3}"
        )
    }
}

/// The heads of the columns that [`Filled`] writes, and of those before it.
pub(crate) const HEAD: &str = "| way | window | trimmed calls | used | by the server's count | kept for \
                               recall | margin | grid | no whole unit fits |\n\
                               | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |";
