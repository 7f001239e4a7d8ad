//! The spans of an agent. They are alone in their program: a place in the code that another thread is
//! just then meeting for the first time would not hear of the recorder.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unreachable,
    missing_docs
)]

#[path = "agents/provider.rs"]
#[allow(dead_code, reason = "shared")]
mod provider;
#[path = "agents/run.rs"]
#[allow(dead_code, reason = "shared")]
mod run;
mod support;

use cupel_dev::recorder::{self, Recorder};
use provider::{Provider, TURNS, agent, serve};
use run::{ALL, QUESTION, Seen, finish};

/// Every turn has one `chat` span, opened by the agent and adopted by the provider's client, which
/// writes the usage on it. The selection is inside, whichever way the layer came in.
#[tokio::test]
async fn the_agents_spans_stay_whole() {
    // Met once before anybody listens: a place in the code that another test is just then meeting
    // for the first time would not hear of the recorder.
    for (way, mode) in ALL {
        let agent = agent(Some(way), serve(Provider::default()).await, &Seen::default());
        finish(agent.prompt(QUESTION).max_turns(20), mode).await.unwrap();
    }
    for (way, mode) in ALL {
        let (recorder, _guard) = Recorder::on_this_thread();
        let agent = agent(Some(way), serve(Provider::default()).await, &Seen::default());
        finish(agent.prompt(QUESTION).max_turns(20), mode).await.unwrap();
        let paths = recorder.paths();
        let count = |path: &str| paths.iter().filter(|found| *found == path).count();
        for path in ["invoke_agent > chat", "invoke_agent > chat > cupel.selection"] {
            assert_eq!(count(path), TURNS + 1, "{way:?}, {mode:?}: {path}");
        }
        recorder.read(|recorded| {
            let chats = recorded.spans.iter().filter(|span| span.name == "chat");
            assert_eq!(chats.clone().count(), TURNS + 1);
            for chat in chats {
                assert_eq!(chat.fields["gen_ai.request.model"], "gpt-4o".into());
                let usage = chat.fields.get("gen_ai.usage.output_tokens");
                assert_eq!(
                    usage,
                    Some(&recorder::Value::U64(5)),
                    "{way:?}, {mode:?}: {:?}",
                    chat.fields
                );
            }
            let selections = recorded.spans.iter().filter(|span| span.name == "cupel.selection");
            for selection in selections {
                assert!(selection.fields.contains_key("cupel.tokens.sent"));
            }
        });
    }
}
