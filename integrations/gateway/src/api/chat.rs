//! Requests with messages: read, fitted, sent to the upstream, and recorded until their answer ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use cupel_json::Endpoint;
use http::Response;
use http::header::{CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::body;
use super::route::{self, Route};
use crate::answer::{Body, Refusal, full, header_value, visible};
use crate::calls::{Call, CallEnd, ConversationHash, FittedCall, milliseconds};
use crate::config::{Upstream, only_upstream};
use crate::credentials::Caller;
use crate::gateway_state::GatewayState;
#[cfg(feature = "archive")]
use crate::memory::ArchivedRequest;
#[cfg(feature = "archive")]
use crate::proxy::EndReason;
use crate::proxy::{AnswerEnd, Usage};
use crate::select::SelectedBody;

/// Header with which Anthropic's clients ask for new features.
const BETA: HeaderName = HeaderName::from_static("anthropic-beta");

/// Header that asks the gateway to send a request unchanged.
const BYPASS: &str = "x-cupel-bypass";

/// Answers a request with messages.
pub(super) async fn answer(
    shared: &Arc<GatewayState>,
    endpoint: Endpoint,
    parts: &Parts,
    body: Incoming,
    started: Instant,
) -> Result<Response<Body>, Refusal> {
    body::must_be_json(&parts.headers)?;
    let mut caller = shared.tenants.caller(&parts.headers);
    let held = body::read(shared, &parts.headers, body).await?;
    let is_bypassed = parts.headers.contains_key(BYPASS);
    let bytes = if is_bypassed { held.original.clone() } else { held.bytes.clone() };
    let mut head = parts.clone();
    if held.is_readable && !is_bypassed {
        head.headers.remove(CONTENT_ENCODING);
    }
    let request = ChatRequest { shared, endpoint, parts: &head, bytes };
    let selected = request.select(caller.clone()).await?;
    if let (Err(passed), true, false) = (&selected.outcome, shared.config.fail_closed, is_bypassed)
    {
        return Err(Refusal::new(422, "not_fitted", passed.why.clone()));
    }
    let is_routed = only_upstream(&shared.config.upstreams).is_none();
    if is_routed && !held.is_readable {
        return Err(body::unknown_encoding());
    }
    let mut model = selected.model.clone();
    if is_routed || route::may_name_two(&held.bytes) {
        match route::model_in_body(held.bytes.clone()).await {
            // With one upstream a body that cannot be read goes there anyway.
            Err(refusal) if !is_routed && refusal.code != route::TWICE => {}
            named => model = named?,
        }
    }
    let upstream = route::upstream(&shared.config, parts, model.as_deref())?;
    let selected = request.fit_by_model_count(upstream, selected, &mut caller).await?;
    let target = (upstream, route::upstream_path(parts));
    let body = full(selected.body.clone());
    if let Some(beta) = selected.beta {
        add_beta(&mut head.headers, beta);
    }
    let name = Route::Select(endpoint).name();
    let record = CallRecord::begin(shared, name, selected, &caller, started);
    #[cfg(feature = "archive")]
    let record = record.archive(ArchivedRequest { caller, endpoint, request: held.bytes.clone() });
    let answer = match shared.client.send(target, &head, body).await {
        Ok(answer) => answer,
        Err(refusal) => {
            record.refused(&refusal);
            return Err(refusal);
        }
    };
    drop(held);
    let headers = report_headers(&record.call);
    let status = answer.status().as_u16();
    let keep = record.keeps_answer();
    let mut answer = shared.pass_answer(answer, keep, move |end| record.answered(status, &end));
    answer.headers_mut().extend(headers);
    Ok(answer)
}

/// Adds a value to `anthropic-beta`, unless it is there.
fn add_beta(headers: &mut HeaderMap, beta: &'static str) {
    let given = headers.get_all(BETA).iter().filter_map(|value| value.to_str().ok());
    if !given.flat_map(|value| value.split(',')).any(|value| value.trim() == beta) {
        headers.append(BETA, HeaderValue::from_static(beta));
    }
}

/// Returns the headers that the gateway adds to an answer.
fn report_headers(call: &Call) -> HeaderMap {
    let (name, value) = match &call.outcome {
        Ok(fitted) => ("x-cupel-tokens", fitted.tokens.into()),
        Err(passed) => {
            ("x-cupel-passed", header_value(&format!("{}: {}", passed.code, passed.why)))
        }
    };
    let report = (HeaderName::from_static("x-cupel-report"), header_value(&call.id));
    HeaderMap::from_iter([report, (HeaderName::from_static(name), value)])
}

/// Fields that `count_tokens` takes; it refuses all others.
const COUNTED: [&str; 7] =
    ["messages", "model", "system", "thinking", "tool_choice", "tools", "cache_control"];

/// Longest answer of `count_tokens`: it is one number.
const COUNT_BYTES: usize = 16 * 1024;

/// Reserve for the next selection, which has other messages than the counted one.
const SLACK: f64 = 1.02;

/// Most counts of one request. Each count corrects the last, so the last one is close.
const COUNTS: usize = 3;

/// Request that is selected in, once or several times.
struct ChatRequest<'a> {
    shared: &'a GatewayState,
    endpoint: Endpoint,
    parts: &'a Parts,
    bytes: Bytes,
}

