//! The questions of what-if, asked of a conversation.

use cupel::conversation::{Conversation, Message, Rehearsal, RehearsedMessage, Role, Rules};
use cupel::{ContextBudget, CupelError, Policy};

/// Twenty turns of about 100 tokens about nothing in particular, and a long tool result near the end.
fn rehearsal() -> Rehearsal<'static> {
    let mut messages = vec![Message::new(Role::System, "Be brief.", 6)];
    for turn in 0..20 {
        let filler = "and so on ".repeat(16);
        messages.push(Message::new(Role::User, format!("Question {turn}? {filler}"), 50));
        messages.push(Message::new(Role::Assistant, format!("Answer {turn}. {filler}"), 50));
    }
    let lines: String = (0..200).map(|line| format!("line {line} of the log\n")).collect();
    messages.push(Message::new(Role::User, "Read the log.", 10));
    messages.push(Message::new(Role::Assistant, "read()", 10).calls("call_1").tool("read"));
    messages.push(Message::new(Role::Tool, lines, 1_204).answers("call_1").result(1_200));
    messages.push(Message::new(Role::Assistant, "Read.", 10));
    messages.push(Message::new(Role::User, "Go on.", 10));
    Rehearsal::new(Conversation::new(messages, &Rules::new()).unwrap()).unwrap()
}

const LOG: usize = 43;

fn window(tokens: i64) -> ContextBudget {
    ContextBudget::builder(tokens).build().unwrap()
}

#[test]
fn the_window_that_is_found_shows_the_message_and_one_token_less_does_not() {
    let rehearsal = rehearsal();
    for policy in [Policy::chat(), Policy::chat().without_plan()] {
        for message in [1, 2, 17, 30] {
            let found = rehearsal.smallest_budget_for(&policy, message, 100..=10_000).unwrap();
            let found = found.expect("everything fits 10,000 tokens");
            let shows = |tokens: i64| {
                let turn = rehearsal.dry_run(&policy, &window(tokens)).unwrap();
                turn.view_of(message).is_in_view()
            };
            assert!(shows(found) && !shows(found - 1), "message {message}: {found}");
        }
    }
}

#[test]
fn a_range_that_never_shows_the_message_has_no_answer() {
    let (rehearsal, chat) = (rehearsal(), Policy::chat());
    let ask = |message, windows| rehearsal.smallest_budget_for(&chat, message, windows).unwrap();
    assert_eq!(ask(1, 100..=600), None);
    assert_eq!(ask(1, 5..=10), None, "what has to be sent does not fit");
    assert_eq!(ask(1, std::ops::RangeInclusive::new(9_000, 8_000)), None);
    assert_eq!(ask(45, 500..=9_000), Some(500), "the question is always there");
    let error = rehearsal.smallest_budget_for(&chat, 46, 0..=9_000).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no message 46: the conversation has 46, counted from 0"
    );
}

#[test]
fn more_tokens_bring_messages_into_view_and_let_excerpts_grow() {
    let (rehearsal, chat) = (rehearsal(), Policy::chat());
    let gain = rehearsal.gained_by(&chat, &window(2_000), 800).unwrap();
    assert_eq!(gain.before.view_of(LOG), RehearsedMessage::Excerpt);
    for message in &gain.into_view {
        assert_eq!(gain.before.view_of(*message), RehearsedMessage::Dropped);
        assert!(gain.after.view_of(*message).is_in_view());
    }
    assert!(!gain.into_view.is_empty());
    let [log] = gain.grown[..] else { panic!("{:?}", gain.grown) };
    assert_eq!((log.message, log.result), (LOG, 0));
    assert!(log.before < log.after && log.after < 1_200, "{log:?}");

    // With room for everything the excerpt is the whole result.
    let gain = rehearsal.gained_by(&chat, &window(2_000), 8_000).unwrap();
    assert_eq!(gain.grown[0].after, 1_200);
    assert_eq!(gain.after.view_of(LOG), RehearsedMessage::Whole);

    let error = rehearsal.gained_by(&chat, &window(2_000), -1).unwrap_err();
    assert!(error.to_string().contains("extra_tokens must be at least 0, got -1"), "{error}");
}

#[test]
fn policies_are_set_side_by_side() {
    let rehearsal = rehearsal();
    let (planned, scored) = (Policy::chat(), Policy::chat().without_plan());
    let variants = [("planned", &planned), ("scored", &scored)];
    let compared = rehearsal.compare(&variants, &window(2_000)).unwrap();
    let labels: Vec<&str> = compared.turns.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(labels, ["planned", "scored"]);
    let [(_, planned), (_, scored)] = &compared.turns[..] else { panic!() };
    let plan = planned.plan.as_ref().unwrap();
    assert_eq!(plan.cached_tokens + plan.new_tokens, planned.sent.tokens);
    assert!(scored.plan.is_none());
    assert!(!compared.differences.is_empty());
    for message in 0..46 {
        let views = vec![planned.view_of(message), scored.view_of(message)];
        let listed = compared.differences.iter().find(|(index, _)| *index == message);
        assert_eq!(listed.map(|(_, views)| views), (views[0] != views[1]).then_some(&views));
    }
    let same = [("one", &Policy::chat()), ("other", &Policy::chat())];
    assert!(rehearsal.compare(&same, &window(2_000)).unwrap().differences.is_empty());
}

#[test]
fn fixed_tokens_come_off_the_budget() {
    let chat = Policy::chat();
    let turn = rehearsal().fixed_tokens(500).dry_run(&chat, &window(2_000)).unwrap();
    assert_eq!(turn.budget.max_tokens(), 1_500);
    assert!(turn.sent.tokens <= 1_500);
    let refused = |tokens| rehearsal().fixed_tokens(tokens).dry_run(&chat, &window(2_000));
    assert!(matches!(refused(-1), Err(CupelError::InvalidBudget { .. })));
    let error = refused(3_000).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid budget: fixedTokens of 3000 leave nothing of the 2000 that a request may take; \
         shorten what is fixed, or raise the budget"
    );
}

#[test]
fn a_conversation_of_which_nothing_can_be_sent_is_refused() {
    let messages = vec![Message::new(Role::Assistant, "read()", 10).calls("call_1")];
    let conversation = Conversation::new(messages, &Rules::new()).unwrap();
    let error = Rehearsal::new(conversation).unwrap_err();
    assert!(error.to_string().starts_with("the API would refuse all 1 messages"), "{error}");
}
