//! Messages that are always sent.

use cupel::conversation::{Attributes, Conversation, Rules};

use crate::common::{assistant, conversation, pinned, system, tool, user};

#[test]
fn instructions_the_question_and_what_the_model_asked_for_are_pinned() {
    let conversation = conversation([
        system("rules"),
        user("old question"),
        assistant("old answer"),
        user("question"),
        assistant("call").calls("a"),
        tool("old result", "a"),
        assistant("call").calls("b"),
        tool("new result", "b"),
    ]);
    assert_eq!(
        pinned(&conversation),
        ["[0] system: rules", "[3] user: question", "[6] assistant: call\n[7] tool: new result"]
    );
}

#[test]
fn the_latest_unit_can_take_its_chances() {
    let messages = vec![user("q"), assistant("call").calls("a"), tool("result", "a")];
    let rules = Rules::new().pin_latest(false);
    assert_eq!(pinned(&Conversation::new(messages, &rules).unwrap()), ["[0] user: q"]);
}

#[test]
fn something_is_always_pinned() {
    let messages = vec![assistant("a"), assistant("b")];
    let rules = Rules::new().pin_latest(false);
    assert_eq!(pinned(&Conversation::new(messages, &rules).unwrap()), ["[1] assistant: b"]);
}

#[test]
fn the_caller_overrides_pins_both_ways() {
    let conversation = conversation([
        system("a manual").attributes(Attributes::new().pinned(false)),
        assistant("a promise").attributes(Attributes::new().pinned(true)),
        user("question"),
    ]);
    assert_eq!(pinned(&conversation), ["[1] assistant: a promise", "[2] user: question"]);
}
