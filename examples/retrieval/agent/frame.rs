//! Prints the setting before the first turn, and the sums and claims after the last one.

use std::io::{self, Write};
use std::time::Duration;

use cupel::conversation::plan::PrefixBreak;

use super::audit::Audit;
use super::script::MEMORY;
use super::view::{View, millis, percent};
use crate::{OUTPUT, WINDOW};
use cupel_dev::terminal::{count, thousands};

/// Says what the agent has, and how to read the rest.
pub(crate) fn introduce(
    view: &mut View<impl Write>,
    passages: usize,
    indexed_in: Duration,
) -> io::Result<()> {
    let passages = count(passages);
    view.heading("AN AGENT IN A SMALL WINDOW", "")?;
    let (window, output) = (thousands(WINDOW), thousands(OUTPUT));
    for (label, text) in [
        (
            "documents",
            format!("{passages} passages of this repository, indexed in {}", millis(indexed_in)),
        ),
        ("memory", format!("{} notes of an earlier session", MEMORY.len())),
        (
            "window",
            format!("{window} tokens (characters / 4), {output} of them kept free for the answer"),
        ),
        ("model", "rules in this process; it knows only the request".into()),
        ("without", "reply of the model without recalled and retrieved texts".into()),
    ] {
        view.line(label, &text)?;
    }
    Ok(())
}

/// Prints what all calls came to, beside newest-first trimming.
pub(crate) fn sums(view: &mut View<impl Write>, audit: &Audit, messages: usize) -> io::Result<()> {
    let Audit { planned, trimmed, requests, .. } = audit;
    view.heading("ALL CALLS", "")?;
    let moved = audit.times(PrefixBreak::CutMoved);
    view.line(
        "calls",
        &format!("{requests} over {messages} messages; the cut moved {moved} times"),
    )?;
    for (label, bill) in [("planned", planned), ("trimmed", trimmed)] {
        let (sent, cached) = (thousands(bill.sent), thousands(bill.cached));
        let share = percent(bill.cached, bill.sent);
        let cost = thousands(bill.cost().round() as i64);
        let text = format!(
            "{sent} tokens sent, {cached} ({share} %) cached; this costs as much as {cost} new ones"
        );
        view.line(label, &text)?;
    }
    let share = planned.cost() / trimmed.cost().max(1.0);
    view.line("", &format!("a cached token at a tenth; planned costs {share:.2} of newest first"))
}

/// Prints what was claimed, and whether all of it held.
pub(crate) fn verdict(
    view: &mut View<impl Write>,
    claims: &[(String, bool, Vec<usize>)],
) -> io::Result<bool> {
    view.heading("CHECKED", "")?;
    for (claim, holds, broken) in claims {
        let turns = broken.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let note =
            if broken.is_empty() { String::new() } else { format!(" — not in turn {turns}") };
        view.line(if *holds { "  yes" } else { "  NO" }, &format!("{claim}{note}"))?;
    }
    view.out.flush()?;
    Ok(claims.iter().all(|(_, holds, _)| *holds))
}
