//! Choice of tools for a conversation, seen from outside.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)]

use cupel::model::ToolLimit;
use cupel::tool_choice::{
    ToolCandidate, ToolChoice, ToolExchange, ToolOffer, ToolReason, ToolReport, ToolVerdict,
    choose_tools,
};
use proptest::prelude::*;

const TOOLS: [(&str, &str); 10] = [
    ("mail_search", "Searches messages in the mailbox by sender or subject."),
    ("mail_send", "Sends a message to a person."),
    ("calendar_create", "Books a meeting and invites people."),
    ("calendar_list", "Lists the meetings of a day."),
    ("files_read", "Reads a document as text."),
    ("files_share", "Shares a document with a person."),
    ("travel_flights", "Searches flights between two cities."),
    ("travel_hotels", "Searches hotels in a city."),
    ("money_refund", "Pays an amount back to a customer."),
    ("weather", "Weather forecast of a city."),
];

fn tools() -> Vec<ToolCandidate> {
    TOOLS.iter().map(|(name, text)| ToolCandidate::new(*name, *text, 10)).collect()
}

fn names(choice: &ToolChoice) -> Vec<&'static str> {
    choice.kept.iter().map(|at| TOOLS[*at].0).collect()
}

fn choose(tokens: i64, exchanges: &[ToolExchange]) -> Vec<&'static str> {
    names(&choose_tools(&tools(), exchanges, &ToolLimit::new(), tokens))
}

#[test]
fn the_tools_that_the_question_names_are_in_view_in_their_order() {
    let asked = [ToolExchange::new("Which flights are there to Oslo, and how is the weather?")];
    assert_eq!(choose(20, &asked), ["travel_flights", "weather"]);
}

#[test]
fn a_call_changes_nothing_within_its_exchange() {
    let asked = ToolExchange::new("Which flights are there to Oslo?");
    let before = choose(40, std::slice::from_ref(&asked));
    assert_eq!(choose(40, &[asked.call("travel_flights").call("weather")]), before);
}

#[test]
fn an_answer_without_a_tools_word_changes_nothing() {
    let asked = ToolExchange::new("Which flights are there to Oslo?").call("travel_flights");
    let before = choose(40, std::slice::from_ref(&asked));
    for answer in ["Yes, the first one.", "", "Thanks!"] {
        assert_eq!(choose(40, &[asked.clone(), ToolExchange::new(answer)]), before, "{answer}");
    }
}

#[test]
fn another_subject_brings_its_tools_and_keeps_those_that_were_called() {
    let asked = ToolExchange::new("Which flights are there to Oslo?").call("travel_flights");
    let set = choose(30, &[asked, ToolExchange::new("Share the document with Bo.")]);
    assert!(set.contains(&"travel_flights") && set.contains(&"files_share"), "{set:?}");
}

#[test]
fn a_tool_like_one_that_was_called_comes_before_others() {
    let asked = ToolExchange::new("Refund the customer.").call("travel_flights");
    let choice = choose_tools(&tools(), &[asked.clone(), asked], &ToolLimit::new(), 10);
    let score =
        |name: &str| choice.verdicts[TOOLS.iter().position(|tool| tool.0 == name).unwrap()].score;
    assert!(score("travel_hotels") > score("weather"));
}

#[test]
fn what_must_stay_stays_whatever_it_takes() {
    let mut tools = tools();
    tools.push(ToolCandidate::new("web_search", "", 0).keep(ToolReason::Hosted));
    tools.push(ToolCandidate::new("later", "", 500).keep(ToolReason::Deferred));
    let limit = ToolLimit::new().keep("mail_*");
    let asked = [ToolExchange::new("How is the weather?").call("money_refund")];
    let choice = choose_tools(&tools, &asked, &limit, 0);
    assert_eq!(choice.kept, [0, 1, 8, 10, 11]);
    let reasons = [0, 8, 10, 11].map(|at| choice.verdicts[at].reason);
    use ToolReason::{Called, Deferred, Hosted, Pinned};
    assert_eq!(reasons, [Pinned, Called, Hosted, Deferred]);
}

