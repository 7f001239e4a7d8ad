//! The inequality, the precedence of limits, and the rules about required values.

use cupel::contract::{
    BudgetContract, ContractProblem, FormatOverhead, GenerationStep, LimitsPolicy, ModelLimits,
    PipelineSettings,
};
use cupel::tokens::counter_fn;

use super::words;

fn contract(window: i64, settings: PipelineSettings) -> BudgetContract {
    BudgetContract::new(ModelLimits::new(window), settings).format_overhead(FormatOverhead::none())
}

fn prompt(words: usize) -> String {
    "word ".repeat(words)
}

#[test]
fn a_violation_shows_its_arithmetic() {
    let error = contract(9_600, PipelineSettings::new(6_000))
        .step(GenerationStep::new("router").system_prompt(prompt(412)).max_output_tokens(4_096))
        .check(&words())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "router: 412 fixed + 0 + 6,000 + 4,096 + 128 = 10,636 > 9,600, over by 1,036",
    );
}

#[test]
fn every_violation_is_reported_at_once() {
    let error = contract(9_600, PipelineSettings::new(6_000).max_history_tokens(1_000))
        .step(GenerationStep::new("router").max_output_tokens(4_096))
        .step(GenerationStep::new("fine").max_output_tokens(64))
        .step(GenerationStep::new("answer").use_history(true).max_output_tokens(4_096))
        .check(&words())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "2 problems:\n  \
         router: 0 fixed + 0 + 6,000 + 4,096 + 128 = 10,224 > 9,600, over by 624\n  \
         answer: 0 fixed + 1,000 + 6,000 + 4,096 + 128 = 11,224 > 9,600, over by 1,624",
    );
}

#[test]
fn a_window_that_is_filled_to_the_last_token_holds() {
    let exact = |window| {
        contract(window, PipelineSettings::new(600).max_history_tokens(100))
            .step(
                GenerationStep::new("answer")
                    .system_prompt(prompt(50))
                    .use_history(true)
                    .max_output_tokens(122),
            )
            .check(&words())
    };
    let checked = exact(1_000).unwrap();
    assert_eq!(
        checked.to_string(),
        "answer: 50 fixed + 100 + 600 + 122 + 128 = 1,000 <= 1,000, 0 to spare",
    );
    assert!(exact(999).unwrap_err().to_string().ends_with("= 1,000 > 999, over by 1"));
}

#[test]
fn only_steps_that_use_the_history_pay_for_it() {
    let checked = contract(10_000, PipelineSettings::new(1_000).max_history_tokens(500))
        .step(GenerationStep::new("router").max_output_tokens(10))
        .step(GenerationStep::new("answer").use_history(true).max_output_tokens(10))
        .check(&words())
        .unwrap();
    let history = |name| checked.step(name).unwrap().parts().history;
    assert_eq!((history("router"), history("answer")), (0, 500));
}

#[test]
fn the_steps_own_limits_come_before_the_models() {
    let model = ModelLimits::new(10_000).max_tokens(300);
    let checked = BudgetContract::new(model, PipelineSettings::new(1_000))
        .step(GenerationStep::new("both").max_output_tokens(100).max_tokens(200))
        .step(GenerationStep::new("short").max_tokens(200))
        .step(GenerationStep::new("none"))
        .check(&words())
        .unwrap();
    let output = |name| checked.step(name).unwrap().parts().output;
    assert_eq!((output("both"), output("short"), output("none")), (100, 200, 300));
}

#[test]
fn the_fixed_prompt_is_system_prompt_empty_templates_and_format() {
    let step = GenerationStep::new("answer")
        .system_prompt("one two three")
        .user_part("### Evidence:\n{}\n\n")
        .user_part("### User:\n{}\n")
        .max_output_tokens(10);
    let measure = |contract: BudgetContract| {
        contract.step(step.clone()).measure(&words()).unwrap()[0].fixed_prompt
    };
    let settings = PipelineSettings::new(1_000);
    // Three words of the prompt; "### Evidence:" and "### User:" are two each.
    assert_eq!(measure(contract(10_000, settings)), 3 + 2 + 2);
    // Two messages and the start of the answer, three tokens each, and two roles.
    assert_eq!(measure(BudgetContract::new(ModelLimits::new(10_000), settings)), 7 + 9 + 2);
}

