//! Standing orders in Chat Completions and Responses.

use serde_json::Value;

use crate::responses;
use crate::support::{
    SentSummary, Settings, assistant, filler, problem, system, text, tokens, user,
};

const ORDER: &str = "Never touch the production branch.";

fn long(turns: usize) -> Vec<Value> {
    let mut messages = vec![system("Be brief."), user(ORDER), assistant("Noted.")];
    for turn in 0..turns {
        messages.push(user(&filler(&format!("q{turn}x"), 20)));
        messages.push(assistant(&filler(&format!("a{turn}x"), 20)));
    }
    messages.push(user("Deploy it."));
    messages
}

fn both(messages: &[Value]) -> [SentSummary; 2] {
    let settings = Settings::new(1_000);
    [settings.send(messages).unwrap(), responses::send(&settings, messages).unwrap()]
}

#[test]
fn an_order_from_long_ago_is_the_first_text_behind_the_cut() {
    for sent in both(&long(60)) {
        assert_eq!(problem(&sent.messages, 1_000), None);
        let first = sent.messages.iter().find(|message| message["role"] == "user").unwrap();
        let content = text(first);
        assert!(content.starts_with("<standing>\n"), "{content}");
        assert!(content.contains(&format!("\n[1] {ORDER}\n</standing>\n\nq")), "{content}");
        assert!(first["content"].is_string(), "a text stays a text: {first}");
        let block = sent.plan.standing.as_ref().unwrap();
        assert_eq!(block.orders.len(), 1);
        assert_eq!(sent.messages.iter().filter(|it| text(it).contains(ORDER)).count(), 1);
        let read: i64 = sent.messages.iter().map(tokens).sum();
        assert!(read <= sent.tokens && sent.tokens <= 1_000, "{read} of {}", sent.tokens);
    }
}

#[test]
fn a_conversation_that_fits_is_sent_as_it_came() {
    let messages = long(3);
    for sent in both(&messages) {
        assert_eq!(sent.messages, messages);
    }
}

#[test]
fn orders_stand_before_what_is_recalled() {
    // Messages are so long that the question is the first one of the user that is sent.
    let mut messages = vec![user(ORDER), assistant("Noted."), user("The key is under the mat.")];
    for turn in 0..4 {
        messages.push(assistant(&filler(&format!("a{turn}x"), 400)));
        messages.push(user(&filler(&format!("q{turn}x"), 400)));
    }
    messages.push(assistant(&filler("b", 400)));
    messages.push(user("Where is the key?"));
    let sent = Settings::new(1_000).send(&messages).unwrap();
    let question = sent.question();
    let [standing, recalled] = ["<standing>", "<recalled>"].map(|frame| question.find(frame));
    assert_eq!(standing, Some(0), "{question}");
    assert!(recalled > standing, "{question}");
    assert!(question.ends_with("Where is the key?"));
}

#[test]
fn requests_begin_alike_while_the_cut_stays() {
    let all = long(150);
    let mut before: Option<SentSummary> = None;
    let mut same = 0;
    for turn in 110..140 {
        let mut messages = all[..3 + 2 * turn].to_vec();
        messages.push(user("Deploy it."));
        let sent = Settings::new(4_000).send(&messages).unwrap();
        assert!(sent.plan.standing.is_some());
        if let Some(before) = before.filter(|before| before.cut() == sent.cut()) {
            let known = before.messages.len() - 1;
            assert_eq!(sent.messages[..known], before.messages[..known]);
            same += 1;
        }
        before = Some(sent);
    }
    assert!(same > 10, "{same}");
}