impl ChatRequest<'_> {
    async fn select(&self, caller: Caller) -> Result<SelectedBody, Refusal> {
        let (headers, bytes) = (&self.parts.headers, self.bytes.clone());
        if headers.contains_key(BYPASS) {
            return Ok(SelectedBody::unchanged(bytes, "bypass", "x-cupel-bypass is set"));
        }
        if headers.contains_key(CONTENT_ENCODING) {
            return Ok(SelectedBody::unchanged(bytes, "encoded", "the body is compressed"));
        }
        self.shared.selector.select(self.endpoint, bytes, caller).await
    }

    /// Selects again while the model's own count is larger than its window.
    ///
    /// The model is asked only if the configuration says so and the request is close to the window by our
    /// count. If the upstream gives no count in time, the request stays as it was fitted.
    async fn fit_by_model_count(
        &self,
        upstream: &Upstream,
        mut selected: SelectedBody,
        caller: &mut Caller,
    ) -> Result<SelectedBody, Refusal> {
        for _ in 0..COUNTS {
            let Some(ratio) = self.excess(upstream, &selected, caller.counted).await else {
                return Ok(selected);
            };
            caller.counted = Some(ratio);
            selected = self.select(caller.clone()).await?;
        }
        Ok(selected)
    }

    /// Returns the ratio of the model's count to ours, if the model counts more than its window holds.
    /// `known` is the ratio of the previous count, which the selection used.
    async fn excess(
        &self,
        upstream: &Upstream,
        selected: &SelectedBody,
        known: Option<f32>,
    ) -> Option<f32> {
        let is_counted = self.endpoint == Endpoint::Messages;
        let from = self.shared.config.exact_from.filter(|_| is_counted)?;
        let selection = selected.outcome.as_ref().ok()?;
        let budget = &selection.budget;
        let room = budget.max_tokens().saturating_sub(budget.output_reserve());
        let known = known.map_or(1.0, f64::from);
        let in_theirs = |tokens: i64| tokens.max(1) as f64 * selected.factor * known;
        let room = in_theirs(room.saturating_add(selection.fixed_tokens));
        let ours = in_theirs(selection.sent.tokens.saturating_add(selection.fixed_tokens));
        if ours < from * room {
            return None;
        }
        let theirs = self.model_count(upstream, &selected.body).await? as f64;
        tracing::debug!(ours, theirs, room, "the upstream counted a request");
        (theirs > room).then(|| (known * theirs / ours * SLACK) as f32)
    }

    async fn model_count(&self, upstream: &Upstream, body: &[u8]) -> Option<i64> {
        #[derive(Deserialize)]
        struct TokenCount {
            input_tokens: i64,
        }
        let mut fields: BTreeMap<&str, &RawValue> = serde_json::from_slice(body).ok()?;
        fields.retain(|name, _| COUNTED.contains(name));
        let question = serde_json::to_vec(&fields).ok()?;
        let target = (upstream, "/messages/count_tokens");
        let counting = self.shared.client.read(target, self.parts, question.into(), COUNT_BYTES);
        let limit = self.shared.config.limits.selection_time;
        let counted = tokio::time::timeout(limit, counting).await;
        counted.ok()?.map(|TokenCount { input_tokens }| input_tokens)
    }
}

