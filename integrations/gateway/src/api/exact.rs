//! The model's own count of a request that is close to its window, where that is wanted.

use std::collections::BTreeMap;

use bytes::Bytes;
use cupel_json::Endpoint;
use http::request::Parts;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::selected::select;
use crate::answer::Refusal;
use crate::config::Upstream;
use crate::gateway::Shared;
use crate::proxy::Target;
use crate::select::{Outcome, Selected};
use crate::tenant::Caller;

/// What `count_tokens` takes of a request; it refuses what it does not know.
const COUNTED: [&str; 7] =
    ["messages", "model", "system", "thinking", "tool_choice", "tools", "cache_control"];

/// An answer is one number.
const ANSWER_BYTES: usize = 16 * 1024;

/// What is selected anew is not what was counted.
const SLACK: f64 = 1.02;

/// How often a request is counted and fitted anew. Each time the factor is that of what was just
/// counted, so the last time it is close.
const TIMES: usize = 3;

/// Fits a request anew while the model counts more than its window has, as it counts what was fitted.
///
/// Nothing is asked where nobody wants it and where there is room enough by our own count, and where the
/// upstream does not say so in time the request goes out as it was fitted.
pub(super) async fn fitted(
    asked: &Asked<'_>,
    mut selected: Selected,
    caller: &mut Caller,
) -> Result<Selected, Refusal> {
    for _ in 0..TIMES {
        let Some(counted) = over(asked, &selected, caller.counted).await else {
            return Ok(selected);
        };
        caller.counted = Some(counted);
        let Asked { shared, endpoint, parts, bytes, .. } = *asked;
        let again = caller.clone();
        selected = select(shared, endpoint, &parts.headers, bytes.clone(), again).await?;
    }
    Ok(selected)
}

/// A request and who is asked to count it.
pub(super) struct Asked<'a> {
    pub(super) shared: &'a Shared,
    pub(super) upstream: &'a Upstream,
    pub(super) parts: &'a Parts,
    pub(super) endpoint: Endpoint,
    pub(super) bytes: &'a Bytes,
}

/// By how much the model counts more than we do, if a request that looked as if it fitted does not.
/// `counted`: by how much it did when it was last asked, which the selection knows.
async fn over(asked: &Asked<'_>, selected: &Selected, counted: Option<f32>) -> Option<f32> {
    let shared = asked.shared;
    let from = shared.config.exact_from.filter(|_| asked.endpoint == Endpoint::Messages)?;
    let Outcome::Fitted(selection) = &selected.outcome else { return None };
    let budget = &selection.budget;
    let room = budget.max_tokens().saturating_sub(budget.output_reserve());
    // In the model's tokens, as far as they are known.
    let known = counted.map_or(1.0, f64::from);
    let in_theirs = |tokens: i64| tokens.max(1) as f64 * selected.factor * known;
    let room = in_theirs(room.saturating_add(selection.fixed_tokens));
    let ours = in_theirs(selection.sent.tokens.saturating_add(selection.fixed_tokens));
    if ours < from * room {
        return None;
    }
    let theirs = ask(shared, asked.upstream, asked.parts, &selected.body).await?;
    tracing::debug!(ours, theirs, room, "counted by the model");
    let theirs = theirs as f64;
    (theirs > room).then(|| (known * theirs / ours * SLACK) as f32)
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
    let counting = shared.client.read(&target, parts, question.into(), ANSWER_BYTES);
    // It is part of the selection, and nothing that a call should wait for without end.
    let counted = tokio::time::timeout(shared.config.limits.selection_time, counting).await;
    counted.ok()?.map(|Counted { input_tokens }| input_tokens)
}
