//! From a checked step to a selection: no call under a contract can exceed the window.

use cupel::contract::{
    BudgetContract, CheckedContract, CheckedStep, FormatOverhead, GenerationStep, HistoryEntry,
    LimitsPolicy, ModelLimits, PipelineSettings,
};
use cupel::slicer::{KnapsackSlice, QuotaSet, QuotaSlice};
use cupel::tokens::TokenCounter;
use cupel::{
    ChronologicalPlacer, ContextBudget, ContextItem, ContextKind, CupelError, GreedySlice,
    OverflowStrategy, Pipeline, ReflexiveScorer,
};
use proptest::prelude::*;

use super::words;

/// A system and a user message, and the start of the answer.
fn format_of_two_messages(counter: &impl TokenCounter) -> i64 {
    let format = FormatOverhead::CHAT;
    format.answer + format.message(counter, "system") + format.message(counter, "user")
}

const TEMPLATE: &str = "### Evidence:\n{}\n### End";

fn checked(window: i64, settings: PipelineSettings) -> CheckedContract {
    BudgetContract::new(ModelLimits::new(window), settings)
        .step(
            GenerationStep::new("answer")
                .system_prompt("one two three")
                .use_history(true)
                .max_output_tokens(200),
        )
        .check(&words())
        .unwrap()
}

#[test]
fn a_step_is_the_budget_of_its_whole_request() {
    let settings = PipelineSettings::new(500).max_history_tokens(100).safety_margin_tokens(50);
    let contract = checked(1_000, settings);
    let step = contract.step("answer").unwrap();
    let budget = ContextBudget::from(&step);
    // Fixed: three words, two roles and the format of two messages.
    assert_eq!(budget.target_tokens(), 14 + 100 + 500);
    assert_eq!((budget.max_tokens(), budget.output_reserve()), (950, 200));
    assert_eq!(budget, step.request_budget());
    assert_eq!(step.parts().headroom(), 136);
}

#[test]
fn the_parts_are_budgets_of_their_own() {
    let settings = PipelineSettings::new(500).max_history_tokens(100);
    let contract = checked(1_000, settings);
    let step = contract.step("answer").unwrap();
    for (budget, tokens) in [(step.context_budget(), 500), (step.history_budget(), 100)] {
        assert_eq!(budget.target_tokens(), tokens);
        assert_eq!(budget.max_tokens() - budget.output_reserve(), tokens);
        assert_eq!(budget.effective(0).max_tokens(), tokens);
    }
}

#[test]
fn every_budget_of_a_step_is_valid() {
    for (window, context, history) in [(1_000, 1, 0), (1_000, 500, 100), (1_000_000_000_000, 9, 9)]
    {
        let settings = PipelineSettings::new(context).max_history_tokens(history);
        let contract = checked(window, settings);
        let step = contract.step("answer").unwrap();
        for budget in [step.request_budget(), step.context_budget(), step.history_budget()] {
            let again = ContextBudget::builder(budget.max_tokens())
                .target_tokens(budget.target_tokens())
                .output_reserve(budget.output_reserve())
                .build();
            assert_eq!(again.as_ref(), Ok(&budget));
        }
    }
}

#[test]
fn pinned_context_cannot_take_from_the_prompt_or_the_history() {
    let settings = PipelineSettings::new(500).max_history_tokens(100).safety_margin_tokens(0);
    let contract = checked(814, settings); // no headroom at all
    let budget = contract.step("answer").unwrap().context_budget();
    let pinned = |tokens| ContextItem::builder("x", tokens).pinned(true).build().unwrap();
    for strategy in [OverflowStrategy::Throw, OverflowStrategy::Truncate, OverflowStrategy::Proceed]
    {
        let pipeline = pipeline(0, strategy);
        assert!(pipeline.run(&[pinned(500)], &budget).is_ok());
        assert_eq!(
            pipeline.run(&[pinned(501)], &budget).unwrap_err(),
            CupelError::PinnedExceedsBudget { pinned_tokens: 501, available_tokens: 500 },
        );
    }
}

