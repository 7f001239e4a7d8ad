//! Units that are kept or dropped together, and messages that no API accepts.

use cupel::conversation::{Answers, Conversation, Message, Role, Rules};
use cupel::{ContextKind, ContextSource};

use crate::common::{
    assistant, contents, conversation, later, pinned, place, refused, system, tool, user,
};

#[test]
fn parallel_calls_and_all_their_results_are_one_unit() {
    let conversation = conversation([
        user("weather?"),
        assistant("two calls").calls("a").calls("b"),
        tool("rain", "b"),
        tool("sun", "a"),
        assistant("mixed"),
    ]);
    let candidates = conversation.candidates();
    assert_eq!(
        contents(&candidates),
        [
            "[0] user: weather?",
            "[1] assistant: two calls\n[2] tool: rain\n[3] tool: sun",
            "[4] assistant: mixed"
        ]
    );
    assert_eq!(candidates[1].tokens(), 2_100);
    assert_eq!(*candidates[1].kind(), ContextKind::tool_output());
    assert_eq!(*candidates[1].source(), ContextSource::tool());
    assert_eq!(place(&conversation, [1]), [1, 2, 3]);
}

#[test]
fn the_same_id_in_another_turn_is_another_call() {
    let conversation = conversation([
        assistant("first").calls("call_0"),
        tool("one", "call_0"),
        assistant("second").calls("call_0"),
        tool("two", "call_0"),
    ]);
    assert_eq!(place(&conversation, [0]), [0, 1]);
    assert_eq!(place(&conversation, [1]), [2, 3]);
}

#[test]
fn an_interrupted_call_is_refused_with_what_belongs_to_it() {
    let conversation = conversation([
        user("q"),
        assistant("two").calls("a").calls("b"),
        tool("only one", "a"),
        user("never mind"),
        assistant("last").calls("c"),
    ]);
    assert_eq!(contents(&conversation.candidates()), ["[0] user: q", "[3] user: never mind"]);
    // What is refused is not the latest.
    assert_eq!(pinned(&conversation), ["[3] user: never mind"]);
    assert_eq!(
        refused(conversation),
        [
            (
                "[1] assistant: two\n[2] tool: only one".to_owned(),
                "tool call \"b\" without its result".to_owned()
            ),
            ("[4] assistant: last".to_owned(), "tool call \"c\" without its result".to_owned()),
        ]
    );
}

#[test]
fn a_result_without_its_call_is_refused_alone() {
    let conversation = conversation([
        tool("of a call that was cut off", "z"),
        assistant("call").calls("a"),
        tool("strange", "y"),
        tool("answer", "a"),
        tool("again", "a"),
        user("q"),
    ]);
    assert_eq!(
        contents(&conversation.candidates()),
        ["[1] assistant: call\n[3] tool: answer", "[5] user: q"]
    );
    let why: Vec<String> = refused(conversation).into_iter().map(|(_, why)| why).collect();
    assert_eq!(
        why,
        [
            "result without its tool call \"z\"",
            "result without its tool call \"y\"",
            "result without its tool call \"a\"",
        ]
    );
}

#[test]
fn a_result_after_other_messages_comes_too_late_unless_the_api_allows_it() {
    let messages = || [assistant("call").calls("a"), user("wait"), tool("answer", "a")];
    assert_eq!(contents(&conversation(messages()).candidates()), ["[1] user: wait"]);
    let later = later(messages());
    assert_eq!(
        contents(&later.candidates()),
        ["[0] assistant: call\n[2] tool: answer", "[1] user: wait"]
    );
    assert_eq!(place(&later, [0, 1]), [0, 1, 2]);
}

#[test]
fn instructions_between_a_call_and_its_result_part_them_unless_the_api_allows_it() {
    let messages = || {
        let call = assistant("call").calls("a");
        vec![user("q"), call, system("note"), tool("answer", "a")]
    };
    let sound = |answers| {
        let rules = Rules::new().answers(answers);
        Conversation::new(messages(), &rules).unwrap().take_refused().is_empty()
    };
    assert!(!sound(Answers::Next));
    assert!(sound(Answers::NextPastSystem));
}

#[test]
fn a_message_with_two_results_of_one_call_is_refused_with_the_call() {
    let conversation = conversation([
        user("q"),
        assistant("call").calls("a"),
        Message::new(Role::Tool, "twice", 1).answers("a").answers("a"),
    ]);
    let refused = refused(conversation);
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].0, "[1] assistant: call\n[2] tool: twice");
}

#[test]
fn reasoning_stays_with_what_follows_and_its_answers() {
    let conversation = later([
        user("q"),
        assistant("thinking").with_next(),
        assistant("call a").calls("a").with_previous(),
        assistant("call b").calls("b").with_previous(),
        tool("A", "a"),
        tool("B", "b"),
        assistant("done"),
    ]);
    assert_eq!(place(&conversation, [1]), [1, 2, 3, 4, 5]);
}

#[test]
fn reasoning_that_leads_nowhere_is_refused() {
    let conversation = later([
        assistant("continued").with_previous(),
        user("q"),
        assistant("thinking").with_next(),
    ]);
    let why: Vec<String> = refused(conversation).into_iter().map(|(_, why)| why).collect();
    assert_eq!(why, ["nothing before it to belong to", "nothing after it to belong to"]);
}

#[test]
fn an_adapter_can_refuse_for_its_own_reasons() {
    let conversation =
        conversation([user("q"), assistant("?").refused("no such thing"), user("r")]);
    assert_eq!(
        refused(conversation),
        [("[1] assistant: ?".to_owned(), "no such thing".to_owned())]
    );
}