/// Status in the log of a call whose client closed the connection.
const CLIENT_CLOSED: u16 = 499;

/// Longest name of a model in logs and on the page.
const MODEL_CHARACTERS: usize = 80;

/// Record of a call in flight. Dropped before its end, it records that the client closed the connection.
struct CallRecord {
    shared: Arc<GatewayState>,
    call: Arc<Call>,
    started: Instant,
    has_ended: bool,
    #[cfg(feature = "archive")]
    archived: Option<ArchivedRequest>,
}

impl CallRecord {
    fn begin(
        shared: &Arc<GatewayState>,
        route: &'static str,
        selected: SelectedBody,
        caller: &Caller,
        started: Instant,
    ) -> Self {
        let named = caller.conversation.as_deref().map(str::as_bytes);
        let conversation = named.unwrap_or(&selected.opening);
        let conversation = ConversationHash::new(&[caller.tenant.as_bytes(), conversation]);
        let model = visible(selected.model.as_deref().unwrap_or_default(), MODEL_CHARACTERS);
        let bytes = (selected.original_bytes, selected.body.len());
        let outcome = selected.outcome.map(|selection| {
            #[cfg(feature = "archive")]
            shared.memory.iter().for_each(|memory| memory.count_failure(&selection.gather));
            let before = shared.calls.latest(conversation, &model);
            Box::new(FittedCall::new(*selection, bytes, &model, before.as_deref()))
        });
        Self {
            shared: Arc::clone(shared),
            call: shared.calls.begin(Call::new(route, model, conversation, outcome)),
            started,
            has_ended: false,
            #[cfg(feature = "archive")]
            archived: None,
        }
    }

    /// Archives the request once it is answered, if there is an archive.
    #[cfg(feature = "archive")]
    fn archive(mut self, request: ArchivedRequest) -> Self {
        let is_named = request.caller.conversation.is_some() && request.caller.is_remembered;
        self.archived = (is_named && self.shared.memory.is_some()).then_some(request);
        self
    }

    /// Returns whether the archive needs the whole answer.
    fn keeps_answer(&self) -> bool {
        #[cfg(feature = "archive")]
        return self.archived.is_some();
        #[cfg(not(feature = "archive"))]
        return false;
    }

    /// Records that the upstream gave no answer.
    fn refused(mut self, refusal: &Refusal) {
        self.end(refusal.status, refusal.code, None, 0);
    }

    /// Records the end of an answer.
    fn answered(mut self, status: u16, end: &AnswerEnd) {
        // After an incomplete answer the client asks again.
        #[cfg(feature = "archive")]
        if let (200..300, EndReason::Complete, Some(request), Some(memory)) =
            (status, end.reason, self.archived.take(), &self.shared.memory)
        {
            memory.remember(&request, end.answer.as_deref());
        }
        self.end(status, end.reason.name(), end.usage, end.bytes);
    }

    fn end(&mut self, status: u16, reason: &'static str, usage: Option<Usage>, bytes: u64) {
        self.has_ended = true;
        let elapsed = self.started.elapsed();
        let call = &self.call;
        self.shared.calls.end(call, CallEnd { status, reason, usage, elapsed });
        let fitted = call.outcome.as_ref().ok();
        tracing::info!(
            route = call.route,
            status,
            end = reason,
            model = call.model,
            outcome = call.outcome.as_ref().err().map_or("fitted", |passed| passed.code),
            tokens = fitted.map(|fitted| fitted.tokens),
            dropped = fitted.map(|fitted| fitted.dropped),
            counted = usage.map(|usage| usage.input),
            bytes,
            milliseconds = milliseconds(elapsed),
            report = call.id,
        );
    }
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        if !self.has_ended {
            self.end(CLIENT_CLOSED, "client_closed", None, 0);
        }
    }
}
