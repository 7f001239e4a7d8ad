//! Ready-made policies for common agents, with the reason for every number.
//!
//! Weights are relative: only their ratios matter. All presets truncate rather than fail, since a
//! preset should never be the reason a call is not made.
//!
//! Those for conversations also say how to select when there is a question. Then relevance decides
//! and the rest breaks ties, and the budget is filled from the best score down: on conversations
//! whose answers are known (`cargo bench --bench evidence`) that keeps several times the evidence,
//! and every further point of weight on age costs some of it.
//!
//! The presets of those who talk to a model turn by turn (`chat`, `tool_use`, `long_running`,
//! `debugging`) also [plan](crate::conversation::plan) their turns: through an adapter that knows
//! conversations the plan decides what is sent, and the scores where there is none to plan.

use std::sync::Arc;
use std::time::Duration;

use super::{Policy, Relevance};
use crate::error::CupelError;
use crate::model::{ContextBudget, ContextKind, OverflowStrategy, ScoredItem, TurnPlan};
use crate::pipeline::Pipeline;
use crate::placer::{AgePlacer, Placer, UShapedPlacer};
use crate::relevance::Lexical;
use crate::scorer::{
    AgeScorer, CompositeScorer, DecayCurve, DecayScorer, FrequencyScorer, KindScorer,
    MetadataTrustScorer, PriorityScorer, RecencyScorer, ReflexiveScorer, Scorer,
    SystemTimeProvider,
};
use crate::slicer::{
    BestFirstSlice, CountQuotaEntry, CountQuotaSlice, FillSlice, GreedySlice, QuotaSet, QuotaSlice,
    ScarcityBehavior, Sliced, Slicer,
};

/// Parts of a weighted average.
type Parts = Vec<(Arc<dyn Scorer>, f64)>;

fn preset(
    parts: Parts,
    slicer: impl Slicer + 'static,
    placer: impl Placer + 'static,
) -> Result<Policy, CupelError> {
    let scorer = CompositeScorer::new(parts)?;
    let policy = Policy::builder().scorer(scorer).slicer(slicer).placer(placer);
    policy.overflow_strategy(OverflowStrategy::Truncate).build()
}

impl Policy {
    /// Adds what is different when there is a question.
    fn asked(mut self, parts: Parts, slicer: impl Slicer + 'static) -> Result<Self, CupelError> {
        let scorer = CompositeScorer::new(parts)?;
        self.relevance = Some(Relevance::new(Lexical::new()).scorer(scorer).slicer(slicer));
        Ok(self)
    }
}

/// Answers every selection with an error.
#[derive(Debug)]
struct Refuse(CupelError);

