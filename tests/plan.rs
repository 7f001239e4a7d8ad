//! Parts of the plan of a turn that need no request: excerpts, quotations, settings.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "plan/cache.rs"]
mod cache;
#[path = "plan/excerpts.rs"]
mod excerpts;
#[path = "plan/giving_way.rs"]
mod giving_way;
#[path = "plan/loops.rs"]
mod loops;
#[path = "plan/recall.rs"]
mod recall;
#[path = "plan/standing.rs"]
mod standing;

use cupel::conversation::Role;
use cupel::conversation::plan::{Excerpt, Part, PlanOutcome, Quotation, Turn};
use cupel::model::{Grid, TurnPlan};
use cupel::tokens::{HeuristicCounter, TokenCounter, counter_fn};
use proptest::prelude::*;

fn counters() -> [Box<dyn TokenCounter>; 2] {
    let bytes = |text: &str| i64::try_from(text.len()).unwrap();
    [Box::new(HeuristicCounter), Box::new(counter_fn("bytes", bytes))]
}

proptest! {
    #[test]
    fn an_excerpt_never_exceeds_its_tokens(
        text in "(?s)([a-z ]{0,40}|[\\PC\n]{0,20}|\\{\"a\": \\[[0-9, ]{0,80}\\]\\}|error: .{0,20}\n){0,40}",
        limit in -5_i64..400,
        hash: bool,
    ) {
        for counter in counters() {
            let excerpt = Excerpt::of(&text, limit, hash, &*counter);
            prop_assert_eq!(excerpt.tokens, counter.count(&excerpt.text).max(0));
            prop_assert!(excerpt.tokens <= limit.max(0), "{excerpt:?}");
            prop_assert_eq!(&Excerpt::of(&text, limit, hash, &*counter), &excerpt);
            if counter.count(&text) <= limit {
                prop_assert_eq!(&excerpt.text, &text);
            }
        }
    }

    #[test]
    fn no_text_leaves_its_quotation(text in "(?s)([<＜/|r\u{200b} \n\r\u{2028}>\\[\\]]|recalled|user: |.){0,60}") {
        for role in [Role::User, Role::Tool] {
            let mut quotation = Quotation::new();
            let before = quotation.clone().finish().lines().count();
            quotation.message(7, role, &text);
            let quoted = quotation.finish();
            prop_assert_eq!(quoted.matches("</recalled>").count(), 1, "{}", quoted);
            prop_assert_eq!(quoted.matches("<recalled>").count(), 1, "{}", quoted);
            prop_assert!(!quoted.contains("<|"), "{}", quoted);
            // All lines but the frame's own and the label's are set in.
            let free = quoted.lines().filter(|line| !line.starts_with([' ', '>'])).count();
            prop_assert_eq!(free, before + 1, "{}", quoted);
        }
    }
}

#[test]
fn the_grid_is_a_power_of_two_that_follows_from_the_window() {
    let plan = TurnPlan::new();
    let widths = [1_500, 3_000, 4_000, 8_192, 12_000, 32_000, 200_000].map(|w| plan.width(w));
    assert_eq!(widths, [512, 512, 1_024, 2_048, 2_048, 8_192, 32_768]);
    let plan = plan.grid(Grid::Uncached);
    assert_eq!([4_000, 32_000].map(|window| plan.width(window)), [64, 512]);
    assert!([0, -5, i64::MIN, i64::MAX].iter().all(|window| plan.width(*window) > 0));
}

#[test]
fn settings_out_of_range_are_named() {
    let wrong = |plan: TurnPlan| plan.check().unwrap_err().to_string();
    assert!(wrong(TurnPlan::new().recall(-0.1)).contains("plan.recall must be between 0 and 1"));
    assert!(wrong(TurnPlan::new().excerpt(f64::NAN)).contains("plan.excerpt"));
    assert!(wrong(TurnPlan::new().faded(2.0)).contains("plan.faded"));
    assert!(wrong(TurnPlan::new().grid(Grid::Tokens(0))).contains("plan.grid must be at least 1"));
}

#[test]
fn plans_are_shared_between_threads() {
    fn assert_shared<T: Send + Sync>() {}
    assert_shared::<TurnPlan>();
    assert_shared::<PlanOutcome>();
    assert_shared::<Excerpt>();
    assert_shared::<Part>();
    assert_shared::<Turn<'static>>();
}

#[test]
fn what_is_quoted_needs_nothing() {
    use cupel::conversation::{Conversation, Message, MessageTexts, Rules};
    use cupel::model::{Origin, PlacedItem};

    let mut messages = vec![
        Message::new(Role::User, "Look at both.", 20),
        Message::new(Role::Assistant, "Let me think.", 20),
        Message::new(Role::Assistant, "The second is blue.", 20).needs(1),
    ];
    let talk = (0..20).map(|turn| {
        let role = if turn % 2 == 0 { Role::User } else { Role::Assistant };
        Message::new(role, format!("Message {turn}."), 40)
    });
    messages.extend(talk);
    messages.push(Message::new(Role::User, "What is blue?", 10));
    let conversation = Conversation::new(messages, &Rules::new()).unwrap();
    let item = conversation.candidates()[2].clone();
    let placed = [PlacedItem { item, origin: Origin::Request(2) }];
    assert_eq!(conversation.withdrawn(&placed).len(), 1, "it is sent with its thoughts only");
    let plan = TurnPlan::new().recall(0.3);
    let planned = conversation.plan(&Turn::new(&plan, 400), None, &MessageTexts).unwrap();
    assert_eq!(planned.parts[2], Part::Earlier);
    let edits = conversation.edits(&placed, Some(planned), &MessageTexts);
    assert!(edits.quotation.unwrap().text.contains("The second is blue."));
}