#[test]
fn the_safety_margin_is_128_unless_set() {
    let margin = |settings| {
        let contract = contract(10_000, settings).step(GenerationStep::new("a").max_tokens(1));
        contract.measure(&words()).unwrap()[0].safety_margin
    };
    assert_eq!(margin(PipelineSettings::new(10)), 128);
    assert_eq!(margin(PipelineSettings::new(10).safety_margin_tokens(0)), 0);
    assert_eq!(margin(PipelineSettings::new(10).safety_margin_tokens(256)), 256);
}

#[test]
fn a_missing_value_is_an_error_under_both_policies() {
    for policy in [LimitsPolicy::FailFast, LimitsPolicy::AutoClamp] {
        let error = BudgetContract::new(ModelLimits::default(), PipelineSettings::default())
            .policy(policy)
            .step(GenerationStep::new("router"))
            .step(GenerationStep::new("answer").use_history(true).max_tokens(5))
            .check(&words())
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "4 problems:\n  \
             model_context_window is missing, expected a whole number of at least 1\n  \
             settings.max_context_tokens is missing, expected a whole number of at least 1\n  \
             settings.max_history_tokens is missing, expected a whole number of at least 0, because use_history is true in answer\n  \
             steps.router.max_output_tokens is missing, expected a whole number of at least 1, here, as max_tokens, or as model_max_tokens for all steps",
            "{policy}",
        );
    }
}

#[test]
fn values_out_of_range_are_errors_under_both_policies() {
    for policy in [LimitsPolicy::FailFast, LimitsPolicy::AutoClamp] {
        let settings =
            PipelineSettings::new(0).max_history_tokens(-1).safety_margin_tokens(i64::MAX);
        let error = BudgetContract::new(ModelLimits::new(-9_600).max_tokens(0), settings)
            .policy(policy)
            .step(GenerationStep::new("a").max_output_tokens(-4).max_tokens(0))
            .check(&words())
            .unwrap_err();
        let invalid: Vec<_> = error
            .problems()
            .iter()
            .map(|problem| match problem {
                ContractProblem::Invalid { place, value, .. } => (place.key.as_str(), &**value),
                other => panic!("{other}"),
            })
            .collect();
        assert_eq!(
            invalid,
            [
                ("model_context_window", "-9600"),
                ("model_max_tokens", "0"),
                ("settings.max_context_tokens", "0"),
                ("settings.budget_safety_margin_tokens", "9223372036854775807"),
                ("settings.max_history_tokens", "-1"),
                ("steps.a.max_output_tokens", "-4"),
                ("steps.a.max_tokens", "0"),
            ],
        );
    }
}

#[test]
fn a_step_that_is_not_valid_does_not_hide_one_that_does_not_fit() {
    let error = contract(1_000, PipelineSettings::new(900))
        .step(GenerationStep::new("unclear"))
        .step(GenerationStep::new("large").max_output_tokens(500))
        .check(&words())
        .unwrap_err();
    let [missing, over] = error.problems() else { panic!("{error}") };
    assert!(matches!(missing, ContractProblem::Missing { .. }), "{missing}");
    assert!(matches!(over, ContractProblem::OverWindow { .. }), "{over}");
}

#[test]
fn an_unknown_step_is_an_error_that_lists_the_known_ones() {
    let checked = contract(1_000, PipelineSettings::new(10))
        .step(GenerationStep::new("router").max_tokens(1))
        .step(GenerationStep::new("answer").max_tokens(1))
        .check(&words())
        .unwrap();
    let error = checked.step("anwser").unwrap_err();
    assert_eq!(error.to_string(), "no step is named \"anwser\"; there are router, answer");
}

#[test]
fn two_steps_of_one_name_are_an_error() {
    let error = contract(1_000, PipelineSettings::new(10))
        .step(GenerationStep::new("a").max_tokens(1))
        .step(GenerationStep::new("a").max_tokens(2))
        .step(GenerationStep::new("").max_tokens(2))
        .check(&words())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "2 problems:\n  \
         steps: got a step named \"a\" twice, expected a name of its own for each step\n  \
         steps: got a step named \"\", expected a name of its own for each step",
    );
}

#[test]
fn a_counter_that_goes_astray_cannot_make_a_contract_hold() {
    for (count, fits) in [(i64::MAX, false), (-1_000_000, true)] {
        let checked = contract(1_000, PipelineSettings::new(10))
            .step(GenerationStep::new("a").system_prompt("x").user_part("y").max_tokens(1))
            .check(&counter_fn("astray", move |_| count));
        assert_eq!(checked.is_ok(), fits, "{count}");
        if let Ok(checked) = checked {
            assert_eq!(checked.steps()[0].parts().fixed_prompt, 0);
        }
    }
}