#[test]
fn one_tool_stays_where_there_is_room_for_none() {
    assert_eq!(choose(0, &[ToolExchange::new("How is the weather?")]), ["weather"]);
    assert_eq!(choose(0, &[]), ["mail_search"]);
    assert!(choose_tools(&[], &[], &ToolLimit::new(), 5).kept.is_empty());
}

#[test]
fn a_call_of_a_tool_in_a_group_is_a_call_of_the_group() {
    let mut tools = tools();
    tools.push(ToolCandidate::new("crm", "Customers.", 10).inner("lookup_customer"));
    let asked = [ToolExchange::new("How is the weather?").call("lookup_customer")];
    let choice = choose_tools(&tools, &asked, &ToolLimit::new(), 10);
    assert_eq!(choice.verdicts[10].reason, ToolReason::Called);
}

#[test]
fn types_of_the_room_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + std::fmt::Debug>() {}
    shared::<(ToolCandidate, ToolChoice, ToolExchange, ToolOffer)>();
    shared::<(ToolReport, ToolVerdict, ToolReason, ToolLimit)>();
}

fn exchanges() -> impl Strategy<Value = Vec<ToolExchange>> {
    let word = prop::sample::select(vec![
        "mail", "message", "meeting", "document", "flight", "hotel", "customer", "weather", "city",
        "yes", "share", "",
    ]);
    let words = prop::collection::vec(word, 0..4);
    let calls = prop::collection::vec(0..TOOLS.len(), 0..3);
    let exchange = (words, calls).prop_map(|(words, calls)| {
        let asked = ToolExchange::new(words.join(" "));
        calls.into_iter().fold(asked, |asked, at| asked.call(TOOLS[at].0))
    });
    prop::collection::vec(exchange, 0..8)
}

proptest! {
    #[test]
    fn a_choice_keeps_what_it_must_and_takes_no_more_than_it_may(
        exchanges in exchanges(), tokens in 0_i64..120, sizes in prop::collection::vec(0_i64..40, 10),
    ) {
        let tools: Vec<ToolCandidate> = TOOLS.iter().zip(sizes)
            .map(|((name, text), size)| ToolCandidate::new(*name, *text, size)).collect();
        let choice = choose_tools(&tools, &exchanges, &ToolLimit::new(), tokens);
        prop_assert!(!choice.kept.is_empty());
        prop_assert!(choice.kept.is_sorted());
        for name in exchanges.iter().flat_map(|exchange| &exchange.calls) {
            let at = TOOLS.iter().position(|tool| tool.0 == name).unwrap();
            prop_assert!(choice.kept.contains(&at));
        }
        let free = choice.kept.iter().filter(|at| choice.verdicts[**at].reason == ToolReason::Relevant);
        let free: i64 = free.map(|at| tools[*at].tokens()).sum();
        prop_assert!(free <= tokens || choice.kept.len() == 1);
        // Once more, with everything cached.
        prop_assert_eq!(&choose_tools(&tools, &exchanges, &ToolLimit::new(), tokens), &choice);
    }

    #[test]
    fn the_newest_calls_never_change_the_set(exchanges in exchanges(), tokens in 10_i64..80) {
        prop_assume!(!exchanges.is_empty());
        let tools = tools();
        let whole = choose_tools(&tools, &exchanges, &ToolLimit::new(), tokens);
        let mut before = exchanges.clone();
        let asked = before.last_mut().unwrap();
        // The model calls what it sees.
        let seen: Vec<String> = asked.calls.clone();
        asked.calls.clear();
        let bare = choose_tools(&tools, &before, &ToolLimit::new(), tokens);
        let all_seen = seen.iter().all(|name| names(&bare).contains(&&**name));
        prop_assume!(all_seen);
        prop_assert_eq!(whole.kept, bare.kept);
    }
}
