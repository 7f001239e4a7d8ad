//! Prints two ways to select from the same sources: after gathering, and while items arrive.

use std::io::{self, Write};

use cupel::gather::StopReason;

use super::view::{Outcome, View, millis};
use cupel_dev::terminal::items;

impl Outcome {
    /// Contents that were sent, in order.
    pub(crate) fn contents(&self) -> Vec<&str> {
        self.selection.report.included.iter().map(|included| included.item.content()).collect()
    }
}

impl<W: Write> View<'_, W> {
    /// Writes both calls, a line each.
    pub(crate) fn two_ways(&mut self, batch: &Outcome, streaming: &Outcome) -> io::Result<()> {
        let same = if batch.contents() == streaming.contents() { "the same" } else { "ANOTHER" };
        let earlier = millis(batch.elapsed.saturating_sub(streaming.elapsed));
        let note = format!("{same} selection, sent {earlier} earlier");
        self.heading("TWO WAYS TO SELECT FROM FOUR RETRIEVERS", &note)?;
        let columns =
            "  way                       sent        after  stopped because          archive gave";
        writeln!(self.out, "{}", self.paint.faint(columns))?;
        for (way, outcome) in
            [("gather, then select", batch), ("select while they arrive", streaming)]
        {
            let gather = &outcome.selection.gather;
            let why = match gather.stopped {
                StopReason::AllEnded => "all had ended",
                StopReason::Settled => "nothing could change it",
                StopReason::Deadline => "the deadline passed",
                _ => "a source failed",
            };
            let archive = gather.source("archive");
            let gave = archive.map_or(0, |archive| archive.items);
            let outcome_name = archive.map_or("", |archive| archive.outcome.name());
            writeln!(
                self.out,
                "  {way:<25} {:<9} {:>7}  {why:<24} {}, {outcome_name}",
                items(outcome.sent),
                millis(outcome.elapsed),
                items(gave),
            )?;
        }
        writeln!(
            self.out,
            "\n  The archive promises passages of 60 tokens and more that score little. Once better \
             ones\n  leave less room than that, nothing it could send would be selected.\n"
        )
    }
}
