//! Several tool calls in one turn: all of them and their results, or none, when messages are scored.

use std::sync::atomic::{AtomicUsize, Ordering};

use rig_core::message::AssistantContent;
use rig_core::transcript::validate_canonical;

use crate::run::{ALL, QUESTION, Seen, agent, budget, finish, is_question, results, scoring};
use crate::support::model::{LocalModel, call, local};

const TURNS: usize = 5;
const ROOM: i64 = 420;

/// Reads two short pages a turn.
fn reader() -> LocalModel {
    let turn = AtomicUsize::new(0);
    local(ROOM, move |_| match turn.fetch_add(1, Ordering::Relaxed) + 1 {
        number @ ..=TURNS => [0, 1]
            .map(|n| {
                let page = 1 + 2 * (2 * number + n); // odd ones: never the long page
                call(format!("call-{page}"), "read_page", serde_json::json!({ "page": page }))
            })
            .to_vec(),
        _ => vec![AssistantContent::text("Done.")],
    })
}

#[tokio::test]
async fn calls_of_one_turn_stay_together() {
    for (way, mode) in ALL {
        let seen = Seen::default();
        let agent = agent(way, reader(), scoring(budget(ROOM), &seen), &seen);
        let runner = agent.prompt(QUESTION).max_turns(20).tool_concurrency(2);
        let response = finish(runner, mode).await.unwrap();
        assert_eq!(response.output(), "Done.");

        let sent = seen.sent.all();
        assert_eq!(sent.len(), TURNS + 1);
        for request in &sent {
            validate_canonical(&request.chat_history).unwrap();
            assert!(request.chat_history.iter().any(is_question));
            assert_eq!(results(request).len() % 2, 0, "both results of a turn or none");
        }
        assert!(
            results(&sent[TURNS]).len() < 2 * TURNS,
            "some turns had to go, or the test says nothing"
        );
        assert!(results(&sent[TURNS]).len() >= 4, "and more than the last one fits");
    }
}
