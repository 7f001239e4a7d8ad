//! Messages that stay, and stay unchanged.

use cupel::conversation::{Attributes, Exchanges};
use rig_core::message::{
    AssistantContent, AssistantMessage, Message, Opaque, Origin, Reasoning, StopReason, Text,
    UserContent,
};
use rig_core::transcript::validate_canonical;

use crate::select::{adapter, answers, calls, request, select, tool_call, try_select};
use crate::support::filler;

const PLENTY: i64 = 10_000;

/// Everything a provider may have signed.
fn signed() -> Message {
    let reasoning = AssistantContent::Reasoning(Reasoning::new("Let me see.")).with_native(
        serde_json::json!({ "type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk" }),
    );
    let text = AssistantContent::Text(Text::new("I will look."))
        .with_native(serde_json::json!({ "type": "text", "id": "msg_1" }));
    let call = AssistantContent::ToolCall(tool_call("a"))
        .with_native(serde_json::json!({ "type": "function_call", "id": "fc_1" }));
    let opaque = AssistantContent::Opaque(Opaque {
        item: serde_json::json!({ "type": "search" }),
        replay: true,
    });
    let turn = AssistantMessage::new(vec![reasoning, text, opaque, call])
        .with_origin(Origin::new("some.api", "some", "model"))
        .with_stop(StopReason::ToolUse);
    Message::Assistant(turn)
}

#[tokio::test]
async fn what_a_provider_signed_comes_out_as_it_went_in() {
    let history = vec![
        Message::system("Be brief."),
        Message::user("What is there?"),
        signed(),
        answers(&["a"], "nothing"),
    ];
    let (sent, _) = select(request(history.clone()), PLENTY).await;
    assert_eq!(sent.chat_history, history);
    let Message::Assistant(turn) = &sent.chat_history[2] else { panic!() };
    assert!(turn.content[0].native_item().is_some(), "the signature still fits its block");
    assert!(turn.content[3].native_item().is_some());
}

