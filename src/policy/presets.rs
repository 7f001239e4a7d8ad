//! The presets, with the reason for every number. The module above has the table.

use std::sync::Arc;

use super::{Policy, Relevance};
use crate::model::{ContextKind, OverflowStrategy, ToolLimit, TurnPlan};
use crate::pipeline::Pipeline;
use crate::placer::{AgePlacer, Placer, UShapedPlacer};
use crate::relevance::Lexical;
use crate::scorer::{
    AgeScorer, CompositeScorer, FrequencyScorer, KindScorer, MetadataTrustScorer, PriorityScorer,
    ReflexiveScorer, Scorer,
};
use crate::slicer::{
    BestFirstSlice, CountQuotaEntry, CountQuotaSlice, FillSlice, GreedySlice, Quota, QuotaSet,
    QuotaSlice, ScarcityBehavior, Slicer,
};

/// Parts of a weighted average. Their weights are positive numbers; a test checks every preset.
type PresetParts = Vec<(Arc<dyn Scorer>, f64)>;

fn preset(
    parts: PresetParts,
    slicer: impl Slicer + 'static,
    placer: impl Placer + 'static,
) -> Policy {
    let (scorer, overflow) = (CompositeScorer::trusted(parts), OverflowStrategy::Truncate);
    let pipeline = Pipeline::from_parts(scorer, slicer, placer, overflow);
    Policy { pipeline, plan: None, relevance: None, tools: ToolLimit::new() }
}

impl Policy {
    /// Adds the scorer and slicer for calls with a question.
    fn with_question(self, parts: PresetParts, slicer: impl Slicer + 'static) -> Self {
        let relevance = Relevance::new(Lexical::new()).slicer(slicer);
        self.with_relevance(relevance.scorer(CompositeScorer::trusted(parts)))
    }
}

/// Trust counts 0.5 for an item without a trust value.
const TRUST: MetadataTrustScorer = MetadataTrustScorer { default_score: 0.5 };

/// Tool outputs first, then what was said about them; instructions are pinned in practice.
fn kinds_for_tools() -> KindScorer {
    KindScorer::trusted([
        (ContextKind::system_prompt(), 1.0),
        (ContextKind::tool_output(), 0.9),
        (ContextKind::message(), 0.6),
        (ContextKind::memory(), 0.5),
        (ContextKind::document(), 0.4),
    ])
}

/// At least two tool outputs, however they score, as far as they fit, and no upper limit.
fn at_least_two_tool_outputs(inner: impl Slicer + 'static) -> FillSlice {
    let kind = ContextKind::tool_output();
    // If they use up the budget, items that cost nothing are still taken.
    FillSlice::new(CountQuotaSlice {
        entries: vec![CountQuotaEntry { kind, require_count: 2, cap_count: usize::MAX }],
        inner: Arc::new(inner),
        scarcity: ScarcityBehavior::Degrade,
        within_budget: true,
    })
}

/// At least 60 % of the budget for documents and at most 20 % for messages. What a kind cannot use of
/// its share goes to the others.
fn shares_for_documents(inner: impl Slicer + 'static) -> FillSlice {
    let quotas = QuotaSet::trusted([
        (ContextKind::document(), Quota { require: 60.0, cap: 100.0 }),
        (ContextKind::message(), Quota { require: 0.0, cap: 20.0 }),
    ]);
    FillSlice::new(QuotaSlice::new(quotas, inner))
}

