//! What every turn looked like.

use std::sync::atomic::{AtomicUsize, Ordering};

use cupel::ContextItem;
use cupel::layer::Selection;

/// Prints one turn after another.
pub(crate) fn turns() -> impl Fn(&Selection) + Send + Sync {
    let turn = AtomicUsize::new(1);
    move |selection| {
        let used: i64 =
            selection.report.included.iter().map(|included| included.item.tokens()).sum();
        let room = selection.budget.target_tokens();
        println!(
            "\nturn {}: {} of {} candidates, {used} of {room} tokens (tools and format take {})",
            turn.fetch_add(1, Ordering::Relaxed),
            selection.report.included.len(),
            selection.report.total_candidates,
            selection.fixed_tokens,
        );
        for source in &selection.gather.sources {
            println!("  {} {}: {} found", source.name, source.outcome, source.items);
        }
        for included in &selection.report.included {
            println!("  kept    {}  ({})", line(&included.item), included.reason);
        }
        for excluded in &selection.report.excluded {
            println!("  DROPPED {}  ({})", line(&excluded.item), excluded.reason);
        }
    }
}

/// Tokens, kind, and the beginning of the text, in one line.
fn line(item: &ContextItem) -> String {
    let text: String = item.content().split_whitespace().collect::<Vec<_>>().join(" ");
    let brief: String = text.chars().take(60).collect();
    format!("{:>4} {:<13} {brief:<60}", item.tokens(), item.kind().as_str())
}
