//! The automatic clamp: what it changes, in which order, and that it says so.

use std::sync::{Arc, Mutex};

use cupel::contract::{
    BudgetContract, FormatOverhead, GenerationStep, LimitsPolicy, ModelLimits, PipelineSettings,
};
use proptest::prelude::*;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::words;

fn contract(window: i64, context: i64) -> BudgetContract {
    let settings = PipelineSettings::new(context).max_history_tokens(50).safety_margin_tokens(10);
    BudgetContract::new(ModelLimits::new(window), settings)
        .format_overhead(FormatOverhead::none())
        .policy(LimitsPolicy::AutoClamp)
}

#[test]
fn nothing_is_clamped_unless_it_is_asked_for() {
    let over = contract(1_000, 900).step(GenerationStep::new("a").max_tokens(500));
    assert!(over.clone().policy(LimitsPolicy::default()).check(&words()).is_err());
    assert!(over.check(&words()).is_ok());
}

#[test]
fn a_contract_that_holds_is_left_alone() {
    let checked = contract(1_000, 400)
        .step(GenerationStep::new("a").max_tokens(500))
        .check(&words())
        .unwrap();
    assert_eq!(checked.clamps(), []);
    assert_eq!(checked.policy(), LimitsPolicy::AutoClamp);
}

#[test]
fn the_context_shrinks_first_by_what_the_worst_step_is_over() {
    let checked = contract(1_000, 900)
        .step(GenerationStep::new("router").max_tokens(100))
        .step(GenerationStep::new("answer").use_history(true).max_tokens(300))
        .check(&words())
        .unwrap();
    let parts: Vec<_> =
        checked.steps().iter().map(|step| (step.parts().context, step.parts().output)).collect();
    assert_eq!(parts, [(640, 100), (640, 300)]);
    assert_eq!(
        checked.to_string(),
        "router: 0 fixed + 0 + 640 + 100 + 10 = 750 <= 1,000, 250 to spare\n\
         answer: 0 fixed + 50 + 640 + 300 + 10 = 1,000 <= 1,000, 0 to spare\n\
         warning: settings.max_context_tokens clamped from 900 to 640: answer: 0 fixed + 50 + 900 \
         + 300 + 10 = 1,260 > 1,000, over by 260",
    );
}

#[test]
fn answers_shrink_where_the_context_is_not_enough() {
    let checked = contract(1_000, 500)
        .step(GenerationStep::new("router").max_tokens(100))
        .step(GenerationStep::new("answer").max_tokens(2_000))
        .check(&words())
        .unwrap();
    let parts: Vec<_> =
        checked.steps().iter().map(|step| (step.parts().context, step.parts().output)).collect();
    assert_eq!(parts, [(1, 100), (1, 989)]);
    let [context, output] = checked.clamps() else { panic!("{:?}", checked.clamps()) };
    assert_eq!((context.step.as_deref(), context.before, context.after), (None, 500, 1));
    assert_eq!((output.step.as_deref(), output.before, output.after), (Some("answer"), 2_000, 989));
    assert_eq!(output.key(), "steps.answer.max_output_tokens");
}

#[test]
fn a_step_that_no_clamp_can_save_is_an_error() {
    let error = contract(100, 500)
        .step(GenerationStep::new("fine").max_tokens(10))
        .step(GenerationStep::new("long").system_prompt("x ".repeat(95)).max_tokens(10))
        .check(&words())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "long: 95 fixed + 0 + 500 + 10 + 10 = 615 > 100, over by 515; not even a context and an \
         answer of 1 token each would fit",
    );
}

/// Keeps the fields of every event.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<Fields>>>);

/// The fields of one event, by name.
type Fields = Vec<(String, String)>;

impl<S: tracing::Subscriber> Layer<S> for Events {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        struct Fields(Vec<(String, String)>);
        impl Visit for Fields {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                self.0.push((field.name().to_owned(), format!("{value:?}")));
            }
            fn record_str(&mut self, field: &Field, value: &str) {
                self.0.push((field.name().to_owned(), value.to_owned()));
            }
        }
        let level = ("level".to_owned(), event.metadata().level().to_string());
        let mut fields = Fields(vec![level]);
        event.record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }
}

#[test]
fn every_clamp_is_logged_as_a_warning() {
    let check = || {
        contract(1_000, 500).step(GenerationStep::new("answer").max_tokens(2_000)).check(&words())
    };
    // Another test's thread may meet the event for the first time just while this one's subscriber
    // comes in, and tracing then takes it that nobody listens: the first time is over beforehand.
    let _ = check();
    let events = Events::default();
    let subscriber = tracing_subscriber::registry().with(events.clone());
    let checked = tracing::subscriber::with_default(subscriber, check);
    let clamps = checked.unwrap().clamps().to_vec();
    let events = events.0.lock().unwrap();
    assert_eq!(events.len(), clamps.len());
    for (event, clamp) in events.iter().zip(&clamps) {
        for (name, value) in [
            ("level", "WARN".to_owned()),
            ("message", clamp.to_string()),
            ("cupel.contract.limit", clamp.key()),
            ("cupel.contract.before", clamp.before.to_string()),
            ("cupel.contract.after", clamp.after.to_string()),
            ("cupel.contract.reason", clamp.reason.clone()),
        ] {
            let found = event.iter().find(|(field, _)| field == name);
            assert_eq!(found.map(|(_, value)| value), Some(&value), "{name}");
        }
    }
}

proptest! {
    /// A clamped contract holds, takes no more than it must, and never raises a limit.
    #[test]
    fn clamps_are_enough_and_no_more(
        window in 1_i64..2_000,
        context in 1_i64..2_000,
        steps in prop::collection::vec((0_usize..300, any::<bool>(), 1_i64..2_000), 1..5),
    ) {
        let mut contract = contract(window, context);
        for (index, (fixed, history, output)) in steps.iter().enumerate() {
            contract = contract.step(
                GenerationStep::new(format!("step {index}"))
                    .system_prompt("x ".repeat(*fixed))
                    .use_history(*history)
                    .max_output_tokens(*output),
            );
        }
        let before = contract.measure(&words()).unwrap();
        let Ok(checked) = contract.check(&words()) else {
            let hopeless = before.iter().any(|b| b.fixed_prompt + b.history + b.safety_margin + 2 > window);
            prop_assert!(hopeless);
            return Ok(());
        };
        let after: Vec<_> = checked.steps().iter().map(cupel::contract::CheckedStep::parts).collect();
        for (before, after) in before.iter().zip(&after) {
            prop_assert!(after.fits(), "{after}");
            prop_assert!(1 <= after.context && after.context <= before.context);
            prop_assert!(1 <= after.output && after.output <= before.output);
            // An answer is cut only when there is no context left to take, and to fit exactly.
            prop_assert!(after.output == before.output || (after.context == 1 && after.headroom() == 0));
        }
        let shrunk = before[0].context != after[0].context;
        prop_assert!(!shrunk || after[0].context == 1 || after.iter().any(|step| step.headroom() == 0));
    }
}