fn pipeline(slicer: usize, strategy: OverflowStrategy) -> Pipeline {
    let builder = Pipeline::builder()
        .scorer(ReflexiveScorer)
        .placer(ChronologicalPlacer)
        .overflow_strategy(strategy);
    let quotas = QuotaSet::builder()
        .require(ContextKind::document(), 40.0)
        .cap(ContextKind::memory(), 20.0)
        .build()
        .unwrap();
    match slicer {
        0 => builder.slicer(GreedySlice),
        1 => builder.slicer(KnapsackSlice::new(1).unwrap()),
        2 => builder.slicer(KnapsackSlice::new(50).unwrap()),
        _ => builder.slicer(QuotaSlice::new(quotas, GreedySlice)),
    }
    .build()
    .unwrap()
}

/// One call: limits, prompt, history, candidates and policy.
#[derive(Debug, Clone)]
struct Call {
    window: i64,
    settings: PipelineSettings,
    output: i64,
    prompt: usize,
    policy: LimitsPolicy,
    history: Vec<usize>,
    candidates: Vec<(usize, f64, bool, usize)>,
    slicer: usize,
    strategy: OverflowStrategy,
}

prop_compose! {
    fn call()(
        window in 60_i64..2_000,
        (context, history_budget, margin) in (1_i64..1_500, 0_i64..400, 0_i64..60),
        output in 1_i64..600,
        prompt in 0_usize..60,
        policy in prop::sample::select(vec![LimitsPolicy::FailFast, LimitsPolicy::AutoClamp]),
        history in prop::collection::vec(0_usize..80, 0..12),
        candidates in prop::collection::vec(
            (1_usize..120, 0.0..1.0_f64, prop::bool::weighted(0.1), 0_usize..3), 0..30),
        slicer in 0_usize..4,
        strategy in prop::sample::select(vec![
            OverflowStrategy::Throw, OverflowStrategy::Truncate, OverflowStrategy::Proceed]),
    ) -> Call {
        let settings = PipelineSettings::new(context)
            .max_history_tokens(history_budget)
            .safety_margin_tokens(margin);
        Call { window, settings, output, prompt, policy, history, candidates, slicer, strategy }
    }
}

impl Call {
    fn system_prompt(&self) -> String {
        text(self.prompt, 0)
    }

    fn contract(&self) -> BudgetContract {
        BudgetContract::new(ModelLimits::new(self.window), self.settings).policy(self.policy).step(
            GenerationStep::new("answer")
                .system_prompt(self.system_prompt())
                .user_part(TEMPLATE)
                .use_history(true)
                .max_output_tokens(self.output),
        )
    }

    fn history(&self) -> Vec<String> {
        self.history.iter().enumerate().map(|(n, words)| text(*words, n)).collect()
    }

    fn candidates(&self, counter: &dyn TokenCounter) -> Vec<ContextItem> {
        let kinds = [ContextKind::document(), ContextKind::memory(), ContextKind::tool_output()];
        let item = |(n, (words, hint, pinned, kind)): (usize, &(usize, f64, bool, usize))| {
            let content = text(*words, n);
            let tokens = counter.count(&content);
            let builder = ContextItem::builder(content, tokens).kind(kinds[*kind].clone());
            builder.future_relevance_hint(*hint).pinned(*pinned).build().unwrap()
        };
        self.candidates.iter().enumerate().map(item).collect()
    }

    /// The history and the context selected apart, each by its own budget: what is sent, as text.
    fn send_parts(&self, step: &CheckedStep, counter: &dyn TokenCounter) -> Option<String> {
        let history = self.history();
        let entries: Vec<_> =
            history.iter().map(|text| HistoryEntry::new(counter.count(text))).collect();
        let kept = step.trim_history(&entries).kept;
        let context = pipeline(self.slicer, self.strategy)
            .run(&self.candidates(counter), &step.context_budget())
            .ok()?;
        let context: Vec<_> = context.iter().map(ContextItem::content).collect();
        let mut sent = vec![self.system_prompt()];
        sent.extend(kept.into_iter().map(|at| history[at].clone()));
        sent.push(TEMPLATE.replace("{}", &context.join("\n")));
        Some(sent.join("\n"))
    }