#[tokio::test]
async fn everything_else_in_the_request_is_left_alone() {
    let mut before = request(vec![Message::user("Hello")])
        .temperature(0.3)
        .max_tokens(77)
        .model("gpt-4o")
        .additional_params(serde_json::json!({ "top_k": 5 }));
    before.output_schema = Some(serde_json::from_str(r#"{"title":"Answer"}"#).unwrap());
    let expected = serde_json::to_value(&before).unwrap();
    let (sent, _) = select(before, PLENTY).await;
    assert_eq!(serde_json::to_value(&sent).unwrap(), expected);
}

#[tokio::test]
async fn an_exchange_that_is_over_can_go_as_a_whole() {
    let history = vec![
        Message::user(format!("first {}", filler(20))),
        calls(&["a"]),
        answers(&["a"], "found"),
        Message::assistant("one"),
        Message::user("second"),
        Message::assistant("two"),
        Message::user("third"),
    ];
    // All but the first exchange: second 5, two 5, third 5, priming 3.
    let whole = adapter().rules(|rules| rules.exchanges(Exchanges::Whole));
    let selected = try_select(request(history.clone()), whole, 20, Vec::new()).await;
    let (sent, selection) = selected.unwrap();
    assert_eq!(sent.chat_history, history[4..]);
    assert_eq!(selection.report.excluded.len(), 1);
    let gone = selection.report.excluded[0].item.content();
    assert!(gone.starts_with("[0] user: first") && gone.ends_with("[3] assistant: one"), "{gone}");
}

#[tokio::test]
async fn answers_never_come_to_stand_next_to_each_other() {
    // The second question is long and the answers are short: alone it would be the first to go.
    let history = vec![
        Message::user("first"),
        Message::assistant("one"),
        Message::user(filler(50)),
        Message::assistant("two"),
        Message::user("third"),
    ];
    let (sent, _) = select(request(history.clone()), 25).await;
    validate_canonical(&sent.chat_history).unwrap();
    assert_eq!(sent.chat_history, [&history[..2], &history[4..]].concat());
    // A rule that is changed leaves the others as they are.
    let unpinned = adapter().rules(|rules| rules.pin_latest(false));
    let (sent, _) = try_select(request(history.clone()), unpinned, 25, Vec::new()).await.unwrap();
    validate_canonical(&sent.chat_history).unwrap();
    // Message by message that is what happens, if one asks for it.
    let single = adapter().rules(|rules| rules.exchanges(Exchanges::Apart));
    let (sent, _) = try_select(request(history), single, 25, Vec::new()).await.unwrap();
    assert!(validate_canonical(&sent.chat_history).is_err());
}

/// Six small exchanges, a long question, and steps of which one has the user's words beside it.
fn interrupted_run() -> Vec<Message> {
    let mut words = answers(&["a"], &filler(10));
    if let Message::User { content } = &mut words {
        content.push(UserContent::text("and hurry"));
    }
    let small = |n: usize| [Message::user(format!("q{n}")), Message::assistant("a")];
    let run = [
        Message::user(format!("the question {}", filler(40))),
        calls(&["a"]),
        words,
        calls(&["b"]),
        answers(&["b"], "found"),
    ];
    (0..6).flat_map(small).chain(run).collect()
}

#[tokio::test]
async fn the_question_and_the_last_words_stay_where_smaller_messages_would_win() {
    let history = interrupted_run();
    // Pinned are the question (46), the words with their call (10 + 23) and the last step (10 + 8),
    // and 3 prime the answer. An exchange of 10 has more score to the token, but there is no room.
    let (sent, selection) = select(request(history.clone()), 46 + 33 + 18 + 3 + 9).await;
    validate_canonical(&sent.chat_history).unwrap();
    assert_eq!(sent.chat_history, history[12..]);
    assert_eq!(selection.report.excluded.len(), 6);
    // One token more, and one of them fits.
    let (sent, _) = select(request(history.clone()), 46 + 33 + 18 + 3 + 10).await;
    assert_eq!(sent.chat_history, history[10..]);
}

#[tokio::test]
async fn what_no_provider_takes_is_refused_with_the_reason() {
    let history = vec![
        Message::user("first"),
        calls(&["lost"]),
        Message::user("second"),
        answers(&["nobody"], "result"),
        calls(&["a", "b"]),
        answers(&["a"], "half of it"),
        Message::user("third"),
    ];
    let (sent, selection) = select(request(history.clone()), PLENTY).await;
    assert_eq!(sent.chat_history, [&history[0], &history[2], &history[6]].map(Clone::clone));
    let reasons: Vec<String> =
        selection.report.excluded.iter().map(|e| e.reason.to_string()).collect();
    assert_eq!(reasons.len(), 3);
    for why in
        ["\"lost\" without its result", "result without its tool call \"nobody\"", "\"b\" without"]
    {
        assert!(reasons.iter().any(|reason| reason.contains(why)), "{why} in {reasons:?}");
    }
}

#[tokio::test]
async fn a_hook_says_what_messages_are_worth() {
    let history: Vec<Message> = (0..6)
        .flat_map(|n| [Message::user(format!("question {n}")), Message::assistant("yes")])
        .chain([Message::user("last")])
        .collect();
    let keep_first = adapter().message_attributes(|message| match message {
        Message::User { content } if *content == [UserContent::text("question 0")] => {
            Attributes::new().pinned(true).tag("kept")
        }
        _ => Attributes::new(),
    });
    let (sent, selection) =
        try_select(request(history.clone()), keep_first, 20, Vec::new()).await.unwrap();
    assert_eq!(sent.chat_history, [&history[0], &history[1], &history[12]].map(Clone::clone));
    assert!(selection.report.included.iter().any(|included| included.item.tags() == ["kept"]));
}

#[tokio::test]
async fn equal_messages_are_not_duplicates() {
    let history = vec![
        Message::user("more"),
        Message::assistant("yes"),
        Message::user("more"),
        Message::assistant("yes"),
        Message::user("more"),
    ];
    let (sent, _) = select(request(history.clone()), PLENTY).await;
    assert_eq!(sent.chat_history, history);
}

/// Four pages of forty words, and a short answer.
fn long_run() -> Vec<Message> {
    let mut history = vec![Message::user("Read the book")];
    for page in ["1", "2", "3", "4"] {
        history.extend([calls(&[page]), answers(&[page], &filler(40))]);
    }
    history.push(Message::assistant("The keeper tells it."));
    history
}

#[tokio::test]
async fn a_run_that_is_over_and_too_large_leaves_its_question_and_its_answer() {
    let mut history = long_run();
    history.push(Message::user("Why?"));
    let (sent, selection) = select(request(history.clone()), 150).await;
    validate_canonical(&sent.chat_history).unwrap();
    for index in [0, 9, 10] {
        assert!(sent.chat_history.contains(&history[index]), "{index}");
    }
    assert!(sent.chat_history.len() < history.len());
    assert!(selection.report.excluded.iter().all(|out| out.reason.name() == "BudgetExceeded"));
}

#[tokio::test]
async fn when_an_agent_asks_again_in_the_users_name_the_question_is_still_there() {
    // As rig does for output in the right form: the run goes on after a user's message.
    let mut history = long_run();
    history.pop();
    history.push(Message::user("Provide your final answer by calling the tool."));
    let (sent, _) = select(request(history.clone()), 150).await;
    validate_canonical(&sent.chat_history).unwrap();
    assert!(sent.chat_history.contains(&history[0]));
}

#[tokio::test]
async fn steps_without_their_question_are_withdrawn() {
    let history = vec![
        Message::user(filler(100)),
        calls(&["a"]),
        answers(&["a"], "nothing"),
        Message::assistant("Nothing there."),
        Message::user("Why?"),
    ];
    let (sent, selection) = select(request(history.clone()), 40).await;
    assert_eq!(sent.chat_history, history[4..]);
    let reasons: Vec<String> =
        selection.report.excluded.iter().map(|out| out.reason.to_string()).collect();
    assert!(
        reasons.iter().any(|why| why.contains("what it needs was not selected")),
        "{reasons:?}"
    );
    assert_eq!(selection.report.included.len(), 1);
}

#[tokio::test]
async fn instructions_between_a_call_and_its_result_part_nothing() {
    let history = vec![
        Message::user("What is there?"),
        calls(&["a"]),
        Message::system("Be brief."),
        answers(&["a"], "nothing"),
    ];
    validate_canonical(&history).unwrap();
    let (sent, _) = select(request(history.clone()), PLENTY).await;
    assert_eq!(sent.chat_history, history);
}

#[tokio::test]
async fn words_beside_a_result_that_cannot_be_sent_stay() {
    let words = |mut results: Message| {
        let Message::User { content } = &mut results else { panic!() };
        content.push(UserContent::text("what now?"));
        results
    };
    let orphan = vec![words(answers(&["gone"], "late"))];
    let half = vec![Message::user("q"), calls(&["a", "b"]), words(answers(&["a"], "one"))];
    for history in [orphan, half] {
        let (sent, selection) = select(request(history), PLENTY).await;
        assert_eq!(sent.chat_history.last(), Some(&Message::user("what now?")));
        validate_canonical(&sent.chat_history).unwrap();
        assert!(
            selection
                .report
                .excluded
                .iter()
                .any(|out| out.item.content().contains("result of look"))
        );
    }
    let whole = vec![Message::user("q"), calls(&["a"]), words(answers(&["a"], "one"))];
    let (sent, _) = select(request(whole.clone()), PLENTY).await;
    assert_eq!(sent.chat_history, whole);
}

#[tokio::test]
async fn a_history_of_which_nothing_can_be_sent_is_an_error() {
    let error = try_select(request(vec![calls(&["a"])]), adapter(), PLENTY, Vec::new()).await;
    let text = error.unwrap_err().to_string();
    let expected = "the API would refuse all 1 messages; the first: ";
    assert!(text.contains(expected), "{text}");
}

#[tokio::test]
async fn an_empty_message_is_not_the_question() {
    let history = vec![
        Message::user("What is there?"),
        calls(&["a"]),
        answers(&["a"], &filler(60)),
        Message::User { content: Vec::new() },
    ];
    let (sent, _) = select(request(history.clone()), 40).await;
    assert!(sent.chat_history.contains(&history[0]));
}
