//! Long histories, looked at as far back as it makes sense.

use rig_core::message::{Message, UserContent};
use rig_core::transcript::validate_canonical;

use crate::select::{adapter, answers, calls, request, try_select};
use crate::support::filler;

const PLENTY: i64 = 100_000;

#[tokio::test]
async fn older_messages_are_not_looked_at_and_the_report_says_how_many() {
    let history: Vec<Message> = (0..50)
        .flat_map(|n| [Message::user(format!("question {n}")), Message::assistant(filler(10))])
        .chain([Message::user("last")])
        .collect();
    // An exchange is 2 + 3 + 10 + 3 tokens, and the last message 4.
    let near = adapter().horizon(40);
    let (sent, selection) =
        try_select(request(history.clone()), near, PLENTY, vec![]).await.unwrap();
    assert_eq!(sent.chat_history, history[96..], "two exchanges reach over the horizon");
    assert_eq!(selection.report.excluded.len(), 1);
    assert_eq!(selection.report.excluded[0].item.content(), "96 older messages");
    assert_eq!(selection.report.excluded[0].reason.to_string(), "Filtered: by horizon");
}

#[tokio::test]
async fn instructions_and_the_question_are_found_however_far_back() {
    let steps = (0..40).flat_map(|n| {
        let id = n.to_string();
        [calls(&[&id]), answers(&[&id], &filler(20))]
    });
    let history: Vec<Message> = [
        Message::system("Be brief."),
        Message::user("old"),
        Message::assistant("answer"),
        Message::user("the question"),
    ]
    .into_iter()
    .chain(steps)
    .collect();
    let near = adapter().horizon(60);
    let (sent, _) = try_select(request(history.clone()), near, PLENTY, vec![]).await.unwrap();
    validate_canonical(&sent.chat_history).unwrap();
    // Steps are 8 + 24 tokens: two of them, whole.
    let expected = [&history[0], &history[3]].into_iter().chain(&history[80..]);
    assert_eq!(sent.chat_history, expected.cloned().collect::<Vec<_>>());
}

#[tokio::test]
async fn words_beside_a_result_are_found_with_their_call() {
    let mut both = answers(&["a"], "found");
    if let Message::User { content } = &mut both {
        content.push(UserContent::text("and hurry"));
    }
    let steps = (0..10).flat_map(|n| {
        let id = n.to_string();
        [calls(&[&id]), answers(&[&id], &filler(20))]
    });
    let history: Vec<Message> =
        [Message::user("the question"), calls(&["a"]), both].into_iter().chain(steps).collect();
    let near = adapter().horizon(10);
    let (sent, _) = try_select(request(history.clone()), near, PLENTY, vec![]).await.unwrap();
    validate_canonical(&sent.chat_history).unwrap();
    assert_eq!(sent.chat_history, [&history[..3], &history[21..]].concat());
}

#[tokio::test]
async fn a_history_within_the_horizon_is_looked_at_whole() {
    let history = vec![Message::user("a"), Message::assistant("b"), Message::user("c")];
    let far = adapter().horizon(1_000);
    let (sent, selection) =
        try_select(request(history.clone()), far, PLENTY, vec![]).await.unwrap();
    assert_eq!((sent.chat_history, selection.report.excluded.len()), (history, 0));
}
