//! The plan of a turn in an explanation.

use foldhash::HashMap;

use super::cache::Prices;
use super::planned::Part;
use super::report::TurnReport;
use crate::diagnostics::SelectionReport;
use crate::explain::Explanation;
use crate::model::ContextItem;

impl TurnReport {
    /// Says of every item which part of the plan it was in, and what a prompt cache may know.
    pub(crate) fn explain(&self, mut explanation: Explanation) -> Explanation {
        let parts = self.parts_by_address();
        let report = &mut explanation.report;
        let included = report.included.iter_mut().map(|entry| (&entry.item, &mut entry.details));
        let excluded = report.excluded.iter_mut().map(|entry| (&entry.item, &mut entry.details));
        for (item, details) in included.chain(excluded) {
            if let Some(part) = parts.get(&item.address()) {
                details.get_or_insert_default().part = Some(part.as_str().to_owned());
            }
        }
        let frame = self.frame_tokens(&explanation.report);
        if frame > 0 {
            let note = format!("the frame around what is recalled takes {frame} more tokens");
            explanation = explanation.note(note);
        }
        let broke = self.broke.map(|broke| broke.as_str().to_owned());
        if let Some(newest) = &self.newest_first {
            let [ours, newest] =
                [self.cost(Prices::FREE_WRITES), newest.cost(Prices::FREE_WRITES)].map(f64::round);
            let note = format!(
                "the input costs as much as {ours} new tokens, newest-first trimming {newest} (a \
                 cached token for a tenth)"
            );
            explanation = explanation.note(note);
        }
        explanation.cache(self.cached_tokens, self.new_tokens, broke)
    }

    /// Tokens of the frame around quoted items: they belong to none of them.
    fn frame_tokens(&self, report: &SelectionReport) -> i64 {
        if self.recalled_tokens <= 0 {
            return 0;
        }
        let parts = self.parts_by_address();
        let is_sent =
            |item: &ContextItem| parts.get(&item.address()).is_some_and(|it| it.is_sent());
        let items = report.included.iter().filter(|entry| !is_sent(&entry.item));
        let items = items.map(|entry| entry.item.tokens()).fold(0, i64::saturating_add);
        self.recalled_tokens.saturating_sub(items).max(0)
    }

    /// The parts of the candidates, found by item in constant time.
    fn parts_by_address(&self) -> HashMap<usize, Part> {
        self.parts().map(|(item, part)| (item.address(), part)).collect()
    }
}
