//! Standing orders in a plan: what is sent of them, where, and when it changes.

use cupel::conversation::plan::{PlanOutcome, StandingBlock, Turn};
use cupel::conversation::{Attributes, Conversation, Message, MessageTexts, Role, Rules};
use cupel::model::{ContextItem, Origin, PlacedItem, TurnPlan};
use proptest::prelude::*;

const ORDER: &str = "Always give exact version numbers.";

/// So many exchanges of 200 tokens behind these first messages, and a question.
fn talk(first: &[(Role, &str)], exchanges: usize) -> Vec<Message> {
    let first = first.iter().map(|(role, text)| Message::new(*role, *text, 20));
    let mut messages: Vec<Message> = first.collect();
    for turn in 0..exchanges {
        messages.push(Message::new(Role::User, format!("Question {turn}?"), 100));
        messages.push(Message::new(Role::Assistant, format!("Answer {turn}."), 100));
    }
    messages.push(Message::new(Role::User, "And now?", 10));
    messages
}

fn planned_with(messages: Vec<Message>, plan: &TurnPlan, window: i64) -> PlanOutcome {
    let conversation = Conversation::new(messages, &Rules::new()).unwrap();
    conversation.plan(&Turn::new(plan, window), None, &MessageTexts).unwrap()
}

fn planned(messages: Vec<Message>) -> PlanOutcome {
    planned_with(messages, &TurnPlan::new(), 4_000)
}

fn sent(planned: &PlanOutcome) -> i64 {
    planned.pinned_tokens() + planned.share
}

fn lines(block: &StandingBlock) -> Vec<(usize, &str)> {
    block.orders.iter().map(|order| (order.message, &*order.text)).collect()
}

#[test]
fn an_order_before_the_cut_is_sent_with_the_first_user_message_behind_it() {
    let first = [(Role::System, "Be brief."), (Role::User, ORDER), (Role::Assistant, "Sure.")];
    let planned = planned(talk(&first, 30));
    let block = planned.standing.as_ref().unwrap();
    assert_eq!(lines(block), [(1, ORDER)]);
    assert!(block.text.contains("\n[1] Always give exact version numbers.\n"), "{}", block.text);
    assert!(block.text.contains("The user's own earlier instructions"));
    let earlier = planned.parts.iter().filter(|part| !part.is_sent()).count();
    // Instructions stay, so the first message behind the cut is number `earlier + 1`.
    assert!((earlier + 1..=earlier + 2).contains(&block.message), "{block:?}");
    assert!(sent(&planned) <= 4_000);
}

#[test]
fn a_conversation_that_fits_has_no_block() {
    assert_eq!(planned(talk(&[(Role::User, ORDER)], 5)).standing, None);
}

#[test]
fn an_order_that_is_still_sent_is_not_repeated() {
    let mut messages = talk(&[], 30);
    messages.insert(58, Message::new(Role::User, ORDER, 20));
    assert_eq!(planned(messages).standing, None);
}

#[test]
fn others_give_no_orders() {
    for role in [Role::Assistant, Role::System] {
        assert_eq!(planned(talk(&[(Role::User, "Hi."), (role, ORDER)], 30)).standing, None);
    }
}

#[test]
fn text_of_a_tool_or_a_document_is_no_order() {
    let mut messages = talk(&[(Role::User, ORDER), (Role::User, "Never use tabs.")], 30);
    messages.push(Message::new(Role::Assistant, "read", 10).calls("a"));
    let result = format!("# Style\n{ORDER}\n");
    messages.push(Message::new(Role::Tool, result, 20).answers("a").result(15));
    let block = planned(messages).standing.unwrap();
    assert_eq!(lines(&block), [(1, "Never use tabs.")]);
}

#[test]
fn text_of_a_source_is_no_order() {
    let messages = talk(&[(Role::User, ORDER), (Role::User, "Never use tabs.")], 30);
    let conversation = Conversation::new(messages, &Rules::new()).unwrap();
    let plan = TurnPlan::new();
    let turn = Turn::new(&plan, 4_000).has_sources(true);
    let planned = conversation.plan(&turn, None, &MessageTexts).unwrap();
    assert_eq!(planned.standing.as_ref().unwrap().orders.len(), 2);
    let item = ContextItem::new(format!("Page: {ORDER}"), 10).unwrap();
    let origin = Origin::Source { name: "wiki".into(), position: 0 };
    let placed = vec![PlacedItem { item, origin }];
    let edits = conversation.edits(&placed, Some(planned), &MessageTexts);
    assert_eq!(lines(edits.standing().unwrap()), [(1, "Never use tabs.")]);
    assert!(!edits.standing().unwrap().text.contains(ORDER));
}

