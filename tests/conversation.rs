//! Messages become units, and selections become conversations that an API accepts.

#![cfg(feature = "layer")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use cupel::conversation::{Answers, Attributes, Conversation, Exchanges, Message, Role, Rules};
use cupel::layer::{Origin, Placed};
use cupel::{ContextItem, ContextKind, ContextSource};
use proptest::prelude::*;

fn system(text: &str) -> Message {
    Message::new(Role::System, text, 1)
}

fn user(text: &str) -> Message {
    Message::new(Role::User, text, 10)
}

fn assistant(text: &str) -> Message {
    Message::new(Role::Assistant, text, 100)
}

fn tool(text: &str, call: &str) -> Message {
    Message::new(Role::Tool, text, 1_000).answers(call)
}

fn conversation(messages: impl IntoIterator<Item = Message>) -> Conversation {
    Conversation::new(messages.into_iter().collect(), &Rules::new()).unwrap()
}

fn later(messages: impl IntoIterator<Item = Message>) -> Conversation {
    let rules = Rules::new().answers(Answers::Later);
    Conversation::new(messages.into_iter().collect(), &rules).unwrap()
}

fn contents(items: &[ContextItem]) -> Vec<&str> {
    items.iter().map(ContextItem::content).collect()
}

/// The contents of what is pinned.
fn pinned(conversation: &Conversation) -> Vec<String> {
    let candidates = conversation.candidates().into_iter().filter(ContextItem::pinned);
    candidates.map(|item| item.content().to_owned()).collect()
}

fn refused(mut conversation: Conversation) -> Vec<(String, String)> {
    let refused = conversation.take_refused().into_iter();
    refused.map(|refused| (refused.item.content().to_owned(), refused.why)).collect()
}

fn place(conversation: &Conversation, units: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let candidates = conversation.candidates();
    let placed = units
        .into_iter()
        .map(|unit| Placed { item: candidates[unit].clone(), origin: Origin::Request(unit) });
    conversation.arrange(placed.collect()).kept
}

#[test]
fn every_message_is_a_candidate_with_its_number_and_its_role() {
    let conversation = conversation([system("be brief"), user(""), assistant("hello")]);
    let candidates = conversation.candidates();
    assert_eq!(
        contents(&candidates),
        ["[0] system: be brief", "[1] user: ", "[2] assistant: hello"]
    );
    let kinds: Vec<&ContextKind> = candidates.iter().map(ContextItem::kind).collect();
    assert_eq!(
        kinds,
        [&ContextKind::system_prompt(), &ContextKind::message(), &ContextKind::message()]
    );
    assert!(candidates.iter().all(|item| *item.source() == ContextSource::chat()));
}

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

#[test]
fn messages_are_dated_by_position_back_from_the_newest() {
    let newest = DateTime::from_timestamp(1_000_000, 0).unwrap();
    let real = DateTime::from_timestamp(5, 0).unwrap();
    let messages = vec![
        user("a"),
        user("b").attributes(Attributes::new().timestamp(real)),
        assistant("c").calls("x"),
        tool("d", "x"),
    ];
    let rules = Rules::new().newest(newest).spacing(Duration::from_secs(60));
    let candidates = Conversation::new(messages, &rules).unwrap().candidates();
    let timestamps: Vec<_> = candidates.iter().map(|item| item.timestamp().unwrap()).collect();
    // A unit is as new as its newest message.
    assert_eq!(timestamps, [newest - TimeDelta::seconds(180), real, newest]);
}

#[test]
fn a_spacing_beyond_the_calendar_keeps_the_order() {
    let rules = Rules::new().spacing(Duration::MAX);
    let candidates =
        Conversation::new(vec![user("a"), user("b"), user("c")], &rules).unwrap().candidates();
    assert_eq!(candidates[0].timestamp(), Some(DateTime::<Utc>::MIN_UTC));
    assert!(candidates[2].timestamp() > candidates[1].timestamp());
}

#[test]
fn attributes_reach_the_item() {
    let attributes =
        Attributes::new().priority(7).tag("x").relevance(0.25).metadata_entry("thread", "9");
    let candidates = conversation([user("a").attributes(attributes)]).candidates();
    assert_eq!(candidates[0].priority(), Some(7));
    assert_eq!(candidates[0].tags(), ["x"]);
    assert_eq!(candidates[0].future_relevance_hint(), Some(0.25));
    assert_eq!(candidates[0].metadata()["thread"], "9");
}