impl Slicer for Refuse {
    fn slice(&self, _: &[ScoredItem<'_>], _: &ContextBudget) -> Result<Sliced, CupelError> {
        Err(self.0.clone())
    }
}

/// A preset whose numbers broke a rule would say so when it is used. None does: there is a test.
fn built(preset: impl FnOnce() -> Result<Policy, CupelError>) -> Policy {
    preset().unwrap_or_else(|error| Policy {
        pipeline: Pipeline::from_parts(
            ReflexiveScorer,
            Refuse(error),
            AgePlacer,
            OverflowStrategy::Truncate,
        ),
        plan: None,
        relevance: None,
    })
}

/// A preset for conversations, whose turns are planned where an adapter knows how to.
fn conversation(preset: impl FnOnce() -> Result<Policy, CupelError>) -> Policy {
    built(preset).with_plan(TurnPlan::new())
}

/// Trust of an item that says nothing about it: neither for nor against.
const NEUTRAL_TRUST: f64 = 0.5;

/// Tool outputs first, then what was said about them; instructions are pinned in practice.
fn kinds_for_tools() -> Result<KindScorer, CupelError> {
    KindScorer::new([
        (ContextKind::system_prompt(), 1.0),
        (ContextKind::tool_output(), 0.9),
        (ContextKind::message(), 0.6),
        (ContextKind::memory(), 0.5),
        (ContextKind::document(), 0.4),
    ])
}

/// At least `count` tool outputs, however they score, as far as they fit, and no upper limit.
fn at_least_tool_outputs(
    count: usize,
    inner: impl Slicer + 'static,
) -> Result<FillSlice, CupelError> {
    let slicer = CountQuotaSlice::new(
        vec![CountQuotaEntry::new(ContextKind::tool_output(), count, usize::MAX)?],
        inner,
        ScarcityBehavior::Degrade,
    )?;
    // Where they use up the budget, items that cost nothing are still to be had.
    Ok(FillSlice::new(slicer.within_budget(true)))
}

/// Shares of the budget for kinds; what a kind cannot use of its own goes to the others.
fn shares<const N: usize>(
    quotas: &[(ContextKind, f64, f64); N],
    inner: impl Slicer + 'static,
) -> Result<FillSlice, CupelError> {
    Ok(FillSlice::new(QuotaSlice::new(QuotaSet::new(quotas.clone())?, inner)))
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
    #[must_use]
    pub fn chat() -> Self {
        conversation(|| {
            let parts: Parts = vec![
                (Arc::new(AgeScorer), 3.0),
                (Arc::new(PriorityScorer), 1.0),
                (Arc::new(KindScorer::default()), 1.0),
            ];
            let asked: Parts = vec![
                (Arc::new(ReflexiveScorer), 20.0),
                (Arc::new(AgeScorer), 1.0),
                (Arc::new(PriorityScorer), 2.0),
                (Arc::new(KindScorer::default()), 1.0),
            ];
            preset(parts, GreedySlice, AgePlacer)?.asked(asked, BestFirstSlice)
        })
    }

    /// Retrieval: what the retriever found relevant.
    ///
    /// - Reflexive 7: the retriever's or re-ranker's own score decides.
    /// - Trust 2: between equally relevant texts the vetted one wins; an item without a trust
    ///   value counts 0.5, neither for nor against.
    /// - Kind 1: a tie-breaker only.
    /// - Greedy, best at both ends: models attend least to the middle of a long context.
    ///
    /// Every part is absolute, so this policy also works while items still arrive.
    #[must_use]
    pub fn rag() -> Self {
        built(|| {
            let parts: Parts = vec![
                (Arc::new(ReflexiveScorer), 7.0),
                (Arc::new(MetadataTrustScorer::new(NEUTRAL_TRUST)?), 2.0),
                (Arc::new(KindScorer::default()), 1.0),
            ];
            preset(parts, GreedySlice, UShapedPlacer)
        })
    }

    /// An agent that works through tools.
    ///
    /// - Age 4 and kind 4: the newest tool outputs are the state of the work.
    /// - Priority 2: lets the loop mark a result as one to keep.
    /// - At least 2 tool outputs, as far as they fit: the current result and the one it is
    ///   compared with.
    /// - Oldest first: a call makes sense only before its consequences.
    ///
    /// With a question: relevance 20, the best first; age 3 and kind 2, more than in a chat, since
    /// the state of the work is what the newest outputs say; priority 2.
    #[must_use]
    pub fn tool_use() -> Self {
        conversation(|| {
            let parts: Parts = vec![
                (Arc::new(AgeScorer), 4.0),
                (Arc::new(kinds_for_tools()?), 4.0),
                (Arc::new(PriorityScorer), 2.0),
            ];
            let asked: Parts = vec![
                (Arc::new(ReflexiveScorer), 20.0),
                (Arc::new(AgeScorer), 3.0),
                (Arc::new(kinds_for_tools()?), 2.0),
                (Arc::new(PriorityScorer), 2.0),
            ];
            preset(parts, at_least_tool_outputs(2, GreedySlice)?, AgePlacer)?
                .asked(asked, at_least_tool_outputs(2, BestFirstSlice)?)
        })
    }

    /// A review of a change: the diff, the files around it, and what the checks said.
    ///
    /// - Reflexive 4: how close a file is to the change.
    /// - Priority 3: lets the caller rank the changed files above their neighbours.
    /// - Kind 2 and recency 1: tie-breakers; files carry no meaningful age.
    /// - Documents get at least 50 % (the code), tool outputs at least 15 % (compiler and test
    ///   output), messages at most 25 %: talk must not push code out. What a kind cannot use of
    ///   its share, others fill.
    /// - Best at both ends.
    ///
    /// With a question, what has no hint of its own gets one, the best come first, and relevance
    /// counts 8: what the reviewer asks about outweighs the order of the files.
    #[must_use]
    pub fn code_review() -> Self {
        built(|| {
            let parts: Parts = vec![
                (Arc::new(ReflexiveScorer), 4.0),
                (Arc::new(PriorityScorer), 3.0),
                (Arc::new(KindScorer::default()), 2.0),
                (Arc::new(RecencyScorer), 1.0),
            ];
            let asked: Parts = vec![
                (Arc::new(ReflexiveScorer), 8.0),
                (Arc::new(PriorityScorer), 3.0),
                (Arc::new(KindScorer::default()), 1.0),
                (Arc::new(RecencyScorer), 1.0),
            ];
            let quotas = [
                (ContextKind::document(), 50.0, 100.0),
                (ContextKind::tool_output(), 15.0, 100.0),
                (ContextKind::message(), 0.0, 25.0),
            ];
            preset(parts, shares(&quotas, GreedySlice)?, UShapedPlacer)?
                .asked(asked, shares(&quotas, BestFirstSlice)?)
        })
    }

    /// Questions about documents: relevance, and little else.
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
    #[must_use]
    pub fn document_qa() -> Self {
        built(|| {
            let parts: Parts = vec![
                (Arc::new(ReflexiveScorer), 8.0),
                (Arc::new(MetadataTrustScorer::new(NEUTRAL_TRUST)?), 1.0),
                (Arc::new(FrequencyScorer), 1.0),
            ];
            let asked: Parts = vec![
                (Arc::new(ReflexiveScorer), 18.0),
                (Arc::new(MetadataTrustScorer::new(NEUTRAL_TRUST)?), 1.0),
                (Arc::new(FrequencyScorer), 1.0),
            ];
            let quotas =
                [(ContextKind::document(), 60.0, 100.0), (ContextKind::message(), 0.0, 20.0)];
            preset(parts, shares(&quotas, GreedySlice)?, UShapedPlacer)?
                .asked(asked, shares(&quotas, BestFirstSlice)?)
        })
    }

    /// An agent that runs for hours or days.
    ///
    /// - Decay 4 with a half-life of 6 hours: age counts by the clock, so that a pause of a night
    ///   fades yesterday's details (four half-lives leave 6 %) whatever was said since.
    /// - Priority 3: decisions the agent marked outlive their age.
    /// - Kind 3: memories and tool outputs over chatter.
    /// - Memories get at least 10 %, so that what the agent chose to remember is always there;
    ///   messages at most 60 %. What a kind cannot use of its share, others fill.
    /// - Oldest first.
    ///
    /// With a question: relevance 20, the best first; decay 2, priority 3 and kind 1 decide among
    /// what is equally relevant.
    #[must_use]
    pub fn long_running() -> Self {
        conversation(|| {
            let half_life = DecayCurve::exponential(Duration::from_secs(6 * 60 * 60))?;
            let parts: Parts = vec![
                (Arc::new(DecayScorer::new(SystemTimeProvider, half_life.clone())), 4.0),
                (Arc::new(PriorityScorer), 3.0),
                (Arc::new(KindScorer::default()), 3.0),
            ];
            let asked: Parts = vec![
                (Arc::new(ReflexiveScorer), 20.0),
                (Arc::new(DecayScorer::new(SystemTimeProvider, half_life)), 2.0),
                (Arc::new(PriorityScorer), 3.0),
                (Arc::new(KindScorer::default()), 1.0),
            ];
            let quotas =
                [(ContextKind::memory(), 10.0, 100.0), (ContextKind::message(), 0.0, 60.0)];
            preset(parts, shares(&quotas, GreedySlice)?, AgePlacer)?
                .asked(asked, shares(&quotas, BestFirstSlice)?)
        })
    }

    /// A hunt for a fault: the latest outputs, and what they have in common.
    ///
    /// - Age 4: the last attempt is the one under the lamp.
    /// - Frequency 2: items on the topic most others share point at the cause.
    /// - Reflexive 2: what a search ranked as related.
    /// - Kind 2: outputs over opinions.
    /// - At least 3 tool outputs, as far as they fit: the failure, the attempt before, and the one
    ///   that worked.
    /// - Oldest first: causes before effects.
    ///
    /// With a question: relevance 20, the best first; age 3 and kind 2 as for tools, and frequency 1,
    /// for what the failures have in common.
    #[must_use]
    pub fn debugging() -> Self {
        conversation(|| {
            let parts: Parts = vec![
                (Arc::new(AgeScorer), 4.0),
                (Arc::new(FrequencyScorer), 2.0),
                (Arc::new(ReflexiveScorer), 2.0),
                (Arc::new(kinds_for_tools()?), 2.0),
            ];
            let asked: Parts = vec![
                (Arc::new(ReflexiveScorer), 20.0),
                (Arc::new(AgeScorer), 3.0),
                (Arc::new(FrequencyScorer), 1.0),
                (Arc::new(kinds_for_tools()?), 2.0),
            ];
            preset(parts, at_least_tool_outputs(3, GreedySlice)?, AgePlacer)?
                .asked(asked, at_least_tool_outputs(3, BestFirstSlice)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContextItem;

    #[test]
    fn every_preset_is_what_the_constructors_accept() {
        let item = ContextItem::builder("x", 3).build().unwrap();
        let budget = ContextBudget::builder(10).build().unwrap();
        for policy in [
            Policy::chat(),
            Policy::rag(),
            Policy::tool_use(),
            Policy::code_review(),
            Policy::document_qa(),
            Policy::long_running(),
            Policy::debugging(),
        ] {
            let mut total = 0.0;
            policy.pipeline.scorer().visit_children(&mut |_| total += 1.0);
            assert!(total >= 3.0);
            let report = policy.dry_run(std::slice::from_ref(&item), &budget).unwrap();
            assert_eq!(report.total_candidates, 1);
            for quota in policy.pipeline.slicer().facts().quotas {
                assert!(0.0 <= quota.require && quota.require <= quota.cap, "{quota:?}");
            }
        }
    }

    #[test]
    fn presets_for_conversations_plan_their_turns_and_others_do_not() {
        for policy in
            [Policy::chat(), Policy::tool_use(), Policy::long_running(), Policy::debugging()]
        {
            assert_eq!(policy.plan(), Some(&TurnPlan::new()));
            assert_eq!(policy.without_plan().plan(), None);
        }
        for policy in [Policy::rag(), Policy::code_review(), Policy::document_qa()] {
            assert_eq!(policy.plan(), None);
        }
    }

    #[test]
    fn rag_can_select_while_items_arrive() {
        assert!(Policy::rag().pipeline.scorer().facts().absolute);
    }
}
