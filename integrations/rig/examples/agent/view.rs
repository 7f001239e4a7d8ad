//! Prints every turn, and the sums.

use std::sync::{Arc, Mutex, PoisonError};

use cupel::conversation::plan::Part;
use cupel::diagnostics::IncludedItem;
use cupel::layer::{Selection, TurnReport};

/// Sums over all turns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turns(Arc<Mutex<Sums>>);

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    turns: usize,
    begun_anew: usize,
    recalled: usize,
    excerpts: usize,
    cached: i64,
    new: i64,
}

impl Turns {
    /// Prints one turn after another: what was sent of each part, what moved, what was recalled.
    pub(crate) fn print(&self) -> impl Fn(&Selection) + Send + Sync + 'static {
        let sums = Arc::clone(&self.0);
        move |selection| {
            let Some(plan) = &selection.plan else { return };
            let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
            sums.turns += 1;
            println!("\nturn {}: {}", sums.turns, parts(plan));
            sums.begun_anew += usize::from(plan.broke.is_some());
            sums.excerpts += plan.excerpts;
            sums.cached += plan.cached_tokens;
            sums.new += plan.new_tokens;
            let sent = plan.cached_tokens + plan.new_tokens;
            let begins = match plan.broke {
                None => "same prefix as the previous turn".to_owned(),
                Some(why) => format!("new prefix: {why}"),
            };
            let cached = percent(plan.cached_tokens, sent);
            println!("  {sent} tokens, {cached} % can be cached; {begins}");
            for recalled in selection.report.included.iter().filter(|item| is_recalled(plan, item))
            {
                sums.recalled += 1;
                let content = recalled.item.content().replace('\n', " ");
                let text: String = content.chars().take(60).collect();
                println!("  recalled, relevance {:.2}: {text}…", recalled.score);
            }
        }
    }

    /// Prints the sums.
    pub(crate) fn sum(&self) {
        let sums = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Sums { turns, begun_anew, recalled, excerpts, cached, new } = sums;
        println!(
            "\n{turns} turns, {begun_anew} with a new prefix; {recalled} texts recalled, \
             {excerpts} results shortened; {cached} of {} tokens ({} %) could be cached",
            cached + new,
            percent(cached, cached + new),
        );
    }
}

fn percent(part: i64, whole: i64) -> i64 {
    100 * part / whole.max(1)
}

/// Returns true if an item comes from a source or from before the cut.
fn is_recalled(plan: &TurnReport, included: &IncludedItem) -> bool {
    plan.part_of(&included.item).is_none_or(|part| part == Part::Earlier)
}

/// Number of candidates in each part of the plan.
fn parts(plan: &TurnReport) -> String {
    let mut runs: Vec<(Part, usize)> = Vec::new();
    for (_, part) in plan.parts() {
        match runs.last_mut() {
            Some((last, count)) if *last == part => *count += 1,
            _ => runs.push((part, 1)),
        }
    }
    let runs: Vec<String> = runs.iter().map(|(part, count)| format!("{part} {count}")).collect();
    runs.join(", ")
}
