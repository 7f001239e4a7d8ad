//! Ten turns with tools, of which the third does not fit any more, with messages that are scored.

use std::sync::atomic::{AtomicUsize, Ordering};

use cupel::diagnostics::ExclusionReason;
use rig_agent::AgentBuilder;
use rig_core::message::{AssistantContent, Message};
use rig_core::transcript::validate_canonical;

use crate::run::{
    ALL, Mode, PREAMBLE, QUESTION, Seen, agent, budget, finish, is_question, results, scoring,
};
use crate::support::model::{LocalModel, call, local, size_of};
use crate::support::tools::{ReadPage, page};

const TURNS: usize = 10;
/// Tokens of the window: two pages do not fit if one of them is the long one.
const ROOM: i64 = 320;

/// Reads ten pages, one a turn, and then answers.
fn reader() -> LocalModel {
    let turn = AtomicUsize::new(0);
    local(ROOM, move |_| match turn.fetch_add(1, Ordering::Relaxed) + 1 {
        number @ ..=TURNS => {
            vec![call(format!("call-{number}"), "read_page", serde_json::json!({ "page": number }))]
        }
        _ => vec![AssistantContent::text("The lighthouse keeper tells it to his daughter.")],
    })
}

#[tokio::test]
async fn without_the_layer_the_third_turn_does_not_fit() {
    let model = reader();
    let agent = AgentBuilder::new(model).preamble(PREAMBLE).tool(ReadPage).build();
    for mode in [Mode::Whole, Mode::Streamed] {
        let error = finish(agent.prompt(QUESTION).max_turns(20), mode).await.unwrap_err();
        assert!(error.to_string().contains("exceed the window of 320"), "{error}");
    }
}

#[tokio::test]
async fn with_it_ten_turns_run_to_the_answer() {
    for (way, mode) in ALL {
        let seen = Seen::default();
        let agent = agent(way, reader(), scoring(budget(ROOM), &seen), &seen);
        let runner = agent.prompt(QUESTION).max_turns(20);
        let response = finish(runner, mode).await.unwrap_or_else(|error| {
            panic!("{way:?}, {mode:?}: {error}");
        });
        assert_eq!(response.output(), "The lighthouse keeper tells it to his daughter.");

        let sent = seen.sent.all();
        assert_eq!(sent.len(), TURNS + 1, "{way:?}, {mode:?}");
        for (turn, request) in sent.iter().enumerate() {
            // What we send, before rig repairs anything.
            validate_canonical(&request.chat_history).unwrap();
            assert_eq!(request.chat_history[0], Message::system(PREAMBLE));
            assert_eq!(request.chat_history.iter().filter(|m| is_question(m)).count(), 1);
            assert_eq!(request.tools.len(), 1, "tools are never trimmed");
            assert!(size_of(request) <= ROOM);
            // The newest result is there, whole.
            assert_eq!(results(request).last(), (turn > 0).then(|| page(turn)).as_ref());
        }
        // The first two turns lose nothing; from the third on something is left out.
        assert_eq!(sent[1].chat_history.len(), 4);
        assert!(sent[2..].iter().enumerate().all(|(n, r)| r.chat_history.len() < 2 * (n + 3)));

        // What the agent itself remembers is whole: question, ten calls, ten results, answer.
        assert_eq!(response.messages().len(), 1 + 2 * TURNS + 1);
        validate_canonical(response.messages()).unwrap();
    }
}

#[tokio::test]
async fn the_report_explains_every_turn() {
    for (way, mode) in ALL {
        let seen = Seen::default();
        let agent = agent(way, reader(), scoring(budget(ROOM), &seen), &seen);
        finish(agent.prompt(QUESTION).max_turns(20), mode).await.unwrap();

        let selections = seen.selections.all();
        assert_eq!(selections.len(), TURNS + 1, "one report a turn: {way:?}, {mode:?}");
        for (turn, (selection, request)) in selections.iter().zip(seen.sent.all()).enumerate() {
            // System text, question, and one unit for every call and its result so far.
            assert_eq!(selection.report.total_candidates, 2 + turn);
            assert_eq!(selection.report.included.len() + selection.report.excluded.len(), 2 + turn);
            // Every step is in the report, sent or not, and every one that is not has a reason.
            for step in 1..=turn {
                let is_step = |content: &str| content.contains(&format!("page-{step} "));
                let kept = selection.report.included.iter().any(|i| is_step(i.item.content()));
                let dropped = selection.report.excluded.iter().find(|e| is_step(e.item.content()));
                assert_eq!(kept, results(&request).contains(&page(step)));
                assert_eq!(kept, dropped.is_none());
                let reason = dropped.map(|excluded| &excluded.reason);
                assert!(
                    reason.is_none_or(|r| matches!(
                        r,
                        ExclusionReason::BudgetExceeded { .. }
                            | ExclusionReason::PinnedOverride { .. }
                    )),
                    "{reason:?}"
                );
            }
            let sum: i64 =
                selection.report.included.iter().map(|included| included.item.tokens()).sum();
            assert!(sum + selection.fixed_tokens <= ROOM);
            assert!(sum + selection.fixed_tokens >= size_of(&request), "nothing goes uncounted");
        }
        // What is left out changes from turn to turn: each selects anew from the whole history.
        let kept = |turn: usize| results(&seen.sent.all()[turn]);
        assert!(!kept(2).contains(&page(1)), "the long page leaves no room for the first");
        assert!((3..=TURNS).any(|turn| kept(turn).contains(&page(1)) || kept(turn).len() > 2));
    }
}
