//! The spans of an agent's run. A target of its own: spans are a matter of the whole process.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unreachable,
    dead_code,
    missing_docs
)]

#[path = "agents/run.rs"]
mod run;
mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rig_core::message::AssistantContent;
use tracing::Subscriber;
use tracing::span::{Attributes, Id};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use run::{Mode, QUESTION, Seen, Way, agent, budget, finish, layer};
use support::model::{LocalModel, call, local};

/// The spans that were opened, each with its parents.
#[derive(Clone, Default)]
struct Opened(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> tracing_subscriber::Layer<S> for Opened {
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let scope = context.span(id).unwrap().scope().from_root();
        let path: Vec<_> = scope.map(|span| span.name()).collect();
        self.0.lock().unwrap().push(path.join(" > "));
    }
}

const CALLS: usize = 4;

/// Reads three pages, one a turn, and then answers.
fn reader() -> LocalModel {
    let turn = AtomicUsize::new(0);
    local(1_000, move |_| match turn.fetch_add(1, Ordering::Relaxed) + 1 {
        number @ ..CALLS => {
            vec![call(format!("call-{number}"), "read_page", serde_json::json!({ "page": number }))]
        }
        _ => vec![AssistantContent::text("The end.")],
    })
}

#[tokio::test]
async fn rigs_provider_adopts_the_agents_chat_span() {
    for mode in [Mode::Whole, Mode::Streamed] {
        let opened = Opened::default();
        let subscriber = tracing_subscriber::registry().with(opened.clone());
        let _guard = tracing::subscriber::set_default(subscriber);
        let seen = Seen::default();
        let agent = agent(Way::Stack, reader(), layer(budget(900), &seen), &seen);
        finish(agent.prompt(QUESTION).max_turns(20), mode).await.unwrap();
        let paths = opened.0.lock().unwrap().clone();
        let chats = paths.iter().filter(|path| path.ends_with("chat")).count();
        assert_eq!(chats, CALLS, "{mode:?}: {paths:#?}");
        // The selection is part of the agent's call of its model.
        let selections = paths.iter().filter(|path| path.ends_with("chat > cupel.call")).count();
        assert_eq!(selections, CALLS, "{mode:?}: {paths:#?}");
    }
}
