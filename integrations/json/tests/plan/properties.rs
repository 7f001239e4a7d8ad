//! What holds for every conversation that only grows.

use cupel::model::{Grid, TurnPlan};
use proptest::prelude::*;
use serde_json::Value;

use crate::arbitrary::conversation;
use crate::support::{Sent, Settings, problem, text, tokens};

fn question(messages: &[Value]) -> usize {
    messages.iter().rposition(|message| message["role"] == "user").unwrap()
}

/// Head, question and the smallest excerpt of the newest result fit.
fn is_possible(messages: &[Value], window: i64) -> bool {
    let question = question(messages);
    let calls = messages.iter().rposition(|message| message["role"] != "tool").unwrap();
    let newest = messages[calls..].iter().map(|message| match message["role"].as_str() {
        Some("tool") => tokens(message).min(40),
        _ => tokens(message),
    });
    let newest = if calls == question { 0 } else { newest.sum() };
    3 + tokens(&messages[0]) + tokens(&messages[question]) + newest <= window
}

/// The messages as they were sent.
fn rendered(messages: &[Value]) -> String {
    messages.iter().map(|message| format!("{message}\n")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_call_is_valid_and_begins_as_the_one_before(
        conversation in conversation(),
        window in 300_i64..3_000,
        recall in 0.05_f64..0.5,
        width in prop_oneof![Just(None), (5_u32..10).prop_map(Some)],
        with_sources: bool,
    ) {
        let mut settings = Settings::new(window);
        settings.plan = TurnPlan::new().recall(recall);
        if let Some(width) = width {
            settings.plan = settings.plan.grid(Grid::Tokens(1 << width));
        }
        if with_sources {
            settings.documents = vec!["the parcel is blue".into(), "a refund takes a week".into()];
        }
        let mut before: Option<(usize, Sent)> = None;
        let mut moves = 0;
        for known in &conversation.calls {
            let messages = &conversation.messages[..*known];
            if !is_possible(messages, window) {
                before = None;
                continue;
            }
            let sent = settings.send(messages).unwrap();
            prop_assert_eq!(problem(&sent.messages, window), None, "{:#?}", sent.messages);
            prop_assert_eq!(sent.messages.iter().map(tokens).sum::<i64>(), sent.tokens);
            let asked = text(&messages[question(messages)]);
            prop_assert!(sent.question().ends_with(&asked));
            let newest = messages.last().unwrap();
            let there = sent.messages.last().unwrap();
            prop_assert_eq!(&newest["role"], &there["role"]);
            prop_assert_eq!(&newest["tool_call_id"], &there["tool_call_id"]);
            let whole = messages.iter().map(tokens).sum::<i64>() + 3;
            if !with_sources && whole <= window {
                prop_assert_eq!(&sent.messages[..], messages);
            }
            // The same bytes again, from another instance.
            if known % 3 == 0 {
                prop_assert_eq!(&settings.send(messages).unwrap().json, &sent.json);
            }
            if let Some((earlier, before)) = &before {
                moves += usize::from(sent.plan.broke.is_some());
                let same_question = question(messages) == question(&messages[..*earlier]);
                if sent.plan.broke.is_none() {
                    // All of it in a tool loop; otherwise all before what was recalled then.
                    let asked = question(&before.messages);
                    let end = if same_question { before.messages.len() } else { asked };
                    let (then, now) = (rendered(&before.messages[..end]), rendered(&sent.messages));
                    prop_assert!(now.starts_with(&then), "{}\n{}", then, now);
                }
            }
            before = Some((*known, sent));
        }
        let width = settings.plan.width(window);
        let grown: i64 = conversation.messages.iter().map(tokens).sum();
        // Once for each line of the grid, and once for each thing that gives way and comes back.
        let most = grown / width + 2 * i64::try_from(conversation.calls.len()).unwrap() / 3 + 4;
        prop_assert!(i64::try_from(moves).unwrap() <= most, "{moves} moves, {grown} tokens");
    }
}
