//! A selection of the layer as something to look at.

use foldhash::HashMap;

use super::{Selection, StreamReport, TurnReport};
use crate::conversation::plan::Prices;
use crate::explain::{Explanation, SourceTiming};
use crate::gather::{JudgeReport, SourceOutcome, SourceReport};

impl Selection {
    /// The selection as something to look at: as text, or as a page.
    ///
    /// ```
    /// use cupel::layer::{ContextRequest, ContextRequestAdapter, CupelLayer, Selection};
    /// use cupel::{ContextBudget, Policy};
    ///
    /// let layer = CupelLayer::<ContextRequest<()>, _>::builder()
    ///     .adapter(ContextRequestAdapter)
    ///     .policy(Policy::chat())
    ///     .budget(ContextBudget::builder(8_192).output_reserve(1_024).build()?)
    ///     .on_selection(|selection: &Selection| print!("{}", selection.explain().text().brief()))
    ///     .build()?;
    /// # let _ = layer;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn explain(&self) -> Explanation {
        let mut explanation = Explanation::new(self.report.clone())
            .budget(self.budget.clone())
            .fixed_tokens(self.fixed_tokens.saturating_add(self.frame_tokens()));
        if !self.gather.sources.is_empty() {
            let elapsed = self.gather.elapsed.as_secs_f64() * 1_000.0;
            explanation =
                explanation.gathered(elapsed, self.gather.sources.iter().map(timing).collect());
        }
        if let Some(StreamReport { arrived, .. }) = &self.stream {
            explanation = explanation.note(format!("selected while {arrived} items arrived"));
        }
        if let Some(judge) = &self.gather.judge {
            let JudgeReport { name, texts, judged, outcome, .. } = judge;
            let note = format!("judge {name}: {outcome}, {judged} of {texts} texts judged");
            explanation = explanation.note(note);
        }
        if let Some(plan) = &self.plan {
            explanation = planned(explanation, plan);
        }
        let uncounted = self.uncounted.iter().map(|what| format!("not counted: {what}"));
        uncounted.fold(explanation, Explanation::note)
    }

    /// What the frame around quoted items takes: it belongs to none of them.
    fn frame_tokens(&self) -> i64 {
        let Some(plan) = self.plan.as_ref().filter(|plan| plan.recalled_tokens > 0) else {
            return 0;
        };
        let items = self.report.included.iter().filter(|entry| !plan.is_sent(&entry.item));
        let items = items.map(|entry| entry.item.tokens()).fold(0, i64::saturating_add);
        plan.recalled_tokens.saturating_sub(items).max(0)
    }
}

impl From<&Selection> for Explanation {
    fn from(selection: &Selection) -> Self {
        selection.explain()
    }
}

/// Says of every item which part of the plan it was in, and what a prompt cache may know.
fn planned(mut explanation: Explanation, plan: &TurnReport) -> Explanation {
    let parts: HashMap<usize, &'static str> =
        plan.parts().map(|(item, part)| (item.address(), part.as_str())).collect();
    let report = &mut explanation.report;
    let included = report.included.iter_mut().map(|entry| (&entry.item, &mut entry.details));
    let excluded = report.excluded.iter_mut().map(|entry| (&entry.item, &mut entry.details));
    for (item, details) in included.chain(excluded) {
        if let Some(part) = parts.get(&item.address()) {
            details.get_or_insert_default().part = Some((*part).to_owned());
        }
    }
    let broke = plan.broke.map(|broke| broke.as_str().to_owned());
    if let Some(newest) = &plan.newest_first {
        let [ours, newest] =
            [plan.cost(Prices::FREE_WRITES), newest.cost(Prices::FREE_WRITES)].map(f64::round);
        let note = format!(
            "the input costs as much as {ours} new tokens, newest-first trimming {newest} (a \
             cached token for a tenth)"
        );
        explanation = explanation.note(note);
    }
    explanation.cache(plan.cached_tokens, plan.new_tokens, broke)
}

fn timing(source: &SourceReport) -> SourceTiming {
    let elapsed_ms = source.elapsed.as_secs_f64() * 1_000.0;
    let timing = SourceTiming::new(&*source.name, source.items, source.tokens, elapsed_ms)
        .outcome(source.outcome.name(), source.outcome.is_failure());
    let mut details = Vec::new();
    match &source.outcome {
        SourceOutcome::Failed { error } => details.push(error.clone()),
        SourceOutcome::Panicked { message } => details.push(message.clone()),
        _ => {}
    }
    if source.broke_promise {
        details.push("an item broke a promise".to_owned());
    }
    if source.pins_lifted > 0 {
        details.push(format!("{} pins lifted", source.pins_lifted));
    }
    if details.is_empty() { timing } else { timing.detail(details.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::plan::{Part, Plain, Turn};
    use crate::conversation::{Conversation, Message, Role, Rules};
    use crate::diagnostics::{IncludedItem, InclusionReason, SelectionReport};
    use crate::model::{ContextItem, TurnPlan};
    use crate::tokens::HeuristicCounter;

    #[test]
    fn a_planned_call_says_its_parts_and_what_a_cache_may_know() {
        let messages = vec![Message::new(Role::User, "And what was answer 3?", 10)];
        let texts = Plain::new(&messages, &HeuristicCounter);
        let mut conversation = Conversation::new(messages.clone(), &Rules::new()).unwrap();
        let plan = TurnPlan::new();
        let planned = conversation.plan(&Turn::new(&plan, 4_000), &texts).unwrap();
        let items = ["instructions", "question", "of a source"]
            .map(|text| ContextItem::new(text, 10).unwrap());
        let [head, question, _] = &items;
        let parts = vec![(head.clone(), Part::Head), (question.clone(), Part::Question)];
        let included =
            items.iter().map(|item| IncludedItem::new(item.clone(), 1.0, InclusionReason::Pinned));
        let report = SelectionReport::new(Vec::new(), included.collect(), Vec::new(), Vec::new());
        let plan = TurnReport::new(planned, parts, 4_000).finish(30, 0, 0, Vec::new());
        let selection = Selection { report, plan: Some(Box::new(plan)), ..Selection::empty() };

        let explanation = selection.explain();
        let part = |entry: &IncludedItem| entry.details.as_ref().and_then(|d| d.part.clone());
        let shown: Vec<_> = explanation.report.included.iter().map(part).collect();
        assert_eq!(shown, [Some("head".to_owned()), Some("question".to_owned()), None]);
        let cache = explanation.cache.as_ref().unwrap();
        assert_eq!(cache.cached_tokens + cache.new_tokens, 30);
        let text = explanation.text().brief().to_string();
        assert!(text.contains("from the cache:"), "{text}");
    }
}