impl Policy {
    /// A conversation: what was said last matters most.
    ///
    /// - Age 3: follow-ups refer to the last turns, so being recent outweighs the rest together.
    ///   Messages without a date are as old as their order says.
    /// - Priority 1: enough to lift a message the caller marked above its close neighbours.
    /// - Kind 1: memories and tool outputs get ahead of small talk of the same age.
    /// - Greedy, oldest first: a conversation reads forwards, and the question comes last.
    ///
    /// With a question: relevance 20, the best first, so that a retrieved document or an old message
    /// that answers is not pushed out by small talk; age 1, so that of equally relevant messages the
    /// newer one is sent, and the newest fill what is left; priority 2 and kind 1 as before, enough
    /// for a message that the caller marked.
    ///
    /// Conversations are planned with [`TurnPlan::new`].
    pub fn chat() -> Self {
        let parts: PresetParts = vec![
            (Arc::new(AgeScorer), 3.0),
            (Arc::new(PriorityScorer), 1.0),
            (Arc::new(KindScorer::default()), 1.0),
        ];
        let with_question: PresetParts = vec![
            (Arc::new(ReflexiveScorer), 20.0),
            (Arc::new(AgeScorer), 1.0),
            (Arc::new(PriorityScorer), 2.0),
            (Arc::new(KindScorer::default()), 1.0),
        ];
        preset(parts, GreedySlice, AgePlacer)
            .with_question(with_question, BestFirstSlice)
            .with_plan(TurnPlan::new())
    }

    /// Retrieval: what the retriever found relevant.
    ///
    /// - Reflexive 7: the retriever's or re-ranker's own score decides.
    /// - Trust 2: between equally relevant texts the vetted one wins; an item without a trust
    ///   value counts 0.5, neither for nor against.
    /// - Kind 1: a tie-breaker only.
    /// - Greedy, best at both ends: models attend least to the middle of a long context.
    ///
    /// With a question, passages without a hint of their own get one, and the best come first: 1,000
    /// tokens then keep .69 of the evidence of the support conversation, and .03 without
    /// (`cargo bench --bench evidence`). The weights stay, so what a retriever promises of its scores
    /// (`Source::max_score`) holds with and without a question.
    ///
    /// Every part is absolute, so this policy also works while items still arrive.
    pub fn rag() -> Self {
        let parts: PresetParts = vec![
            (Arc::new(ReflexiveScorer), 7.0),
            (Arc::new(TRUST), 2.0),
            (Arc::new(KindScorer::default()), 1.0),
        ];
        preset(parts.clone(), GreedySlice, UShapedPlacer).with_question(parts, BestFirstSlice)
    }

    /// An agent that works through tools and can read again what it read before: a coding agent.
    ///
    /// Conversations are planned with 5 % of the window for what is recalled, where
    /// [`chat`](Self::chat) has 10 %. Such an agent takes the values of its next call from its newest
    /// results, and what is quoted anew for each question breaks the prefix that a prompt cache knows.
    /// On the recorded coding agent the input costs .62, .46 and .92 of newest-first trimming in windows
    /// of 8,000, 12,000 and 32,000 tokens, and with the plan of `chat` .65, .48 and 1.14; as many values
    /// of the next call are in view (`cargo bench --bench turns`, ways `tool_use` and `plan`). The
    /// price is recall: of the evidence for questions about the past, .50 is in view instead of .63 (the
    /// coding agent of `benches/evidence/data`, 4,000 tokens). Service desks and office assistants also
    /// lose values of their next call with 5 %: use `chat` for them.
    ///
    /// Plain items:
    ///
    /// - Age 4 and kind 4: the newest tool outputs are the state of the work.
    /// - Priority 2: lets the loop mark a result as one to keep.
    /// - At least 2 tool outputs, as far as they fit: the current result and the one it is
    ///   compared with.
    /// - Oldest first: a call makes sense only before its consequences.
    ///
    /// With a question: relevance 20, the best first; age 3 and kind 2, more than in a chat, since
    /// the state of the work is what the newest outputs say; priority 2.
    pub fn tool_use() -> Self {
        let parts: PresetParts = vec![
            (Arc::new(AgeScorer), 4.0),
            (Arc::new(kinds_for_tools()), 4.0),
            (Arc::new(PriorityScorer), 2.0),
        ];
        let with_question: PresetParts = vec![
            (Arc::new(ReflexiveScorer), 20.0),
            (Arc::new(AgeScorer), 3.0),
            (Arc::new(kinds_for_tools()), 2.0),
            (Arc::new(PriorityScorer), 2.0),
        ];
        let plan = TurnPlan { recall: 0.05, ..TurnPlan::new() };
        preset(parts, at_least_two_tool_outputs(GreedySlice), AgePlacer)
            .with_question(with_question, at_least_two_tool_outputs(BestFirstSlice))
            .with_plan(plan)
    }

