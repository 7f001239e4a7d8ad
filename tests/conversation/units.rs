//! Units as candidates, and back in the order in which they are sent.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use cupel::conversation::{Attributes, Conversation, Message, Rules};
use cupel::model::{Origin, PlacedItem};
use cupel::{ContextItem, ContextKind, ContextSource};

use crate::common::{assistant, contents, conversation, system, tool, user};

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
    .map(|origin| PlacedItem { item: item.clone(), origin });
    let arranged = conversation.arrange(&placed);
    assert_eq!(arranged.kept, [0, 1]);
    assert_eq!(arranged.documents, [1, 0]);
    assert_eq!(arranged.retrieved, [PlacedItem { item, origin: source }]);
}

#[test]
fn texts_can_be_written_when_they_are_needed() {
    let messages = vec![user("not looked at"), assistant("call").calls("a"), tool("", "a")];
    let write =
        |index: usize, _: &Message, content: &mut String| content.push_str(&"x".repeat(index + 1));
    let mut conversation = Conversation::with_texts(messages, &Rules::new(), write).unwrap();
    let candidates = conversation.take_candidates();
    assert_eq!(contents(&candidates), ["[0] user: x", "[1] assistant: xx\n[2] tool: xxx"]);
    assert!(conversation.candidates().is_empty());
    let placed = PlacedItem { item: candidates[1].clone(), origin: Origin::Request(1) };
    assert_eq!(conversation.arrange(&[placed]).kept, [1, 2]);
}

#[test]
fn numbers_have_all_their_digits() {
    let conversation = conversation((0..101).map(|_| user("x")));
    let candidates = conversation.candidates();
    let all = contents(&candidates);
    assert_eq!((all[9], all[10], all[100]), ("[9] user: x", "[10] user: x", "[100] user: x"));
}
