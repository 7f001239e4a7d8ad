//! Requests with messages: read, fitted, sent to the upstream, and recorded until their answer ends.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cupel::layer::Selection;
use cupel_json::Endpoint;
use http::Response;
use http::header::{CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use hyper::body::Incoming;

use super::body;
use super::fit::{BYPASS, ChatRequest};
use super::key_check::check_model;
use super::route::{self, Route};
use crate::answer::{Body, MODEL_CHARACTERS, Refusal, full, header_value, visible};
use crate::api_path::deployment;
use crate::calls::{Call, CallEnd, ConversationHash, FittedCall};
use crate::config::{ClientKey, Upstream, only_upstream};
use crate::credentials::Caller;
use crate::gateway_state::GatewayState;
use crate::guard;
#[cfg(feature = "archive")]
use crate::memory::ArchivedRequest;
use crate::overflow::{Overflow, may_be_overflow, overflow};
#[cfg(feature = "archive")]
use crate::proxy::EndReason;
use crate::proxy::{AnswerEnd, ReadAhead, Usage};
use crate::receipts::{RECEIPT, ReceiptRequest};
use crate::repeat_watch::WatchedRequest;
use crate::request_record::{CLIENT_CLOSED, RequestEnd, RequestRecord};
use crate::select::SelectedBody;
use crate::shadow;
use crate::sides::{SHADOW, Side};

/// Header with which Anthropic's clients ask for new features.
const BETA: HeaderName = HeaderName::from_static("anthropic-beta");

/// Answers a request with messages.
pub(super) async fn answer(
    shared: &Arc<GatewayState>,
    endpoint: Endpoint,
    parts: &Parts,
    body: Incoming,
    (request_record, key): (&Arc<RequestRecord>, Option<&ClientKey>),
) -> Result<Response<Body>, Refusal> {
    body::must_be_json(&parts.headers)?;
    let mut caller = shared.tenants.caller(&parts.headers);
    request_record.tenant(&caller.tenant);
    let held = body::read(shared, &parts.headers, body).await?;
    request_record.request_bytes(held.original.len());
    let rollout = &shared.config.rollout;
    let shadow = shadow::unfitted(rollout, endpoint, &caller, &held.bytes).await;
    let is_bypassed = parts.headers.contains_key(BYPASS) || shadow.is_some();
    let bytes = if is_bypassed { held.original.clone() } else { held.bytes.clone() };
    let mut head = parts.clone();
    if held.is_readable && !is_bypassed {
        head.headers.remove(CONTENT_ENCODING);
    }
    if key.is_some_and(|key| !key.models.is_empty()) && held.is_readable {
        // Before a source or a server is asked anything. A body that cannot be read is refused below.
        if let Ok(model) = named_model(parts, &held.bytes).await {
            check_model(key, model.as_deref())?;
        }
    }
    let request = ChatRequest { shared, endpoint, parts: &head, bytes };
    let selected = match shadow {
        Some(opening) if !parts.headers.contains_key(BYPASS) => {
            let bytes = held.original.clone();
            let why = "planned beside the call, and sent unchanged";
            SelectedBody { opening, ..SelectedBody::unchanged(bytes, SHADOW, why).await }
        }
        _ => request.select(caller.clone()).await?,
    };
    if let (Err(passed), true, false) = (&selected.outcome, shared.config.fail_closed, is_bypassed)
    {
        return Err(Refusal::new(422, "not_fitted", passed.why.clone()));
    }
    let is_routed = only_upstream(&shared.config.upstreams).is_none()
        || key.is_some_and(|key| !key.models.is_empty());
    if is_routed && !held.is_readable {
        return Err(body::unknown_encoding());
    }
    let mut model = selected.model.clone();
    let is_in_path = deployment(parts.uri.path()).is_some();
    if is_in_path || is_routed || route::may_name_two(&held.bytes) {
        match named_model(parts, &held.bytes).await {
            // With one upstream a body that cannot be read goes there anyway.
            Err(refusal) if !is_routed && refusal.code != route::TWICE => {}
            named => model = named?,
        }
    }
    check_model(key, model.as_deref())?;
    let upstream = route::upstream(&shared.config, parts, model.as_deref())?;
    let selected = request.fit_by_model_count(upstream, selected, &mut caller).await?;
    let target = (upstream, route::upstream_path(parts));
    let name = Route::Select(endpoint).name();
    let send = async |selected: SelectedBody| {
        let mut head = head.clone();
        if let Some(beta) = selected.beta {
            add_beta(&mut head.headers, beta);
        }
        let body = full(selected.body.clone());
        let is_shadow = selected.outcome.as_ref().is_err_and(|passed| passed.code == SHADOW);
        let beside = BesideCall::of(&selected, &caller);
        let mut record = CallRecord::begin(shared, name, selected, &caller, request_record);
        if let Some(planner) = shared.shadow.clone().filter(|_| is_shadow && held.is_readable) {
            let request = (endpoint, head.clone(), held.bytes.clone());
            let (sinks, call) = (shared.calls_and_metrics(), Arc::clone(&record.call));
            shadow::plan(planner, sinks, request, caller.clone(), call);
        }
        if held.is_readable {
            beside.begin(shared, endpoint, parts, &held.bytes, &mut record);
        }
        #[cfg(feature = "archive")]
        let record = record.archive(|| ArchivedRequest {
            caller: caller.clone(),
            endpoint,
            request: held.bytes.clone(),
        });
        record.request.sending(&upstream.name);
        match shared.client.send(target, &head, body).await {
            Ok(answer) => Ok((record, answer.map(ReadAhead::from))),
            Err(refusal) => {
                record.refused(&refusal);
                Err(refusal)
            }
        }
    };
    let (size, factor) = (request.size(&selected, &caller), selected.factor);
    let (mut record, mut answer) = send(selected).await?;
    if let (Some(size), Some(refused)) = (size, refusal_of_length(&mut answer).await) {
        let again = request.fit_after_refusal(&size, refused, &caller).await;
        record.warn_of_overflow(upstream, factor, refused);
        // If the second request gets no answer, the client gets the first one.
        let second = match again {
            Ok(Some(again)) => send(again).await.ok(),
            _ => None,
        };
        if let Some(second) = second {
            record.too_long(answer.status().as_u16());
            (record, answer) = second;
        }
    }
    drop(held);
    record.request.answering();
    let headers = report_headers(&record);
    let status = answer.status().as_u16();
    let keep = record.keeps_answer();
    let mut answer = shared.pass_answer(answer, keep, move |end| record.answered(status, &end));
    answer.headers_mut().extend(headers);
    Ok(answer)
}

/// Facts of a selection, for work beside its call.
struct BesideCall {
    /// Caller with the window and the count that the selection had.
    caller: Caller,
    side: Option<Side>,
    is_whole: bool,
    /// Number of items from sources.
    sources: u64,
    sent: Bytes,
}

impl BesideCall {
    fn of(selected: &SelectedBody, caller: &Caller) -> Self {
        let (window, counted) = (selected.window, selected.counted);
        let (side, is_whole, sources) = match &selected.outcome {
            Ok(selection) => {
                let items = selection.gather.sources.iter().map(|source| source.items as u64);
                (Some(Side::Fitted), is_whole(selection), items.sum())
            }
            Err(passed) if passed.code == SHADOW => (Some(Side::Shadow), false, 0),
            Err(_) => (None, false, 0),
        };
        let caller = Caller { window, counted, ..caller.clone() };
        Self { caller, side, is_whole, sources, sent: selected.body.clone() }
    }

    /// Begins the work. The call waits for nothing of it.
    fn begin(
        self,
        shared: &Arc<GatewayState>,
        endpoint: Endpoint,
        parts: &Parts,
        bytes: &Bytes,
        record: &mut CallRecord,
    ) {
        let Self { caller, side, is_whole, sources, sent } = self;
        let path = parts.uri.path();
        let writer = (shared.config.receipts.as_ref(), &shared.selector);
        record.receipt = shared.receipts.begin(writer, &parts.headers, || match side {
            Some(Side::Fitted) => Ok(ReceiptRequest {
                endpoint,
                path: path.to_owned(),
                request: bytes.clone(),
                sent,
                caller: caller.clone(),
                sources,
                report: record.call.id.clone(),
            }),
            _ => Err("the request was sent unchanged"),
        });
        if let (Some(side), true) = (side, shared.config.count_repeats) {
            let (path, bytes) = (path.to_owned(), bytes.clone());
            let request = WatchedRequest { endpoint, path, bytes, caller, side, is_whole };
            shared.repeats.look(&shared.selector, shared.calls_and_metrics(), request);
        }
    }
}

/// Returns whether nothing of a conversation was dropped, shortened or quoted.
fn is_whole(selection: &Selection) -> bool {
    let scored = selection.plan.is_none() && !selection.report.excluded.is_empty();
    !scored && !selection.is_compacted()
}

/// Returns the model that the path of a request names, or its body.
///
/// # Errors
///
/// Refuses a body that names two models, and one that cannot be read but would have to be.
async fn named_model(parts: &Parts, body: &Bytes) -> Result<Option<String>, Refusal> {
    let Some(name) = deployment(parts.uri.path()) else {
        return route::model_in_body(body.clone()).await;
    };
    if route::may_name_two(body) {
        match route::model_in_body(body.clone()).await {
            Err(refusal) if refusal.code == route::TWICE => return Err(refusal),
            _ => {}
        }
    }
    Ok(Some(guard::decoded(name)))
}

/// Longest refusal that is read.
const REFUSAL_BYTES: usize = 64 * 1024;

/// Time for a refusal to arrive.
const REFUSAL_TIME: Duration = Duration::from_secs(5);

/// Reads why an upstream refused a request; `None` unless the request is too long. The answer can
/// still be passed on.
async fn refusal_of_length(answer: &mut Response<ReadAhead>) -> Option<Overflow> {
    let status = answer.status().as_u16();
    let is_plain = !answer.headers().contains_key(CONTENT_ENCODING);
    if !may_be_overflow(status) || !is_plain {
        return None;
    }
    let body = answer.body_mut().whole(REFUSAL_BYTES, REFUSAL_TIME).await?;
    overflow(status, &body)
}

/// Adds a value to `anthropic-beta`, unless it is there.
fn add_beta(headers: &mut HeaderMap, beta: &'static str) {
    let given = headers.get_all(BETA).iter().filter_map(|value| value.to_str().ok());
    if !given.flat_map(|value| value.split(',')).any(|value| value.trim() == beta) {
        headers.append(BETA, HeaderValue::from_static(beta));
    }
}

/// Returns the headers that the gateway adds to an answer.
fn report_headers(record: &CallRecord) -> HeaderMap {
    let call = &record.call;
    let (name, value) = match &call.outcome {
        Ok(fitted) => ("x-cupel-tokens", fitted.tokens.into()),
        Err(passed) => {
            ("x-cupel-passed", header_value(&format!("{}: {}", passed.code, passed.why)))
        }
    };
    let report = (HeaderName::from_static("x-cupel-report"), header_value(&call.id));
    let mut headers = HeaderMap::from_iter([report, (HeaderName::from_static(name), value)]);
    // A plan that is not ready yet is left out.
    if let Some(planned) = call.shadow.get() {
        headers.insert(HeaderName::from_static("x-cupel-shadow-tokens"), planned.tokens.into());
    }
    headers.extend(record.receipt.clone().map(|receipt| (RECEIPT, receipt)));
    headers
}

/// Record of a call in flight. Dropped before its end, it records that the client closed the connection.
struct CallRecord {
    shared: Arc<GatewayState>,
    call: Arc<Call>,
    request: Arc<RequestRecord>,
    /// Name of the receipt's file, or the reason why there is none.
    receipt: Option<HeaderValue>,
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
        request: &Arc<RequestRecord>,
    ) -> Self {
        let named = caller.conversation.as_deref().map(str::as_bytes);
        let conversation = named.unwrap_or(&selected.opening);
        let conversation = ConversationHash::new(&[caller.tenant.as_bytes(), conversation]);
        let model = visible(selected.model.as_deref().unwrap_or_default(), MODEL_CHARACTERS);
        let bytes = (selected.original_bytes, selected.body.len());
        let is_shadow = selected.outcome.as_ref().is_err_and(|passed| passed.code == SHADOW);
        // The plan of the request holds its texts.
        let later_bytes = if is_shadow { bytes.1.saturating_mul(2) } else { 0 };
        if let Some(span) = request.span() {
            let name = caller.conversation.as_ref().filter(|_| shared.config.conversation_names);
            span.conversation(name.cloned().unwrap_or_else(|| conversation.long_name()));
            if let Ok(selection) = &selected.outcome {
                span.compacted(!is_whole(selection));
            }
        }
        let outcome = selected.outcome.map(|selection| {
            #[cfg(feature = "archive")]
            shared.memory.iter().for_each(|memory| memory.count_failure(&selection.gather));
            shared.metrics.gathered(&selection.gather);
            let before = shared.calls.latest(conversation, &model);
            Box::new(FittedCall::new(*selection, bytes, &model, before.as_deref()))
        });
        let call = Call::new(route, model, conversation, outcome).reserve(later_bytes);
        let call = shared.calls.begin(call);
        request.model(&call.model);
        let (name, tokens) = match &call.outcome {
            Ok(fitted) => {
                request.span().iter().for_each(|span| span.expected(fitted.tokens, fitted.cached));
                ("fitted", Some((fitted.tokens, fitted.dropped)))
            }
            Err(passed) => (passed.code, None),
        };
        request.outcome(name, &call.id, tokens);
        Self {
            shared: Arc::clone(shared),
            call,
            request: Arc::clone(request),
            receipt: None,
            has_ended: false,
            #[cfg(feature = "archive")]
            archived: None,
        }
    }

    /// Archives the request once it is answered, if there is an archive.
    #[cfg(feature = "archive")]
    fn archive(mut self, request: impl FnOnce() -> ArchivedRequest) -> Self {
        let request = self.shared.memory.is_some().then(request);
        let is_named =
            |one: &ArchivedRequest| one.caller.conversation.is_some() && one.caller.is_remembered;
        self.archived = request.filter(is_named);
        self
    }

    /// Returns whether the archive needs the whole answer.
    fn keeps_answer(&self) -> bool {
        #[cfg(feature = "archive")]
        return self.archived.is_some();
        #[cfg(not(feature = "archive"))]
        return false;
    }

    /// Logs which setting would have kept the upstream from refusing the request as too long. The upstream's
    /// count joins those that the page shows.
    fn warn_of_overflow(&self, upstream: &Upstream, configured: f64, refused: Overflow) {
        let Ok(fitted) = &self.call.outcome else { return };
        let counted = refused.counted.filter(|_| !refused.is_least);
        if let Some(tokens) = counted {
            self.shared.calls.counted(&self.call.model, fitted.tokens, tokens);
        }
        let factor = counted.map(|tokens| fitted.factor_for(tokens));
        let factor = factor.filter(|factor| *factor > configured);
        tracing::warn!(
            upstream = upstream.name,
            model = self.call.model,
            tokens = fitted.tokens,
            counted = refused.counted,
            window = refused.window,
            factor,
            "the upstream refused a request as too long; it is fitted once more, if that makes it shorter. \
             Set `factor` of this model to the one shown, or `window` to the upstream's"
        );
    }

    /// Records that the upstream refused the request as too long, before it is sent again.
    fn too_long(mut self, status: u16) {
        // The request goes on with another call.
        self.has_ended = true;
        let elapsed = self.request.started.elapsed();
        let end = CallEnd { status, reason: "too_long", usage: None, elapsed };
        self.shared.calls.end(&self.call, end);
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
        let elapsed = self.request.started.elapsed();
        self.shared.calls.end(&self.call, CallEnd { status, reason, usage, elapsed });
        self.request.end(RequestEnd { status, reason, bytes, usage });
    }
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        if !self.has_ended {
            self.end(CLIENT_CLOSED, "client_closed", None, 0);
        }
    }
}
