//! What every turn looked like.

use std::sync::{Mutex, PoisonError};

use cupel::explain::{Explanation, Section};
use cupel::layer::Selection;

/// Prints one turn after another, each with what changed since the one before.
pub(crate) fn turns() -> impl Fn(&Selection) + Send + Sync {
    let turns: Mutex<Vec<Explanation>> = Mutex::default();
    move |selection| {
        let mut turns = turns.lock().unwrap_or_else(PoisonError::into_inner);
        let explanation = selection.explain();
        let sections = [Section::Brief, Section::Changes];
        let text = explanation.text().previous(turns.last()).sections(&sections).for_stdout();
        print!("\nturn {}:\n{text}", turns.len() + 1);
        turns.push(explanation);
    }
}
