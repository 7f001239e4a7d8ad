//! The model's own count of a request that is close to its window, where that is wanted.

use std::collections::BTreeMap;

use cupel_json::Endpoint;
use http::request::Parts;
use http_body_util::{BodyExt, Limited};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer::full;
use crate::config::Upstream;
use crate::gateway::Shared;
use crate::proxy::Target;
use crate::select::{Outcome, Selected};

/// What `count_tokens` takes of a request; it refuses what it does not know.
const COUNTED: [&str; 7] =
    ["messages", "model", "system", "thinking", "tool_choice", "tools", "cache_control"];

/// An answer is one number.
const ANSWER_BYTES: usize = 16 * 1024;

/// What is selected anew is not what was counted.
const SLACK: f64 = 1.02;

/// By how much the model counts more than we do, if a request that looked as if it fitted does not.
///
/// None where nobody asked for it, where there is room enough, and where the upstream does not say:
/// then the request goes out as it was fitted.
pub(super) async fn over(
    shared: &Shared,
    upstream: &Upstream,
    parts: &Parts,
    endpoint: Endpoint,
    selected: &Selected,
) -> Option<f32> {
    let from = shared.config.exact_from.filter(|_| endpoint == Endpoint::Messages)?;
    let Outcome::Fitted(selection) = &selected.outcome else { return None };
    let budget = &selection.budget;
    let room = budget.max_tokens().saturating_sub(budget.output_reserve());
    // In the model's tokens, as far as the configuration knows them.
    let in_theirs = |tokens: i64| tokens.max(1) as f64 * selected.factor;
    let room = in_theirs(room.saturating_add(selection.fixed_tokens));
    let ours = in_theirs(selection.sent.tokens.saturating_add(selection.fixed_tokens));
    if ours < from * room {
        return None;
    }
    let theirs = ask(shared, upstream, parts, &selected.body).await?;
    tracing::debug!(ours, theirs, room, "counted by the model");
    let theirs = theirs as f64;
    (theirs > room).then(|| (theirs / ours * SLACK) as f32)
}

async fn ask(shared: &Shared, upstream: &Upstream, parts: &Parts, body: &[u8]) -> Option<i64> {
    #[derive(Deserialize)]
    struct Counted {
        input_tokens: i64,
    }
    let fields: BTreeMap<&str, &RawValue> = serde_json::from_slice(body).ok()?;
    let counted: BTreeMap<_, _> =
        fields.into_iter().filter(|(name, _)| COUNTED.contains(name)).collect();
    let question = serde_json::to_vec(&counted).ok()?;
    let target = Target { upstream, path: "/messages/count_tokens" };
    let answer = shared.client.send(&target, parts, full(question)).await.ok()?;
    if !answer.status().is_success() {
        return None;
    }
    let answer = Limited::new(answer.into_body(), ANSWER_BYTES).collect().await.ok()?;
    serde_json::from_slice(&answer.to_bytes()).ok().map(|Counted { input_tokens }| input_tokens)
}