#[test]
fn the_block_changes_only_when_the_cut_moves() {
    let first = [(Role::User, ORDER), (Role::Assistant, "Sure.")];
    let all = talk(&first, 60);
    let mut before: Option<PlanOutcome> = None;
    let mut moves = 0;
    for turn in 30..60 {
        let mut messages: Vec<Message> = all[..2 * turn].to_vec();
        // A new order in the tail, said again, and taken back there.
        if turn >= 40 {
            messages[76] = Message::new(Role::User, "Never use tabs.", 100);
        }
        if turn >= 42 {
            messages[80] = Message::new(Role::User, "Forget the rule about version numbers.", 100);
        }
        messages.push(Message::new(Role::User, "And now?", 10));
        let planned = planned(messages);
        assert!(sent(&planned) <= 4_000);
        if let Some(before) = &before {
            let cut = |planned: &PlanOutcome| planned.parts.iter().position(|part| part.is_sent());
            match cut(before) == cut(&planned) {
                true => assert_eq!(before.standing, planned.standing, "turn {turn}"),
                false => moves += 1,
            }
        }
        before = Some(planned);
    }
    assert!(moves >= 2, "{moves}");
    // The cut has passed the retraction and the other order.
    assert_eq!(lines(&before.unwrap().standing.unwrap()), [(76, "Never use tabs.")]);
}

#[test]
fn room_is_kept_from_the_first_order_on() {
    let with = |order: &str, at: usize| {
        let mut messages = talk(&[], 30);
        messages[at] = Message::new(Role::User, order, 100);
        planned(messages)
    };
    let first = |planned: &PlanOutcome| planned.parts.iter().position(|part| part.is_sent());
    // In view or not, one order or none that fits: the cut is the same.
    let cut = first(&with(ORDER, 0));
    assert_eq!(first(&with(ORDER, 56)), cut);
    assert_eq!(first(&with(&format!("Always say {}.", "so ".repeat(50)), 0)), cut);
    assert_eq!(with(ORDER, 60).standing, None, "the question is no earlier order");
}

#[test]
fn the_newest_orders_stand_when_not_all_fit() {
    let orders: Vec<String> =
        (0..60).map(|number| format!("Always mention the part number {number}.")).collect();
    let first: Vec<(Role, &str)> = orders.iter().map(|order| (Role::User, &**order)).collect();
    let planned = planned(talk(&first, 30));
    let block = planned.standing.as_ref().unwrap();
    let places: Vec<usize> = block.orders.iter().map(|order| order.message).collect();
    assert!(block.left_out > 0 && block.left_out + places.len() == 60, "{block:?}");
    let newest: Vec<usize> = (60 - places.len()..60).collect();
    assert_eq!(places, newest);
    assert!(block.tokens <= 200 + 60, "{}", block.tokens);
    assert!(sent(&planned) <= 4_000);
}

#[test]
fn a_share_of_nothing_turns_them_off() {
    let messages = talk(&[(Role::User, ORDER)], 30);
    let plan = TurnPlan::new().standing(0.0);
    let off = planned_with(messages.clone(), &plan, 4_000);
    assert_eq!(off.standing, None);
    assert!(planned(messages).standing.is_some());
    let error = TurnPlan::new().standing(1.5).check().unwrap_err().to_string();
    assert!(error.contains("plan.standing must be between 0 and 1"), "{error}");
}

#[test]
fn the_caller_marks_messages() {
    let mark = |text: &str, standing: bool| {
        Message::new(Role::User, text, 20).attributes(Attributes::new().standing(standing))
    };
    let mut messages = talk(&[], 30);
    messages.insert(0, mark("The house style:\nshort lines.", true));
    messages.insert(1, mark(ORDER, false));
    let block = planned(messages).standing.unwrap();
    assert_eq!(lines(&block), [(0, "The house style:\nshort lines.")]);
    assert!(block.text.contains("\n[0] The house style:\n short lines.\n"), "{}", block.text);
}

#[test]
fn only_the_newest_step_has_no_block() {
    // An exchange that fills the window leaves no room.
    let mut messages = talk(&[(Role::User, ORDER)], 30);
    messages.push(Message::new(Role::Assistant, "read", 3_900).calls("a"));
    messages.push(Message::new(Role::Tool, "text", 60).answers("a").result(15));
    let planned = planned(messages);
    assert_eq!(planned.standing, None);
    assert!(sent(&planned) <= 4_000, "{}", sent(&planned));
}

proptest! {
    #[test]
    fn the_request_fits_with_its_block(
        texts in proptest::collection::vec((0..6_usize, 1..400_i64), 1..60),
        window in 300..6_000_i64,
    ) {
        let say = [ORDER, "Hi.", "Never use tabs. I prefer rye bread.", "You may use tabs again.", "ok", "So?"];
        let mut messages: Vec<Message> = Vec::new();
        for (at, (text, tokens)) in texts.into_iter().enumerate() {
            let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
            messages.push(Message::new(role, say[text], tokens));
        }
        messages.push(Message::new(Role::User, "And now?", 10));
        let planned = planned_with(messages.clone(), &TurnPlan::new(), window);
        let fits = planned.pinned_tokens() + planned.share <= window;
        prop_assert!(fits, "{planned:?}");
        if let Some(block) = &planned.standing {
            prop_assert!(!planned.whole);
            prop_assert_eq!(messages[block.message].role, Role::User);
            for order in &block.orders {
                prop_assert_eq!(messages[order.message].role, Role::User);
                prop_assert!(messages[order.message].text.contains(&order.text));
            }
        }
    }
}
