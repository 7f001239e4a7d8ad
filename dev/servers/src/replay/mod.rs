//! Shared code of the examples `replay`: recorded runs, a strict server with its own counts, and
//! the tally of outcomes.

pub mod items;
pub mod runs;
pub mod tally;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use cupel::layer::Selection;

use crate::local_server;

/// The windows at which the runs are replayed.
pub const WINDOWS: [i64; 4] = [2_600, 3_200, 4_500, 12_000];

/// Tokens that each request reserves for the answer.
pub const ANSWER: u32 = 256;

/// The server's name for a model with this window.
pub fn model(window: i64) -> String {
    format!("test-{window}")
}

/// Tokens that the last selection counted for its whole request.
#[derive(Debug, Clone, Default)]
pub struct Counted(Arc<AtomicI64>);

impl Counted {
    /// For the layer's `on_selection`.
    pub fn hook(&self) -> impl Fn(&Selection) + Send + Sync + 'static {
        let counted = Arc::clone(&self.0);
        move |selection| {
            let tokens = selection.sent.tokens + selection.fixed_tokens;
            counted.store(tokens, Ordering::Relaxed);
        }
    }

    pub fn tokens(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A server that takes what the API would take and says "Done." to it.
pub async fn server() -> local_server::LocalServer {
    let done = || local_server::answer::Reply::Text("Done.".to_owned());
    local_server::LocalServer::start(move |_| async move { done() }).await
}

/// The folder that the command names, or else the environment.
pub fn folder() -> Result<String, &'static str> {
    std::env::args()
        .nth(1)
        .or_else(|| std::env::var("CUPEL_RUNS_DIR").ok())
        .ok_or("name a folder of recorded runs: files *.jsonl of {name, messages}")
}