    /// Everything a candidate of one selection, as in a layer: what is selected.
    fn send_whole(
        &self,
        step: &CheckedStep,
        counter: &dyn TokenCounter,
    ) -> Option<Vec<ContextItem>> {
        let fixed = step.parts().fixed_prompt;
        let pinned = ContextItem::builder("the prompt", fixed).pinned(true).build().unwrap();
        let history = self.history().into_iter().filter(|text| !text.is_empty()).map(|text| {
            let tokens = counter.count(&text);
            ContextItem::builder(text, tokens).kind(ContextKind::message()).build().unwrap()
        });
        let items: Vec<_> =
            std::iter::once(pinned).chain(history).chain(self.candidates(counter)).collect();
        pipeline(self.slicer, self.strategy).run(&items, &ContextBudget::from(step)).ok()
    }
}

/// Words of several lengths and scripts, different for every seed.
fn text(words: usize, seed: usize) -> String {
    const WORDS: [&str; 9] =
        ["a", "context", "unbelievably", "x=1;", "größer", "データ", "🙂", "SELECT", "0xdeadbeef"];
    let word = |n| format!("{}{}", WORDS[(n * 7 + seed) % WORDS.len()], n + seed);
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Prompt, trimmed history and selected context as one text, counted word by word.
    #[test]
    fn a_call_made_of_parts_never_exceeds_the_window(call in call()) {
        let counter = words();
        let Ok(checked) = call.contract().check(&counter) else { return Ok(()) };
        let step = checked.step("answer").unwrap();
        if let Some(sent) = call.send_parts(&step, &counter) {
            let parts = step.parts();
            let prompt = counter.count(&sent) + format_of_two_messages(&counter);
            prop_assert!(prompt + parts.output + parts.safety_margin <= call.window);
        }
    }

    /// Everything selected together under the step's own budget.
    #[test]
    fn a_call_selected_as_a_whole_never_exceeds_the_window(call in call()) {
        let counter = words();
        let Ok(checked) = call.contract().check(&counter) else { return Ok(()) };
        let step = checked.step("answer").unwrap();
        if let Some(selected) = call.send_whole(&step, &counter) {
            let prompt: i64 = selected.iter().map(ContextItem::tokens).sum();
            let parts = step.parts();
            prop_assert!(prompt + parts.output + parts.safety_margin <= call.window);
        }
    }
}

/// With a real vocabulary, joining texts can move a boundary; the safety margin covers that.
#[cfg(feature = "tiktoken")]
#[test]
fn a_call_counted_exactly_never_exceeds_the_window() {
    use cupel::tokens::{BpeCounter, CachedCounter, Encoding};
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let counter = CachedCounter::new(BpeCounter::new(Encoding::O200k));
    let mut runner = TestRunner::deterministic();
    let (mut sent_calls, mut fullest) = (0, 0.0_f64);
    for _ in 0..300 {
        let mut call = call().new_tree(&mut runner).unwrap().current();
        call.window = call.window * 3 + 200;
        call.policy = LimitsPolicy::AutoClamp;
        call.settings = call.settings.safety_margin_tokens(128);
        let Ok(checked) = call.contract().check(&counter) else { continue };
        let step = checked.step("answer").unwrap();
        let Some(sent) = call.send_parts(&step, &counter) else { continue };
        let prompt = counter.count(&sent) + format_of_two_messages(&counter);
        let total = prompt + step.parts().output;
        assert!(total <= call.window, "{total} of {}: {step}", call.window);
        sent_calls += 1;
        fullest = fullest.max(total as f64 / call.window as f64);
    }
    // Or the test would prove nothing.
    assert!(sent_calls > 100 && fullest > 0.8, "{sent_calls} calls, the fullest {fullest:.2}");
}
