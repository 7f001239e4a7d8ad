//! The question is the last message of a user that says something.

use cupel::conversation::plan::{Part, Turn};
use cupel::conversation::{Conversation, Exchanges, Message, MessageTexts, Role, Rules};
use cupel::model::TurnPlan;

use crate::common::{assistant, conversation, pinned, system, tool, user};

/// A long talk, a question, a step about it, and what a client sends behind it.
fn asked(last: &str) -> Vec<Message> {
    let mut messages = vec![system("rules")];
    for turn in 0..20 {
        messages.push(Message::new(Role::User, format!("Question {turn}?"), 50));
        messages.push(Message::new(Role::Assistant, format!("Answer {turn}."), 50));
    }
    messages.push(Message::new(Role::User, "Where is the key?", 20));
    messages.push(Message::new(Role::Assistant, "look()", 20).calls("a"));
    messages.push(Message::new(Role::Tool, "under the mat", 300).answers("a").result(290));
    messages.push(Message::new(Role::User, last, 4));
    messages
}

#[test]
fn a_blank_message_is_not_the_question_of_a_plan() {
    for (blank, window) in
        ["", "  \n\t", "\u{a0}"].into_iter().flat_map(|text| [(text, 1_000), (text, 90)])
    {
        let conversation = conversation(asked(blank));
        let question = conversation.question(&MessageTexts).unwrap();
        assert_eq!(question.text(), "Where is the key?");
        let plan = TurnPlan::new();
        let planned = conversation.plan(&Turn::new(&plan, window), None, &MessageTexts).unwrap();
        assert_eq!(planned.question, Some(41), "{blank:?}");
        // In the small window the newest result is the one thing that is left of the exchange.
        let newest = [Part::Question, Part::Exchange, Part::Exchange];
        assert_eq!(planned.parts[41..], newest, "{blank:?} in {window}");
        assert!(planned.pinned_tokens() <= window);
    }
}

#[test]
fn media_without_words_are_a_question() {
    let conversation = conversation(asked("[image]"));
    let planned = conversation.plan(&Turn::new(&TurnPlan::new(), 1_000), None, &MessageTexts);
    assert_eq!(planned.unwrap().question, Some(44));
}

#[test]
fn texts_that_the_adapter_keeps_elsewhere_are_looked_at() {
    let texts = ["Where is the key?", "Let me see.", " "];
    let messages = [Role::User, Role::Assistant, Role::User].map(|role| Message::new(role, "", 9));
    let write = |index: usize, _: &Message, out: &mut String| out.push_str(texts[index]);
    let conversation = Conversation::with_texts(messages.to_vec(), &Rules::new(), write).unwrap();
    let planned = conversation.plan(&Turn::new(&TurnPlan::new(), 1_000), None, &MessageTexts);
    assert_eq!(planned.unwrap().question, Some(0));
}

#[test]
fn the_last_words_are_pinned_and_not_only_the_blank_message_behind_them() {
    let messages = [
        user("old question"),
        assistant("old answer"),
        user("question"),
        assistant("call").calls("a"),
        tool("result", "a"),
        user(" "),
    ];
    let expected = ["[2] user: question", "[3] assistant: call\n[4] tool: result", "[5] user:  "];
    assert_eq!(pinned(&conversation(messages.clone())), expected);
    // The exchange is under way: its steps are not joined with the question.
    let rules = Rules::new().exchanges(Exchanges::Whole);
    assert_eq!(pinned(&Conversation::new(messages.to_vec(), &rules).unwrap()), expected);
}

#[test]
fn words_beside_results_count_and_blank_ones_do_not() {
    let with = |words: &str| {
        let beside = Message::new(Role::User, "result", 9).answers("a").words(words);
        conversation([user("question"), assistant("call").calls("a"), beside])
    };
    let asked = |words: &str| {
        let planned = with(words).plan(&Turn::new(&TurnPlan::new(), 1_000), None, &MessageTexts);
        planned.unwrap().question
    };
    assert_eq!((asked("and the second?"), asked(" ")), (Some(2), Some(0)));
}