    /// Questions about documents, with talk about the same subject beside them.
    ///
    /// The talk shares more words with a question than the passage that answers it, so without shares it
    /// pushes the documents out. Of 698 documents of a bank, with the questions of 47 other customers
    /// as messages, 1,000 tokens keep .21 of the evidence, and with [`rag`](Self::rag) .04
    /// (`cargo bench --bench evidence`, sets named `+talk`). Without such talk both keep the same.
    ///
    /// - Reflexive 8: the passage that answers wins.
    /// - Trust 1 and frequency 1: tie-breakers for vetted passages, and for passages on the topic
    ///   most of the others share.
    /// - Documents get at least 60 %, messages at most 20 %: enough for the question and the last
    ///   exchange. What a kind cannot use of its share, others fill.
    /// - Best at both ends.
    ///
    /// With a question, passages without a hint of their own get one, the best come first, and
    /// relevance counts 18: what most passages share says little about one question.
    pub fn document_qa() -> Self {
        let parts = |relevance: f64| -> PresetParts {
            vec![
                (Arc::new(ReflexiveScorer), relevance),
                (Arc::new(TRUST), 1.0),
                (Arc::new(FrequencyScorer), 1.0),
            ]
        };
        preset(parts(8.0), shares_for_documents(GreedySlice), UShapedPlacer)
            .with_question(parts(18.0), shares_for_documents(BestFirstSlice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContextBudget, ContextItem};

    #[test]
    fn every_preset_is_what_the_constructors_accept() {
        let item = ContextItem::builder("x", 3).build().unwrap();
        let budget = ContextBudget::builder(10).build().unwrap();
        let presets = [Policy::chat(), Policy::rag(), Policy::tool_use(), Policy::document_qa()];
        for policy in presets {
            let mut total = 0.0;
            policy.pipeline.scorer().visit_children(&mut |_| total += 1.0);
            assert!(total >= 3.0);
            let scorers = [
                Some(policy.pipeline.scorer()),
                policy.relevance.as_ref().and_then(|it| it.scorer.as_ref()),
            ];
            for scorer in scorers.into_iter().flatten() {
                let composite = scorer.as_any().unwrap().downcast_ref::<CompositeScorer>().unwrap();
                let children =
                    composite.children().map(|(child, weight)| (Arc::clone(child), weight));
                CompositeScorer::new(children.collect()).unwrap();
            }
            let report = policy.dry_run(std::slice::from_ref(&item), &budget).unwrap();
            assert_eq!(report.total_candidates, 1);
            for quota in policy.pipeline.slicer().facts().quotas {
                assert!(0.0 <= quota.require && quota.require <= quota.cap, "{quota:?}");
            }
        }
    }

    #[test]
    fn presets_for_conversations_plan_their_turns_and_others_do_not() {
        let tools = TurnPlan { recall: 0.05, ..TurnPlan::new() };
        for (policy, plan) in [(Policy::chat(), TurnPlan::new()), (Policy::tool_use(), tools)] {
            assert_eq!(policy.plan(), Some(&plan));
            assert_eq!(policy.without_plan().plan(), None);
        }
        for policy in [Policy::rag(), Policy::document_qa()] {
            assert_eq!(policy.plan(), None);
        }
    }

    #[test]
    fn rag_can_select_while_items_arrive() {
        let rag = Policy::rag();
        let asked = rag.relevance.as_ref().unwrap().pipeline(&rag.pipeline);
        for pipeline in [&rag.pipeline, &asked] {
            assert!(pipeline.scorer().facts().absolute);
        }
    }
}
