//! Properties of every conversation that only grows.

use cupel::model::{Grid, TurnPlan};
use proptest::prelude::*;
use serde_json::Value;

use crate::arbitrary::conversation;
use crate::responses;
use crate::support::{SentSummary, Settings, problem, text, tokens};

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

/// Tokens of a message on the grid: its long results are excerpts.
fn on_grid(message: &Value, window: i64) -> i64 {
    match message["role"].as_str() {
        Some("system") => 0,
        Some("tool") => tokens(message).min((window / 8).max(48) + 4),
        _ => tokens(message),
    }
}

/// Follows the cut through the calls of a conversation.
#[derive(Default)]
struct Cuts {
    last: Option<usize>,
    moves: i64,
    /// The conversation's length on the grid when it was cut first.
    first: Option<i64>,
}

impl Cuts {
    /// The cut moves once for each line of the grid, if nothing has to give way beyond it.
    fn follow(&mut self, sent: &SentSummary, length: i64, width: i64) -> Result<(), TestCaseError> {
        let Some(cut) = sent.cut().filter(|_| !sent.gave_way()) else {
            *self = Self::default();
            return Ok(());
        };
        self.moves += i64::from(self.last.is_some_and(|last| last != cut));
        self.last = Some(cut);
        let grown = length - *self.first.get_or_insert(length);
        prop_assert!(self.moves <= grown / width + 1, "{} moves in {grown} tokens", self.moves);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        max_shrink_iters: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_call_is_valid_and_begins_as_the_one_before(
        conversation in conversation(),
        window in 300_i64..3_000,
        recall in 0.05_f64..0.5,
        narrow: bool,
        with_sources: bool,
        output in prop_oneof![Just(0), 1_i64..60],
        tools in 0_usize..3,
        is_chat in prop_oneof![2 => Just(true), 1 => Just(false)],
    ) {
        let mut settings = Settings { output, tools, ..Settings::new(window) };
        settings.plan = TurnPlan::new().recall(recall);
        if narrow {
            settings.plan = settings.plan.grid(Grid::Uncached);
        }
        if with_sources {
            settings.documents = vec!["the parcel is blue".into(), "a refund takes a week".into()];
        }
        let send = |messages: &[Value]| match is_chat {
            true => settings.send(messages),
            false => responses::send(&settings, messages),
        };
        let width = settings.plan.width(window);
        let mut before: Option<(usize, SentSummary)> = None;
        let mut cuts = Cuts::default();
        for known in &conversation.calls {
            let messages = &conversation.messages[..*known];
            // Tools take up to 20 tokens each.
            if !is_possible(messages, window - output - 20 * tools as i64) {
                (before, cuts) = (None, Cuts::default());
                continue;
            }
            let sent = send(messages).unwrap();
            prop_assert_eq!(problem(&sent.messages, window - output), None, "{:#?}", sent.messages);
            // Items of Responses are counted by other rules.
            if is_chat {
                prop_assert_eq!(sent.messages.iter().map(tokens).sum::<i64>(), sent.tokens);
            }
            prop_assert!(sent.tokens + sent.fixed_tokens + output <= window);
            let asked = text(&messages[question(messages)]);
            prop_assert!(sent.question().ends_with(&asked));
            let newest = messages.last().unwrap();
            let there = sent.messages.last().unwrap();
            prop_assert_eq!(&newest["role"], &there["role"]);
            prop_assert_eq!(&newest["tool_call_id"], &there["tool_call_id"]);
            let whole = messages.iter().map(tokens).sum::<i64>() + sent.fixed_tokens + output;
            if !with_sources && whole <= window && (is_chat || sent.plan.whole) {
                prop_assert_eq!(&sent.messages[..], messages);
            }
            // The same bytes again, from another instance.
            if known % 5 == 0 {
                prop_assert_eq!(&send(messages).unwrap().json, &sent.json);
            }
            if let Some((earlier, before)) = &before {
                let same_question = question(messages) == question(&messages[..*earlier]);
                let held = sent.cut() == before.cut() && !sent.gave_way() && !before.gave_way();
                // The report takes the call before for this one without what the model wrote last.
                let since: Vec<_> = messages[*earlier..].iter().map(|m| m["role"] == "assistant").collect();
                let follows = since[0] && !since[1..].contains(&true);
                if held && !sent.plan.whole && follows {
                    prop_assert_eq!(sent.plan.broke, None);
                }
                if sent.plan.broke.is_none() && follows || held && !sent.plan.whole {
                    // All of it in a tool loop; otherwise all before what was recalled then.
                    let asked = question(&before.messages);
                    let end = if same_question { before.messages.len() } else { asked };
                    let (then, now) = (rendered(&before.messages[..end]), rendered(&sent.messages));
                    prop_assert!(now.starts_with(&then), "{}\n{}", then, now);
                }
            }
            let length = messages.iter().map(|message| on_grid(message, window)).sum();
            cuts.follow(&sent, length, width)?;
            before = Some((*known, sent));
        }
    }
}
