//! Units of a finished exchange.

use cupel::ContextItem;
use cupel::conversation::{Attributes, Conversation, Exchanges, Message, Role, Rules};
use cupel::model::{Origin, PlacedItem};

use crate::common::{assistant, place, refused, system, tool, user};

#[test]
fn an_exchange_that_is_over_can_be_one_unit() {
    let messages = vec![
        system("rules"),
        assistant("greeting"),
        user("first"),
        assistant("call").calls("a"),
        tool("result", "a"),
        assistant("answer"),
        user("second"),
        assistant("interrupted").calls("lost"),
        system("more rules"),
        assistant("answer"),
        user("third"),
        assistant("call").calls("b"),
        tool("result", "b"),
        assistant("call").calls("c"),
        Message::new(Role::User, "result, and some words", 5).answers("c"),
    ];
    let rules = Rules::new().exchanges(Exchanges::Whole);
    let conversation = Conversation::new(messages, &rules).unwrap();
    let units = (0..conversation.candidates().len()).map(|unit| place(&conversation, [unit]));
    let units: Vec<Vec<usize>> = units.collect();
    assert_eq!(
        units,
        [
            vec![0],
            vec![1],
            vec![2, 3, 4, 5],
            // What is refused takes nothing with it, and instructions belong to nobody.
            vec![6, 9],
            vec![8],
            vec![10],
            vec![11, 12],
            vec![13, 14],
        ]
    );
    // The question that is being answered is pinned, also when later words stand beside a result.
    let pinned: Vec<bool> = conversation.candidates().iter().map(ContextItem::pinned).collect();
    assert_eq!(pinned, [true, false, false, false, true, true, false, true]);
    assert_eq!(refused(conversation).len(), 1);
}

#[test]
fn steps_of_an_exchange_that_is_over_go_only_with_its_question() {
    let pin = Attributes::new().pinned(true);
    let messages = vec![
        user("read the book"),
        assistant("page 1").calls("a"),
        tool("once upon a time", "a"),
        assistant("page 2").calls("b"),
        tool("the end", "b"),
        assistant("it is a fairy tale"),
        user("really?"),
        assistant("page 3").calls("c").attributes(pin),
        tool("a list of names", "c"),
        assistant("yes"),
        user("why?"),
    ];
    let rules = Rules::new().exchanges(Exchanges::StepsApart);
    let conversation = Conversation::new(messages, &rules).unwrap();
    let candidates = conversation.candidates();
    let units: Vec<Vec<usize>> =
        (0..candidates.len()).map(|unit| place(&conversation, [unit])).collect();
    assert_eq!(units, [vec![0, 5], vec![1, 2], vec![3, 4], vec![6, 9], vec![7, 8], vec![10]]);
    // What is pinned has what it needs.
    let pinned: Vec<bool> = candidates.iter().map(ContextItem::pinned).collect();
    assert_eq!(pinned, [false, false, false, true, true, true]);
    let placed = |units: &[usize]| -> Vec<PlacedItem> {
        let place = |unit: &usize| PlacedItem {
            item: candidates[*unit].clone(),
            origin: Origin::Request(*unit),
        };
        units.iter().map(place).collect()
    };
    let why = || "what it needs was not selected".to_owned();
    assert_eq!(conversation.withdrawn(&placed(&[5, 2, 4, 1, 3])), [(1, why()), (3, why())]);
    assert!(conversation.withdrawn(&placed(&[5, 2, 0, 4, 3])).is_empty());
}

#[test]
fn a_message_that_needs_an_earlier_one_is_sent_and_refused_with_it() {
    let messages = |answered: bool| {
        let mut messages = vec![user("why?"), assistant("page 1").calls("a")];
        messages.extend(answered.then(|| tool("once upon", "a")));
        messages.extend([assistant("page 2").calls("b").needs(1), tool("the end", "b")]);
        messages
    };
    let conversation = Conversation::new(messages(true), &Rules::new()).unwrap();
    // The newest unit is pinned, and what it needs with it; the two stay apart.
    let pinned: Vec<bool> = conversation.candidates().iter().map(ContextItem::pinned).collect();
    assert_eq!(pinned, [true, true, true]);
    assert_eq!(place(&conversation, [2]), [3, 4]);
    let item = |unit: usize| conversation.candidates()[unit].clone();
    let placed = |unit: usize| PlacedItem { item: item(unit), origin: Origin::Request(unit) };
    assert_eq!(conversation.withdrawn(&[placed(0), placed(2)]).len(), 1);
    assert!(conversation.withdrawn(&[placed(0), placed(1)]).is_empty());

    let mut conversation = Conversation::new(messages(false), &Rules::new()).unwrap();
    let why: Vec<String> = conversation.take_refused().into_iter().map(|one| one.why).collect();
    assert_eq!(why, ["tool call \"a\" without its result", "the message it needs cannot be sent"]);
}