#[test]
fn other_candidates_and_retrieved_items_keep_the_placers_order() {
    let conversation = conversation([user("a"), user("b")]);
    let item = ContextItem::new("document", 1).unwrap();
    let source = Origin::Source { name: Arc::from("rag"), position: 4 };
    let placed = [
        Origin::Request(3),
        Origin::Request(1),
        source.clone(),
        Origin::Request(2),
        Origin::Request(0),
    ]
    .map(|origin| Placed { item: item.clone(), origin });
    let arranged = conversation.arrange(placed.to_vec());
    assert_eq!(arranged.kept, [0, 1]);
    assert_eq!(arranged.others, [1, 0]);
    assert_eq!(arranged.retrieved, [Placed { item, origin: source }]);
}

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
fn texts_can_be_written_when_they_are_needed() {
    let messages = [user("not looked at"), assistant("call").calls("a"), tool("", "a")];
    let write = |index: usize, content: &mut String| content.push_str(&"x".repeat(index + 1));
    let mut conversation = Conversation::with_texts(&messages, &Rules::new(), write).unwrap();
    let candidates = conversation.take_candidates();
    assert_eq!(contents(&candidates), ["[0] user: x", "[1] assistant: xx\n[2] tool: xxx"]);
    assert!(conversation.candidates().is_empty());
    let placed = Placed { item: candidates[1].clone(), origin: Origin::Request(1) };
    assert_eq!(conversation.arrange(vec![placed]).kept, [1, 2]);
}

#[test]
fn numbers_have_all_their_digits() {
    let conversation = conversation((0..101).map(|_| user("x")));
    let candidates = conversation.candidates();
    let all = contents(&candidates);
    assert_eq!((all[9], all[10], all[100]), ("[9] user: x", "[10] user: x", "[100] user: x"));
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
    let placed = |units: &[usize]| -> Vec<Placed> {
        let place = |unit: &usize| Placed {
            item: candidates[*unit].clone(),
            origin: Origin::Request(*unit),
        };
        units.iter().map(place).collect()
    };
    let why = || "its question was not selected".to_owned();
    assert_eq!(conversation.withdrawn(&placed(&[5, 2, 4, 1, 3])), [(1, why()), (3, why())]);
    assert!(conversation.withdrawn(&placed(&[5, 2, 0, 4, 3])).is_empty());
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

/// A message as they come out of agents that are interrupted, resumed and badly stored.
#[derive(Debug, Clone)]
struct Stored {
    role: Role,
    calls: Vec<String>,
    answers: Vec<String>,
    with_next: bool,
}

impl Stored {
    fn message(&self) -> Message {
        let message = Message::new(self.role, "text", 3);
        let message = self.calls.iter().fold(message, Message::calls);
        let message = self.answers.iter().fold(message, Message::answers);
        if self.with_next { message.with_next() } else { message }
    }
}

fn any_message() -> impl Strategy<Value = Stored> {
    let ids = |count| prop::collection::vec((0..4_u8).prop_map(|id| format!("call_{id}")), count);
    let plain = |role| Stored { role, calls: vec![], answers: vec![], with_next: false };
    prop_oneof![
        1 => Just(plain(Role::System)),
        3 => Just(plain(Role::User)),
        3 => ids(0..3).prop_map(move |calls| Stored { calls, ..plain(Role::Assistant) }),
        4 => ids(1..3).prop_map(move |answers| Stored { answers, ..plain(Role::Tool) }),
        1 => Just(Stored { with_next: true, ..plain(Role::Assistant) }),
    ]
}

/// Every call is answered once, right after it, and every answer has its call.
fn is_accepted<'a>(messages: impl Iterator<Item = &'a Stored>) -> bool {
    let mut open = BTreeSet::new();
    for Stored { calls, answers, .. } in messages {
        if answers.is_empty() && !open.is_empty() {
            return false;
        }
        if !answers.iter().all(|id| open.remove(id)) || !calls.iter().all(|id| open.insert(id)) {
            return false;
        }
    }
    open.is_empty()
}

proptest! {
    #[test]
    fn any_choice_of_units_is_a_conversation_an_api_accepts(
        messages in prop::collection::vec((any_message(), any::<bool>()), 1..30),
    ) {
        let (stored, chosen): (Vec<Stored>, Vec<bool>) = messages.into_iter().unzip();
        let messages = stored.iter().map(Stored::message).collect();
        let mut conversation = Conversation::new(messages, &Rules::new()).unwrap();
        let candidates = conversation.candidates();
        let units: Vec<usize> = (0..candidates.len())
            .filter(|unit| chosen[*unit] || candidates[*unit].pinned())
            .collect();
        let kept = place(&conversation, units.iter().rev().copied());
        prop_assert!(kept.is_sorted());
        prop_assert!(is_accepted(kept.iter().map(|index| &stored[*index])), "{kept:?}");
        // Nothing is lost: every message is a candidate or refused.
        let everything = place(&conversation, 0..candidates.len()).len();
        let refused: usize = conversation
            .take_refused()
            .iter()
            .map(|refused| refused.item.content().lines().count())
            .sum();
        prop_assert_eq!(everything + refused, stored.len());
        prop_assert!(candidates.is_empty() || candidates.iter().any(ContextItem::pinned));
    }
}
